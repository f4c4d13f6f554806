"""A Discord payload as a channel shows it: content, embeds, and the part of its Markdown that our notifier writes."""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby

from markupsafe import Markup, escape

from bot.core.model.message import JsonValue, Payload
from bot.web.looks.slack import link, mention, picture

Json = Mapping[str, JsonValue]

_FENCE = re.compile(r"```(?:\w*\n)?(.*?)\n?```", re.DOTALL)
_LINE = re.compile(r"(?P<quote>> )|(?P<bullet>[-*] )|(?P<number>\d+\. )")
# A mark inside may be escaped, so that "any character" is one that no backslash stands before, or both together.
_INLINE = re.compile(
    r"\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|`(?P<code>[^`\n]+)`"
    r"|\*\*(?P<bold>(?:\\.|[^\\])+?)\*\*(?!\*)"
    r"|\*(?P<italic>(?:\\.|[^\\*])+?)\*"
    r"|~~(?P<strike>(?:\\.|[^\\])+?)~~"
    r"|\[(?P<label>(?:\\.|[^\\\]])+)\]\((?P<target>https?://[^\s)]+)\)"
    r"|<(?P<bracketed>https?://[^>\s]+)>"
    r"|(?P<bare>https?://[^\s<>]+)"
    r"|<(?P<ping>@[&!]?\d+)>"
    r"|(?P<all>@(?:here|everyone))",
    re.DOTALL,
)
_TAGS = {"bold": "b", "italic": "i", "strike": "s"}


def draw(payload: Payload) -> Markup:
    """Return what a reader sees."""
    content = str(payload.get("content") or "")
    parts = [Markup('<div class="content">{}</div>').format(markdown(content))] if content else []
    embeds = payload.get("embeds")
    found = embeds if isinstance(embeds, list | tuple) else ()
    return Markup().join([*parts, *(_embed(one) for one in found if isinstance(one, Mapping))])


def _embed(embed: Json) -> Markup:
    parts = []
    if title := str(embed.get("title") or ""):
        shown = inline(title)
        url = str(embed.get("url") or "")
        parts.append(Markup('<p class="title">{}</p>').format(link(url, shown) if url else shown))
    if description := str(embed.get("description") or ""):
        parts.append(Markup('<div class="description">{}</div>').format(markdown(description)))
    if url := _inner(embed, "image", "url"):
        parts.append(picture(url, "image"))
    if footer := _inner(embed, "footer", "text"):
        parts.append(Markup('<p class="context">{}</p>').format(footer))
    return Markup('<div class="embed">{}</div>').format(Markup().join(parts))


def markdown(text: str) -> Markup:
    """Return blocks: fences, and between them lines, quotes and lists."""
    parts: list[Markup] = []
    end = 0
    for fence in _FENCE.finditer(text):
        parts += _lines(text[end : fence.start()])
        parts.append(Markup("<pre>{}</pre>").format(fence[1]))
        end = fence.end()
    return Markup().join([*parts, *_lines(text[end:])])


def inline(text: str) -> Markup:
    """Return one run of text with its marks drawn, and escaped marks as the characters they are."""
    parts: list[Markup] = []
    end = 0
    for found in _INLINE.finditer(text):
        parts += [escape(text[end : found.start()]), _mark(found)]
        end = found.end()
    return Markup().join([*parts, escape(text[end:])])


def _lines(text: str) -> Iterator[Markup]:
    lines = text.strip("\n").split("\n") if text.strip("\n") else []
    for kind, group in groupby(lines, key=_kind):
        shown = [inline(line[len(_prefix(line)) :]) for line in group]
        if kind in ("bullet", "number"):
            items = Markup().join(Markup("<li>{}</li>").format(one) for one in shown)
            yield Markup("<{0}>{1}</{0}>").format("ul" if kind == "bullet" else "ol", items)
        else:
            name = "blockquote" if kind == "quote" else "p"
            yield Markup("<{0}>{1}</{0}>").format(name, Markup("<br>").join(shown))


def _kind(line: str) -> str:
    found = _LINE.match(line)
    return found.lastgroup or "" if found else ""


def _prefix(line: str) -> str:
    found = _LINE.match(line)
    return found[0] if found else ""


def _mark(found: re.Match[str]) -> Markup:
    kind = found.lastgroup or ""
    words = found[kind]
    match kind:
        case "escaped":
            return escape(words)
        case "code":
            return Markup("<code>{}</code>").format(words)
        case "target":
            return link(words, inline(found["label"]))
        case "bracketed" | "bare":
            return link(words, escape(words))
        case "ping" | "all":
            return mention(words)
        case _:
            return Markup("<{0}>{1}</{0}>").format(_TAGS[kind], inline(words))


def _inner(embed: Json, name: str, key: str) -> str:
    value = embed.get(name)
    return str(value.get(key) or "") if isinstance(value, Mapping) else ""
