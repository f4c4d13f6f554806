"""A Slack payload as a channel shows it: the blocks that our notifier makes, drawn as HTML."""

import html
import json
from collections.abc import Iterable, Mapping
from urllib.parse import quote

from markupsafe import Markup, escape

from bot.core.model.message import JsonValue, Payload
from bot.core.text.links import http_url

Json = Mapping[str, JsonValue]

BUILDER = "https://app.slack.com/block-kit-builder/"
_TAGS = (("code", "code"), ("bold", "b"), ("italic", "i"), ("strike", "s"))
_PARTS = {
    "rich_text_section": "p",
    "rich_text_quote": "blockquote",
    "rich_text_preformatted": "pre",
}


def draw(payload: Payload) -> Markup:
    """Return what a reader sees; a payload without blocks is its text alone."""
    blocks = _objects(payload.get("blocks"))
    if not blocks:
        return Markup("<p>{}</p>").format(html.unescape(str(payload.get("text", ""))))
    return _joined(_block(block) for block in blocks)


def builder(payload: Payload) -> str | None:
    """Return Slack's own drawing board with these blocks on it; they stand behind the #, so nobody is sent them."""
    blocks = payload.get("blocks")
    return f"{BUILDER}#{quote(json.dumps({'blocks': blocks}, ensure_ascii=False))}" if blocks else None


def _block(block: Json) -> Markup:
    match block.get("type"):
        case "header":
            return Markup('<p class="header">{}</p>').format(_text_of(block.get("text")))
        case "rich_text":
            return _joined(_part(part) for part in _objects(block.get("elements")))
        case "context":
            words = [str(one.get("text", "")) for one in _objects(block.get("elements"))]
            return Markup('<p class="context">{}</p>').format(" ".join(words))
        case "image":
            return picture(str(block.get("image_url", "")), str(block.get("alt_text", "")))
        case _:
            return Markup()


def _part(part: Json) -> Markup:
    elements = _objects(part.get("elements"))
    kind = str(part.get("type"))
    if kind == "rich_text_list":
        name = "ol" if part.get("style") == "ordered" else "ul"
        items = _joined(Markup("<li>{}</li>").format(_inline(item)) for item in elements)
        return Markup("<{0}>{1}</{0}>").format(name, items)
    return Markup("<{0}>{1}</{0}>").format(_PARTS.get(kind, "p"), _inline(part))


def _inline(part: Json) -> Markup:
    return _joined(_element(element) for element in _objects(part.get("elements")))


def _element(element: Json) -> Markup:
    match element.get("type"):
        case "text":
            return _styled(escape(str(element.get("text", ""))), element)
        case "link":
            url = str(element.get("url", ""))
            return _styled(link(url, escape(str(element.get("text") or url))), element)
        case "user":
            return mention(f"@{element.get('user_id')}")
        case "usergroup":
            return mention(f"@{element.get('usergroup_id')}")
        case "broadcast":
            return mention(f"@{element.get('range')}")
        case _:
            return Markup()


def _styled(shown: Markup, element: Json) -> Markup:
    style = element.get("style")
    for name, tag in _TAGS:
        if isinstance(style, Mapping) and style.get(name):
            shown = Markup("<{0}>{1}</{0}>").format(tag, shown)
    return shown


def link(url: str, label: Markup) -> Markup:
    """Return a link where the address is one that may be followed, else its label."""
    if http_url(url) is None:
        return label
    return Markup('<a href="{}" rel="noreferrer">{}</a>').format(url, label)


def mention(words: str) -> Markup:
    return Markup('<span class="mention">{}</span>').format(words)


def picture(url: str, alt: str) -> Markup:
    """Stand for a picture: pages load nothing from elsewhere."""
    return Markup('<p class="picture"><span>{}</span> {}</p>').format(alt or "image", link(url, escape("picture")))


def _text_of(value: JsonValue) -> str:
    return str(value.get("text", "")) if isinstance(value, Mapping) else ""


def _objects(value: JsonValue) -> list[Json]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list | tuple) else []


def _joined(parts: Iterable[Markup]) -> Markup:
    return Markup().join(parts)
