"""The operator's templates: how one entry looks, in lines of text, with nothing in reach but its words.

What a template writes is text. Marks, links and the entry's own blocks are made by functions (template_words), whose
place holders no text of a feed can hold; so nothing that comes from a feed is ever read as markup, and feed text is
never a template. A template has no way to run long: it knows loops over what it is given and nothing that repeats or
multiplies, and its steps and its text are counted.
"""

import logging
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FunctionType, MappingProxyType, MethodType, TracebackType
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateSyntaxError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from bot.app.template_words import FUNCTIONS, NAMES, Sheet, Words
from bot.config.errors import Problem
from bot.config.nouns import READY_TEMPLATES
from bot.config.settings import Settings
from bot.config.values import did_you_mean
from bot.core.errors import ConfigError
from bot.core.model.entry import Entry
from bot.core.model.message import Block, Card, Paragraph, Text
from bot.core.render import Template

log = logging.getLogger(__name__)

MAX_SOURCE = 16_000  # characters; a layout has twenty lines
MAX_STEPS = 1_000  # rounds of all loops of one rendering
MAX_TEXT = 20_000  # characters that one rendering, or one value in it, may have
READY = Path(__file__).parent / "templates"

_FILTERS = (
    *("capitalize", "default", "first", "last", "length", "list", "lower", "reject", "reverse", "select", "sort"),
    *("title", "trim", "truncate", "unique", "upper", "wordcount"),
)
_NODES = (
    *(nodes.Template, nodes.Output, nodes.TemplateData, nodes.If, nodes.For, nodes.Assign, nodes.Name, nodes.Const),
    *(nodes.Filter, nodes.Test, nodes.Call, nodes.Compare, nodes.Operand, nodes.And, nodes.Or, nodes.Not, nodes.Concat),
    *(nodes.CondExpr, nodes.Tuple, nodes.List, nodes.Getitem, nodes.Slice, nodes.Getattr, nodes.Add, nodes.Sub),
    *(nodes.Keyword, nodes.Neg),
)
# Of the library's own checks the AssertionError, of Python's reading of what the library writes the SyntaxError.
_FAILURES = (
    *(TemplateError, TypeError, ValueError, ArithmeticError, LookupError, AttributeError, RecursionError),
    *(AssertionError, SyntaxError),
)
_SAMPLES = (
    Words(
        title="A title",
        url="https://www.example.org/a",
        host="example.org",
        tags=("one", "two"),
        date="16 Sep 2026",
        feed="A feed",
        author="Somebody",
        note="edited",
        summary="A summary.\nIn two lines.",
        blocks=(Paragraph(spans=(Text(text="A summary."),)),),
    ),
    Words(title="A title and nothing else"),
)


class _TooMuch(TemplateError):
    """It would write or work without end."""


class _Environment(ImmutableSandboxedEnvironment):
    intercepted_binops = frozenset("+")

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        return _small(super().call_binop(context, operator, left, right))


def load_templates(settings: Settings) -> Mapping[str, Template]:
    """Read and try every template that the routes name. Raises ConfigError with every mistake, as file and line."""
    loaded: dict[str, Template] = {}
    problems: list[object] = []
    for name in dict.fromkeys(route.template for route in settings.to_routes() if route.template is not None):
        try:
            loaded[name] = _load(READY / f"{name}.j2" if name in READY_TEMPLATES else Path(name))
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(tuple(problems))
    return MappingProxyType(loaded)


def layout_of(source: str, *, path: str) -> Template:
    """Return the layout that a template's text is. Raises ConfigError where it cannot be one."""
    environment = _environment()
    try:
        tree = _checked(environment.parse(source), path)
        code = environment.compile(tree, name=path, filename=path)
        template = environment.template_class.from_code(environment, code, environment.make_globals(None))
        for words in _SAMPLES:
            _lay_out(template, words)
    except TemplateSyntaxError as error:
        raise _refused(path, error.lineno, _with_hint(error.message or "it is no template")) from error
    except _FAILURES as error:
        said, line = _with_hint(str(error) or type(error).__name__), _line_in(error.__traceback__, path)
        raise _refused(path, line, said) from error

    def layout(entry: Entry, card: Card) -> tuple[Block, ...]:
        try:
            return _lay_out(template, Words.of(card))
        except _FAILURES as error:
            # No message is lost to its looks: the card's own layout stands in.
            log.warning("template failed", extra={"template": path, "feed": entry.feed_id, "error": str(error)[:200]})
            return ()

    return layout


def _lay_out(template: Any, words: Words) -> tuple[Block, ...]:
    sheet, steps, texts, size = Sheet(words), 0, [], 0

    def step() -> str:
        nonlocal steps
        steps += 1
        if steps > MAX_STEPS:
            raise _TooMuch(f"its loops make more than {MAX_STEPS} rounds")
        return ""

    for text in template.generate(words.variables, **sheet.functions, _step=step, _join=_joined):
        size += len(text)
        if size > MAX_TEXT:
            raise _TooMuch(f"it writes more than {MAX_TEXT} characters")
        texts.append(text)
    return sheet.to_blocks("".join(texts))


def _load(path: Path) -> Template:
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = (error.strerror or "").lower() if isinstance(error, OSError) else "it is not UTF-8"
        raise _refused(str(path), None, f"the template can't be read: {reason}") from error
    if len(source) > MAX_SOURCE:
        raise _refused(str(path), None, f"the template is longer than {MAX_SOURCE} characters")
    return layout_of(source, path=str(path))


def _environment() -> _Environment:
    environment = _Environment(undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_plain)
    kept = {name: environment.filters[name] for name in _FILTERS}
    environment.filters = {**kept, "join": _join, "replace": _replace}
    environment.globals = {}
    return environment


def _checked(tree: nodes.Template, path: str) -> nodes.Template:
    """Refuse what a layout does not need; count the rounds of loops, and put our own joining for `~`."""
    _look(tree, path)
    for loop in tree.find_all(nodes.For):
        called = nodes.Call(nodes.Name("_step", "load", lineno=loop.lineno), [], [], None, None, lineno=loop.lineno)
        loop.body.insert(0, nodes.Output([called], lineno=loop.lineno))
    return tree


def _look(node: nodes.Node, path: str) -> None:
    for child in node.iter_child_nodes():
        if not isinstance(child, _NODES):
            raise _refused(path, child.lineno, f"a template knows no {_name_of(child)}")
        if isinstance(child, nodes.Name) and child.name.startswith("_"):
            raise _refused(path, child.lineno, f'a name can\'t begin with "_": {child.name}')
        if isinstance(child, nodes.Call) and not _is_ours(child.node):
            raise _refused(path, child.lineno, f"only these can be called: {', '.join(sorted(FUNCTIONS))}")
        if isinstance(child, nodes.Getattr) and not (isinstance(child.node, nodes.Name) and child.node.name == "loop"):
            raise _refused(path, child.lineno, f'there is no ".{child.attr}"; known: {", ".join(NAMES)}')
        if isinstance(child, nodes.For) and child.recursive:
            raise _refused(path, child.lineno, "a loop can't be recursive")
        _look(child, path)
    if isinstance(node, nodes.Concat):
        node.nodes = [nodes.Call(nodes.Name("_join", "load"), [*node.nodes], [], None, None, lineno=node.lineno)]


def _is_ours(called: nodes.Node) -> bool:
    return isinstance(called, nodes.Name) and called.name in FUNCTIONS


def _name_of(node: nodes.Node) -> str:
    known = {"Mul": "*", "Pow": "**", "Mod": "%", "Div": "/", "FloorDiv": "//"}
    return known.get(type(node).__name__, f'"{type(node).__name__.lower()}"')


def _plain(value: object) -> object:
    """Only words and numbers can be written: a list shows brackets, a function its inside, which nobody means."""
    if isinstance(value, list | tuple | dict):
        raise _TooMuch('a list is written by joining it: {{ tags | join(", ") }}')
    if isinstance(value, FunctionType | MethodType):
        raise _TooMuch(f"{value.__name__} is a function: write {value.__name__}(…)")
    return "" if value is None else _small(value)


def _joined(*parts: object) -> str:
    return _join(parts)


def _join(parts: Iterable[object], separator: str = "") -> str:
    words = [str(_plain(part)) for part in parts]
    if sum(len(word) + len(separator) for word in words) > MAX_TEXT:
        raise _TooMuch(f"a text would be longer than {MAX_TEXT} characters")
    return separator.join(words)


def _replace(text: object, old: str, new: str) -> str:
    words = str(_plain(text))
    if words.count(old) * len(new) > MAX_TEXT:
        raise _TooMuch(f"a text would be longer than {MAX_TEXT} characters")
    return words.replace(old, new)


def _small(value: Any) -> Any:
    if isinstance(value, str | list | tuple) and len(value) > MAX_TEXT:
        raise _TooMuch(f"a text would be longer than {MAX_TEXT} characters")
    return value


def _with_hint(words: str) -> str:
    """Add the nearest right name to what the library says of a wrong one."""
    if (wrong := re.fullmatch(r"'(\w+)' is undefined", words)) is not None:
        known = [*NAMES, "published", *sorted(FUNCTIONS)]
    elif (wrong := re.fullmatch(r"No filter named '(\w+)'\.", words)) is not None:
        known = sorted((*_FILTERS, "join", "replace"))
    else:
        return words
    hint = did_you_mean(wrong[1], known) or f"; known: {', '.join(known)}"
    return f"{words.rstrip('.')}{hint}"


def _line_in(trace: TracebackType | None, path: str) -> int | None:
    """Return the template's line that failed last."""
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _refused(path: str, line: int | None, words: str) -> ConfigError:
    return ConfigError((Problem(path=path, line=line, column=None if line is None else 1, message=words),))
