"""The first picture in the HTML of a text, where the feed itself names none."""

import re

from bot.core.parse.fields import decode_references
from bot.core.parse.scan import attributes_of
from bot.core.text.links import http_url

SMALL = 32  # pixels; below it are smileys, buttons, and what counts readers

_PICTURE = re.compile(r"<(?:img|IMG)\s([^<>]{1,8000})>")
_SMILEY = re.compile(r"emoji|smil(?:ey|ie)", re.IGNORECASE)
_PIXELS = re.compile(r"\s*(\d{1,6})\s*(?:px)?\s*\Z")


def first_picture(source: str, base: str) -> str | None:
    """Return the address of the first picture of an HTML text that is a part of what it tells."""
    pictures = (attributes_of(tag[1]) for tag in _PICTURE.finditer(source))
    found = (http_url(decode_references(each.get("src", "")), base) for each in pictures if _tells(each))
    return next((address for address in found if address), None)


def _tells(picture: dict[str, str]) -> bool:
    sizes = (_PIXELS.match(picture.get(name, "")) for name in ("width", "height"))
    is_small = any(int(size[1]) <= SMALL for size in sizes if size)
    return not is_small and not _SMILEY.search(f"{picture.get('class', '')} {picture.get('src', '')}")
