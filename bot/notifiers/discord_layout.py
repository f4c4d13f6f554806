"""Messages in Discord's form: embeds whose feed text is escaped Markdown (T12), and mentions that only we allow (R-6).

Lengths are counted in UTF-16 units after escaping. Footers know no Markdown, so they are not escaped.
"""

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from urllib.parse import urlsplit

from bot.core.model.message import (
    Block,
    Bullets,
    Card,
    JsonValue,
    Mention,
    Message,
    MessageKind,
    Paragraph,
    Payload,
    Preformatted,
    Quote,
    Span,
    Text,
)
from bot.core.text.graphemes import cut
from bot.notifiers.fit import all_cards, fit_blocks, meta_line, more_words, pack, plain_text, sparing, utf16

Json = dict[str, JsonValue]
Lines = tuple[str, list[str]]  # of a digest's section: its name, and a line for each entry

CONTENT = 2_000
TITLE = 256
WORDS = CONTENT - 2 * TITLE - 200  # of an answer: its heading stands in the content too, and a hint
DESCRIPTION = 4_096
EMBEDS = 10
TOTAL = 5_900  # Discord: 6,000 over all embeds; a little air for what it counts and we do not
BODY = 1_200
_LISTED = ((300, TITLE, True), (100, TITLE, True), (0, 200, False))  # of several: text, title, whether tags and date
FEED_TITLE = 150
SPARING_NAME = 30  # of a section, where a digest has hardly room for its titles
NONCE = 25
MENTIONS = 60  # of 25 characters at most; Discord refuses a message whose content they overflow, and takes 100 at most
_FORMS = ((200, True), (100, True), (60, False))  # of a digest's lines: title, and whether tags and date stand there
# A hyphen makes a list only where no word is before it, a colon only a link or an emoji; elsewhere both stay readable.
# Either may be the last character of a span whose neighbour goes on with it.
_SPECIAL = re.compile(r"([\\*_~`|>#\[\]<@]|(?<!\w)-|:(?=/|[\w+\-]+:|\Z))")
_PINGS_ALL = re.compile(r"@(?:everyone|here)")
_MENTION = re.compile(r"<@(?P<role>&?)!?(?P<id>\d{1,20})>|(?P<all>@here|@everyone)")


def escape(text: str) -> str:
    """Escape Markdown: every mark that could format, quote, link or mention is shown as typed."""
    return _SPECIAL.sub(r"\\\1", text)


def nonce_of(key: str) -> str:
    """Return the nonce of a delivery: the same on every try, also after a restart."""
    return base64.b32encode(hashlib.sha256(key.encode()).digest()).decode()[:NONCE]


def to_payload(message: Message, *, plain: bool = False, webhook: bool = False) -> Payload:
    """Return the body of Create Message; webhooks know neither nonces nor replies."""
    literals = [one.literal for one in message.mentions if _MENTION.fullmatch(one.literal)][:MENTIONS]
    content = " ".join(literals)
    payload: Json = {"allowed_mentions": _allowed(literals)}
    if plain:
        room = CONTENT - utf16(content) - 1
        text = plain_text(message, room, title=TITLE, escape=escape, link=_bracketed)
        if _PINGS_ALL.search(text):
            payload["allowed_mentions"] = _allowed([one for one in literals if not _PINGS_ALL.search(one)])
        payload["content"] = f"{content} {text}".strip() or "feedbell"
    else:
        words, embeds = _embeds(message)
        payload["content"] = "\n".join(filter(None, (content, words)))
        payload["embeds"] = [*embeds]
    if message.key and not webhook:
        payload |= {"nonce": nonce_of(message.key), "enforce_nonce": True}
    if message.reply_to and not webhook:
        payload["message_reference"] = {"message_id": message.reply_to, "fail_if_not_exists": False}
    return payload


def _allowed(literals: Sequence[str]) -> Json:
    found = [one for literal in literals if (one := _MENTION.fullmatch(literal))]
    allowed: Json = {"parse": ["everyone"] if any(one["all"] for one in found) else []}
    for kind, mark in (("users", ""), ("roles", "&")):
        ids: list[JsonValue] = [*dict.fromkeys(one["id"] for one in found if one["id"] and one["role"] == mark)]
        if ids:
            allowed[kind] = ids
    return allowed


def _escaped(text: str) -> int:
    return utf16(escape(text))


def _bracketed(url: str) -> str:
    """Return a link that shows itself, without a picture of the page below the message."""
    return f"<{url}>"


def _embeds(message: Message) -> tuple[str, list[Json]]:
    """Return what stands in the content, and the embeds."""
    if message.kind in (MessageKind.ENTRY, MessageKind.EDIT):
        return "", [_entry(message.cards[0], body=BODY)]
    if message.kind is MessageKind.DIGEST:
        return "", _digest(message)
    if message.kind is MessageKind.LIST:
        return _list(message)
    notice: Json = {"description": markdown(fit_blocks(message.blocks, DESCRIPTION - 100, _size)) or "feedbell"}
    return "", [notice | ({"title": cut(message.heading, TITLE, _escaped)} if message.heading else {})]


def _entry(card: Card, *, body: int, title: int = TITLE, meta: bool = True) -> Json:
    picture: Json = {"image": {"url": card.image}} if card.image and _embeddable(card.image) else {}
    if card.custom is not None:
        return {"description": markdown(fit_blocks(card.custom, DESCRIPTION - 100, _size)), **picture}
    embed: Json = {"title": escape(_cut_title(card, title))}
    lines = [escape(meta_line(card)) if meta else "", markdown(fit_blocks(card.body, body, _size)) if body else ""]
    if card.link and _embeddable(card.link):
        embed["url"] = card.link
    elif card.link:
        lines.append(card.link)
    if description := "\n".join(filter(None, lines)):
        embed["description"] = description
    if card.feed_title:
        embed["footer"] = {"text": cut(card.feed_title, FEED_TITLE, utf16)}
    return embed | picture


def _cut_title(card: Card, limit: int) -> str:
    host = f" ({card.host})" if card.host else ""
    return cut(card.title, limit - _escaped(host), _escaped) + host


def _list(message: Message) -> tuple[str, list[Json]]:
    cards = all_cards(message)
    embeds = _listed(cards)
    heading = f"**{escape(cut(message.heading, TITLE, _escaped))}**" if message.heading else ""
    more = _more(len(cards) - len(embeds), message.more_url)
    words = fit_blocks(message.blocks, WORDS, _size)
    if words != message.blocks and not cards:  # an embed has room for them
        words, embeds = (), [{"description": markdown(fit_blocks(message.blocks, DESCRIPTION - 100, _size))}]
    content = "\n".join(filter(None, (heading, markdown(words), more)))
    return content or ("" if embeds else "feedbell"), embeds


def _listed(cards: Sequence[Card]) -> list[Json]:
    """Return the embeds of an answer's entries: shorter ones before one of them is left out."""
    embeds: list[Json] = []
    for body, title, meta in _LISTED if len(cards) > 1 else ((BODY, TITLE, True),):
        made = [_entry(card, body=body, title=title, meta=meta) for card in cards[:EMBEDS]]
        embeds = made[: pack([_counted(embed) for embed in made], TOTAL)]
        if len(embeds) == len(made):
            break
    urls = set[JsonValue]()
    for embed in embeds:
        url = embed.get("url")
        if url in urls:  # of several embeds with one URL, only the first is shown
            embed.pop("url", None)
        urls.add(url)
    return embeds


def _digest(message: Message) -> list[Json]:
    title = cut(message.heading or "Digest", TITLE, _escaped)
    footer = cut(message.feed_title, FEED_TITLE, utf16)
    room = TOTAL - _escaped(title) - utf16(footer) - 2 * utf16(message.more_url or "") - 50
    for limit, meta in _FORMS:
        texts, left = _digest_texts(_digest_lines(message, limit, meta=meta), room, message.more_url)
        if not left:
            break
    else:
        texts, left = _digest_texts(_sparing_lines(message, room), room, message.more_url)
    embeds: list[Json] = [{"description": text} for text in texts]
    embeds[0] = {"title": escape(title), **embeds[0]}
    if footer:
        embeds[-1]["footer"] = {"text": footer}
    return embeds


def _digest_texts(sections: Sequence[Lines], room: int, more_url: str | None) -> tuple[list[str], int]:
    """Return the descriptions, and how many entries found no room."""
    texts, left = [""], 0
    for name, entries in sections:
        heading = f"**{escape(cut(name, TITLE, _escaped))}**" if name else ""
        for line in entries:
            lines = "\n".join(filter(None, (heading, line)))
            size = utf16(lines) + 1
            if size > room:
                left += 1
                continue
            room, heading = room - size, ""
            if utf16(texts[-1]) + size > DESCRIPTION - 100:
                texts.append("")
            texts[-1] += f"\n{lines}" if texts[-1] else lines
    if more := _more(left, more_url):
        texts[-1] += f"\n{more}" if texts[-1] else more
    return texts, left


def _digest_lines(message: Message, limit: int, *, meta: bool) -> list[Lines]:
    several = not message.feed_title
    return [
        (section.heading, [_digest_line(card, limit, meta=meta, feed=several) for card in section.cards])
        for section in message.sections
    ]


def _sparing_lines(message: Message, room: int) -> list[Lines]:
    """Return a line for each entry where not all links find room: the last ones do without, for nobody is left out."""
    limit, _ = _FORMS[-1]
    cards = all_cards(message)
    names = [cut(section.heading, SPARING_NAME, _escaped) for section in message.sections]
    linked = [_digest_line(card, limit, meta=False, feed=False) for card in cards]
    bare = [f"- {escape(cut(card.title, limit, _escaped))}" for card in cards]
    room -= len(cards) + sum(_escaped(name) + len("****\n") for name in names)
    lines = iter(sparing(linked, bare, room, utf16))
    return [(name, [*islice(lines, len(part.cards))]) for name, part in zip(names, message.sections, strict=True)]


def _digest_line(card: Card, limit: int, *, meta: bool, feed: bool) -> str:
    parts = [_title_link(card, limit)]
    if meta:
        parts += [escape(meta_line(card)), escape(cut(card.feed_title, FEED_TITLE, utf16)) if feed else ""]
    return "- " + " · ".join(filter(None, parts))


def _title_link(card: Card, limit: int) -> str:
    title = cut(card.title, limit, utf16)
    host = escape(f" ({card.host})") if card.host else ""
    return (masked_link(title, card.link) if card.link else escape(title)) + host


def masked_link(text: str, url: str) -> str:
    """Return a link with a label; shown beside its label where Discord would not take that as one."""
    if text == url:
        return f"<{url}>"
    if "://" in text or "[" in text or "]" in text:
        return f"{escape(text)} <{url}>"
    return f"[{escape(text)}]({url.replace('(', '%28').replace(')', '%29')})"


def _more(count: int, url: str | None) -> str:
    if not count:
        return ""
    return f"{more_words(count)}: <{url}>" if url else more_words(count)


def markdown(blocks: Sequence[Block]) -> str:
    """Return blocks as Markdown, everything in them but our own marks escaped."""
    return "\n".join(filter(None, map(_block, blocks)))


def _block(block: Block) -> str:
    match block:
        case Paragraph():
            return _spans(block.spans)
        case Quote():
            return "\n".join(f"> {line}" for line in _spans(block.spans).split("\n"))
        case Preformatted():
            return escape(block.text) if "```" in block.text else f"```\n{block.text}\n```"
        case Bullets():
            marks = (f"{number}." if block.ordered else "-" for number in range(1, len(block.items) + 1))
            return "\n".join(f"{mark} {_spans(item)}" for mark, item in zip(marks, block.items, strict=False))


def _spans(spans: Sequence[Span]) -> str:
    shown = ""
    for span in spans:
        piece = _span(span)
        if shown.endswith("*") and piece.startswith("*") and isinstance(span, Text):
            # Discord would take the asterisks of both for one mark, and show what is left of them.
            piece = _span(replace(span, bold=False, italic=False))
        shown += piece
    return shown


def _span(span: Span) -> str:
    # A mention in an embed pings nobody; it stands in the content.
    if isinstance(span, Mention):
        return escape(span.literal)
    text = span.text
    if span.code and text.strip() and "`" not in text and "\n" not in text:
        return f"`{text}`"
    words = text.strip()
    if not words or "\n" in words:
        return escape(text)
    start = text[: len(text) - len(text.lstrip())]
    end = text[len(text.rstrip()) :]
    return f"{start}{_styled(words, span)}{end}"


def _styled(words: str, span: Text) -> str:
    shown = masked_link(words, span.href) if span.href else escape(words)
    for on, mark in ((span.bold, "**"), (span.italic, "*"), (span.strike, "~~")):
        shown = f"{mark}{shown}{mark}" if on else shown
    return shown


def _size(blocks: tuple[Block, ...]) -> int:
    return utf16(markdown(blocks))


def _counted(embed: Json) -> int:
    footer = embed.get("footer")
    texts = (embed.get("title"), embed.get("description"), footer.get("text") if isinstance(footer, dict) else None)
    return sum(utf16(text) for text in texts if isinstance(text, str))


def _embeddable(url: str) -> bool:
    """Whether Discord takes `url` in an embed: it wants a dot in the host, and at most 2,048 characters."""
    host = urlsplit(url).hostname or ""
    return len(url) <= 2_048 and ("." in host.strip(".") or ":" in host)
