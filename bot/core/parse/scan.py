"""One tolerant walk over the markup of a document: where its items are, and their children as written.

Well-formed or not, the same walk reads every document, so that what identifies an entry does
not change with a stray ampersand elsewhere. Each character is looked at once.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from urllib.parse import urljoin

from bot.core.errors import NotAFeed
from bot.core.parse.names import canonical, module_of

MAX_DEPTH = 400  # of elements inside an item; deeper ones are an attack, their bodies are not read
MAX_SUBSET = 1_000_000  # characters of an internal DTD subset
MAX_ATTRIBUTES = 1_000  # of one element; the same, since feedparser takes time by their square

_ROOT = re.compile(r"(?:[A-Za-z_][\w.-]*:)?(?:rss|feed|rdf|channel)", re.IGNORECASE)
# Behind a warning that a script printed first, only what cannot be anything else.
_BURIED_ROOT = re.compile(r"<\?xml\s|<rss[\s>]|<rdf:RDF[\s>]|<feed\s[^<>]{0,500}xmlns", re.IGNORECASE)
_PAGE = re.compile(r"<(?:html|head|body|!doctype\s+html)[\s>]", re.IGNORECASE)
_MARKUP = re.compile(r"<(?=[A-Za-z_/!?])")
# Names are possessive, so that a long one without an end is read once and not from each of its characters.
_START = re.compile(r"<([A-Za-z_][^\s/<>]*+)((?:[^<>\"']++|\"[^\"]*+\"|'[^']*+')*+)>")
_END = re.compile(r"</([A-Za-z_][^\s/<>]*)\s*>?")
_ATTRIBUTE = re.compile(r"""(?<![^\s=<>"'/])([A-Za-z_][^\s=<>"'/]*+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'<>]+))""")
_SKIPPED = (("<!--", "-->"), ("<![CDATA[", "]]>"), ("<?", "?>"))
_SUBSET_END = re.compile(r"\]\s*>")


@dataclass(slots=True, kw_only=True)
class Element:
    """A child of an item or of the head: its canonical name, attributes and source, nothing decoded."""

    name: str
    attributes: dict[str, str]
    start: int
    inner: int
    inner_end: int = 0
    end: int = 0
    base: str | None = None  # xml:base in force


@dataclass(slots=True, kw_only=True)
class Item:
    """An item or entry: where it is, and its own children; those of nested items are not among them."""

    start: int
    inner: int
    end: int = 0  # 0: its end tag is missing
    attributes: dict[str, str]
    base: str | None
    children: list[Element] = field(default_factory=list)
    nested: list[tuple[int, int]] = field(default_factory=list)
    is_readable: bool = True  # False: its nesting or its attributes are an attack


@dataclass(slots=True, kw_only=True)
class Scan:
    """A document as found: the raw parts, and whether its root was closed."""

    text: str
    kind: str  # "rss", "rdf", "atom"
    items: list[Item] = field(default_factory=list)
    head: list[Element] = field(default_factory=list)
    openings: tuple[str, ...] = ()  # the start tags that stand open around the first item
    closed: bool = False
    is_readable: bool = True
    has_odd_tags: bool = False  # how an item is read may then depend on those before it


@dataclass(slots=True)
class _Open:
    raw: str
    name: str
    scope: dict[str, str]
    base: str | None
    tag: str = ""
    item: Item | None = None
    element: Element | None = None


def scan(text: str) -> Scan:
    """Return the parts of `text`; raises NotAFeed if it has no root of RSS, RDF or Atom."""
    at = _root(text, 0)
    if at >= 0:  # whatever the comments before it speak of
        return _Walk(text, at).run()
    if buried := _BURIED_ROOT.search(text):
        at = _root(text, buried.start())
    page = _PAGE.search(text, 0, at if at >= 0 else len(text))
    if page is not None:
        raise NotAFeed("an HTML page, not a feed")
    if at < 0:
        raise NotAFeed("no RSS, Atom or JSON feed")
    return _Walk(text, at).run()


def _root(text: str, at: int) -> int:
    """Where the first element from `at` on begins, if it is the root of a feed; else -1."""
    start, _, name, _ = next(_tags(text, at, []), (-1, 0, "", ""))
    return start if _ROOT.fullmatch(name) else -1


def attributes_of(source: str) -> dict[str, str]:
    """Return the attributes of a start tag, names in lower case, values not decoded."""
    if "=" not in source:
        return {}
    return {m.group(1).lower(): m.group(2) or m.group(3) or m.group(4) or "" for m in _ATTRIBUTE.finditer(source)}


class _Walk:
    """The state of one walk: the elements that stand open."""

    def __init__(self, text: str, at: int) -> None:
        self._text = text
        self._at = at
        self._stack: list[_Open] = []
        self._item: Item | None = None
        self._item_level = 0
        self._core = ""
        self._item_name = "item"
        self._names: Counter[str] = Counter()  # of what stands open, so that a stray end tag costs no search
        self.scan = Scan(text=text, kind="rss")

    def run(self) -> Scan:
        odd: list[int] = []
        for start, end, raw, source in _tags(self._text, self._at, odd):
            if raw.startswith("/"):
                self._close(raw[1:], start, end)
                if not self._stack:
                    self.scan.closed = True
                    break
            else:
                self._open(raw, source, start, end)
                if source.endswith("/"):
                    self._close(raw, end, end)
                if not self._stack:
                    self.scan.closed = True
                    break
        self.scan.has_odd_tags = bool(odd)
        return self.scan

    def _open(self, raw: str, source: str, start: int, end: int) -> None:
        parent = self._stack[-1] if self._stack else None
        level = len(self._stack)
        if len(source) > 4 * MAX_ATTRIBUTES and source.count("=") > MAX_ATTRIBUTES:
            self._refuse_body()
        if self._item is not None and level > self._item_level:  # deep inside: only balance matters
            self._item.is_readable &= level - self._item_level <= MAX_DEPTH
            self._push(_Open(raw, "", parent.scope, parent.base) if parent else _Open(raw, "", {}, None))
            return
        opened = _Open(raw, "", *self._context(parent, source), tag=self._text[start:end])
        if parent is None:
            self._set_root(opened)
        opened.name = canonical(raw, opened.scope, self._core)
        self._push(opened)
        if opened.name == self._item_name and parent is not None:
            self._open_item(opened, source, start, end)
        elif self._is_child(level):
            opened.element = Element(name=opened.name, attributes=attributes_of(source), start=start, inner=end,
                                     inner_end=end, base=opened.base)  # fmt: skip

    def _refuse_body(self) -> None:
        if self._item is not None:
            self._item.is_readable = False
        else:
            self.scan.is_readable = False

    def _push(self, opened: _Open) -> None:
        self._stack.append(opened)
        self._names[opened.raw.lower()] += 1

    def _context(self, parent: _Open | None, source: str) -> tuple[dict[str, str], str | None]:
        scope, base = (parent.scope, parent.base) if parent else ({}, None)
        if "xmlns" in source or "xml:base" in source:
            attributes = attributes_of(source)
            declared = {name[6:]: module_of(value) for name, value in attributes.items() if name.startswith("xmlns")}
            scope = {**scope, **declared} if declared else scope
            base = _joined(base, attributes.get("xml:base"))
        return scope, base

    def _set_root(self, root: _Open) -> None:
        local = root.raw.rpartition(":")[2].lower()
        prefix = root.raw.rpartition(":")[0].lower()
        self._core = root.scope.get(prefix, prefix)
        self.scan.kind = {"feed": "atom", "rdf": "rdf"}.get(local, "rss")
        if local == "feed":
            self._item_name, self._core = "entry", self._core or "atom"
        elif local == "rdf":
            self._core = ""
            # RSS under a namespace that nobody knows (0.90 has had two) is RSS all the same.
            if root.scope.get("") == "?":
                root.scope[""] = ""

    def _is_child(self, level: int) -> bool:
        """Whether an element at `level` is a child of the open item, or of the channel or feed."""
        if self._item is not None:
            return level == self._item_level
        if level == 1:
            return True
        return level == 2 and self._stack[1].name == "channel"

    def _open_item(self, opened: _Open, source: str, start: int, end: int) -> None:
        if self._item is not None:
            opened.item = Item(start=start, inner=end, attributes={}, base=None)  # nested: not an entry of its own
            return
        item = Item(start=start, inner=end, attributes=attributes_of(source), base=opened.base)
        if not self.scan.items:
            self.scan.openings = tuple(parent.tag for parent in self._stack[:-1])
        self.scan.items.append(item)
        opened.item = self._item = item
        self._item_level = len(self._stack)

    def _close(self, raw: str, start: int, end: int) -> None:
        if not self._names[raw.lower()]:
            return
        at = len(self._stack) - 1
        # A stray end tag inside an item must not close the item's parents.
        floor = self._item_level - 1 if self._item is not None else 0
        while at >= floor and self._stack[at].raw.lower() != raw.lower():
            at -= 1
        if at < floor:  # the channel or the root ends while an item is open: its end tag is missing for good
            at = next(i for i, o in enumerate(self._stack) if o.raw.lower() == raw.lower())
        for opened in reversed(self._stack[at:]):
            self._names[opened.raw.lower()] -= 1
            self._finish(opened, start, end if opened is self._stack[at] else start)
        del self._stack[at:]

    def _finish(self, opened: _Open, start: int, end: int) -> None:
        if opened.element is not None:
            opened.element.inner_end, opened.element.end = start, end
            (self._item.children if self._item is not None else self.scan.head).append(opened.element)
        if opened.item is None:
            return
        if opened.item is self._item:
            opened.item.end = end
            self._item = None
        else:
            (self._item or opened.item).nested.append((opened.item.start, end))


def _tags(text: str, at: int, odd: list[int]) -> Iterator[tuple[int, int, str, str]]:
    """Yield start, end, name ("/name" for an end tag) and attributes of each tag from `at` on.

    `odd` takes the place of the first tag whose quotes do not close.
    """
    while found := _MARKUP.search(text, at):
        at = found.start()
        if text.startswith(("<!", "<?"), at):
            at = _after_skipped(text, at)
            if at < 0:
                return
            continue
        if match := _END.match(text, at):
            yield at, match.end(), "/" + match.group(1), ""
            at = match.end()
            continue
        if text[at + 1] == "/":
            at += 2
            continue
        match = _START.match(text, at) if not odd else None
        end = match.end() if match else text.find(">", at) + 1
        # After the first tag with an odd quote only the next ">" counts: twice the whole text would be quadratic.
        if match is None and not odd:
            odd.append(at)
        if end <= 0:
            return
        name = match.group(1) if match else re.split(r"[\s/<>]", text[at + 1 : at + 200], maxsplit=1)[0]
        yield at, end, name, text[at + 1 + len(name) : end - 1]
        at = end


def _after_skipped(text: str, at: int) -> int:
    """Where the comment, CDATA section, instruction or DOCTYPE at `at` ends; -1: nowhere."""
    for opening, closing in _SKIPPED:
        if text.startswith(opening, at):
            end = text.find(closing, at + len(opening))
            return end + len(closing) if end >= 0 else -1
    end = text.find(">", at)
    subset = text.find("[", at, end) if end >= 0 else -1
    if subset >= 0 and (match := _SUBSET_END.search(text, subset, subset + MAX_SUBSET)):
        return match.end()
    return end + 1 if end >= 0 else -1


def _joined(base: str | None, new: str | None) -> str | None:
    if not new:
        return base
    try:
        return urljoin(base or "", new.strip()) or base
    except ValueError:
        return base
