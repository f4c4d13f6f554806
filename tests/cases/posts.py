"""What a reader sees on each platform: one Post for each entry told, also inside a digest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from html.parser import HTMLParser
from typing import Any

from tests.servers.discord_state import DiscordMessage
from tests.servers.mail import Mail
from tests.servers.slack_state import SlackMessage

BARE_URL = re.compile(r"(?<![\w\\])(?:https?|javascript|data|file):[^\s<>()\"\]]+", re.I)
MASKED = re.compile(r"(?<!\\)\[((?:\\.|[^\]\\])*)\]\(([^)\s]+)\)")
ESCAPED = re.compile(r"\\([\\*_~`|>#\-\[\]()<@:])")


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """One entry before a reader's eyes. `wire` is what was sent to show it."""

    title: str
    text: str
    links: tuple[str, ...]
    wire: str
    message: Any


# --- Slack -----------------------------------------------------------------------------------------------------------


def slack_posts(message: SlackMessage) -> list[Post]:
    wire = json.dumps(message.to_json(), ensure_ascii=False, default=str)
    plain = unescape_slack(message.text)
    if not message.blocks:
        return [
            Post(title=plain.split("\n")[0], text=plain, links=_slack_urls(message.text), wire=wire, message=message)
        ]
    if message.blocks[0].get("type") == "header":
        items = [item for block in message.blocks for item in _list_items(block)]
        if items:
            return [_slack_post(item, "", wire, message) for item in items]
    return [_slack_post(message.blocks, plain, wire, message)]


def unescape_slack(text: str) -> str:
    return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def _slack_urls(text: str) -> tuple[str, ...]:
    return tuple(BARE_URL.findall(text))


def _slack_post(part: object, plain: str, wire: str, message: SlackMessage) -> Post:
    leaves = list(_leaves(part))
    text = "".join(str(leaf.get("text", "")) for leaf in leaves)
    bold = [leaf for leaf in leaves if (leaf.get("style") or {}).get("bold")]
    title = str(bold[0].get("text", "")) if bold else text.split("\n")[0]
    links = tuple(str(leaf["url"]) for leaf in leaves if leaf.get("url"))
    images = tuple(_images(part))
    return Post(title=title, text=f"{text}\n{plain}", links=links + images, wire=wire, message=message)


def slack_text(body: dict[str, Any]) -> str:
    """Return what an answer to a command shows; `text` only stands in where there are no blocks."""
    leaves = [str(leaf.get("text", "")) for leaf in _leaves(body.get("blocks") or [])]
    return "".join(leaves) or unescape_slack(str(body.get("text") or ""))


def _list_items(block: dict[str, Any]) -> Iterator[object]:
    for part in block.get("elements", ()):
        if part.get("type") == "rich_text_list":
            yield from part["elements"]


def _leaves(part: object) -> Iterator[dict[str, Any]]:
    """Walk to what holds text, in reading order."""
    if isinstance(part, list):
        for item in part:
            yield from _leaves(item)
    elif isinstance(part, dict):
        if isinstance(part.get("text"), str):
            yield part
        else:
            yield from _leaves(part.get("text"))
            yield from _leaves(part.get("elements"))


def _images(part: object) -> Iterator[str]:
    if isinstance(part, list):
        for block in part:
            if isinstance(block, dict) and block.get("image_url"):
                yield str(block["image_url"])


# --- Discord ---------------------------------------------------------------------------------------------------------


def discord_posts(message: DiscordMessage) -> list[Post]:
    wire = json.dumps(message.to_json(), ensure_ascii=False, default=str)
    lines = [line for embed in message.embeds for line in str(embed.get("description", "")).split("\n")]
    if message.embeds and not message.embeds[0].get("url") and all(line.startswith(("- ", "**")) for line in lines):
        return [_discord_line(line, wire, message) for line in lines if line.startswith("- ")]
    if not message.embeds:
        text = visible(message.content)
        return [Post(title=text.split("\n")[0], text=text, links=_urls(message.content), wire=wire, message=message)]
    return [_discord_post(embed, wire, message) for embed in message.embeds]


def discord_text(message: DiscordMessage) -> str:
    """Return what an answer to a command shows."""
    parts = [message.content]
    for embed in message.embeds:
        parts += [str(embed.get("title", "")), str(embed.get("description", ""))]
    return visible("\n".join(parts))


def visible(markdown: str) -> str:
    return ESCAPED.sub(r"\1", MASKED.sub(r"\1", markdown))


def _urls(markdown: str) -> tuple[str, ...]:
    masked = tuple(found[1] for found in MASKED.findall(markdown))
    return masked + tuple(BARE_URL.findall(MASKED.sub(" ", markdown)))


def _discord_post(embed: dict[str, Any], wire: str, message: DiscordMessage) -> Post:
    title, body = str(embed.get("title", "")), str(embed.get("description", ""))
    footer, author = embed.get("footer") or {}, embed.get("author") or {}
    text = "\n".join((message.content, title, body, str(author.get("name", ""))))
    links = [embed.get("url"), author.get("url"), footer.get("icon_url"), author.get("icon_url")]
    links += [(embed.get(name) or {}).get("url") for name in ("image", "thumbnail")]
    buttons = [item.get("url") for row in message.components for item in row.get("components", ())]
    return Post(
        title=visible(title) or visible(body).split("\n")[0],
        text=visible(text) + "\n" + str(footer.get("text", "")),
        links=tuple(str(link) for link in [*links, *buttons] if link) + _urls(text),
        wire=wire,
        message=message,
    )


def _discord_line(line: str, wire: str, message: DiscordMessage) -> Post:
    words = line.removeprefix("- ")
    found = MASKED.match(words)
    title = ESCAPED.sub(r"\1", found[1]) if found else visible(words.split(" · ")[0].split(" <http")[0])
    return Post(title=title, text=visible(words), links=_urls(words), wire=wire, message=message)


# --- mail ------------------------------------------------------------------------------------------------------------


class _Page(HTMLParser):
    """Collects what a mail's HTML shows: text, addresses, and the headings of a digest's entries."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.links: list[str] = []
        self.headings: dict[str, list[str]] = {"h2": [], "h3": []}
        self._in: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in.append(tag)
        self.links += [value for name, value in attrs if name in ("href", "src") and value]
        if tag in self.headings:
            self.headings[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        while self._in and self._in.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not {"style", "title"} & set(self._in):
            self.words.append(data)
        for tag in set(self._in) & set(self.headings):
            self.headings[tag][-1] += data

    @property
    def titles(self) -> list[str]:
        """Entries stand under the lowest headings of a digest; a mail of one entry has none of these."""
        return self.headings["h3"] or self.headings["h2"]


def mail_posts(mail: Mail) -> list[Post]:
    page, plain = _Page(mail.body("html")), mail.body("plain")
    wire = mail.raw.decode("utf-8", "replace")
    text = f"{mail.subject}\n{plain}\n{''.join(page.words)}"
    links = tuple(page.links) + tuple(BARE_URL.findall(unescape(plain)))
    titles = page.titles or [mail.subject]
    return [Post(title=title, text=text, links=links, wire=wire, message=mail) for title in titles]
