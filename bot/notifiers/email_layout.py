"""Messages as mail: what to read as text and as HTML, and the headers that say whence it comes.

The HTML is built by escaping alone: no markup of a feed gets in, and nothing is loaded from anywhere.
"""

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC
from email.utils import format_datetime, formataddr, parseaddr, quote
from html import escape

from bot.core.model.message import (
    Block,
    Bullets,
    Card,
    JsonValue,
    Mention,
    Message,
    Paragraph,
    Payload,
    Preformatted,
    Quote,
    Span,
)
from bot.core.render import block_lines
from bot.core.text.characters import one_line
from bot.core.text.graphemes import cut
from bot.notifiers.email_wire import ascii_address
from bot.notifiers.fit import link_below, meta_line, plain_text, shown_title, written_out

NAME = 200  # characters of a display name
SUBJECT = 1_000  # as long as a title may be
LIMIT = 1_000_000  # of a text part; a digest of fifty is far below
MAX_URL = 900  # of a header line that must not be folded; 998 is the limit (RFC 5322)

_STYLE = (
    "body{margin:0;padding:1.5em;font:16px/1.5 system-ui,sans-serif;color:#1a1a1a;background:#fff}"
    "main{max-width:40em;margin:auto;overflow-wrap:anywhere}h1{font-size:1.25em;line-height:1.3;margin:0 0 .3em}"
    "h2{font-size:1em;margin:1.5em 0 .3em}h3{font-size:1em;margin:1em 0 .2em}"
    ".meta,footer{color:#5f5f5f;font-size:.875em;margin:.2em 0 1em}footer{margin-top:2em}"
    "a{color:#0b57d0}pre{white-space:pre-wrap;background:#f2f2f2;padding:.7em}"
    "blockquote{margin:0 0 1em;padding-left:.8em;border-left:3px solid #ccc}"
    "@media(prefers-color-scheme:dark){body{color:#e8e8e8;background:#1b1b1b}.meta,footer{color:#a8a8a8}"
    "a{color:#8ab4f8}pre{background:#2a2a2a}}"
)


def to_payload(message: Message, *, sender: str, plain: bool = False) -> Payload:
    """Return headers as people read them, and the bodies. `sender`: the configured From, with or without a name."""
    text = plain_text(message, LIMIT, title=SUBJECT) if plain else _text(message)
    headers: dict[str, JsonValue] = {**_headers(message, sender)}
    return {"headers": headers, "text": text, **({} if plain else {"html": _html(message)})}


def domain_of(sender: str) -> str:
    """Return the domain of an address, in ASCII."""
    domain = parseaddr(sender)[1].rpartition("@")[2]
    try:
        return domain.encode("idna").decode("ascii")
    except UnicodeError:
        return "localhost"


def _headers(message: Message, sender: str) -> dict[str, str]:
    name, address = parseaddr(sender)
    address, domain = ascii_address(address), domain_of(sender)
    shown = cut(one_line(name or message.feed_title or "feedbell"), NAME)
    headers = {
        "From": formataddr((shown, address), charset="utf-8") if shown.isascii() else f'"{quote(shown)}" <{address}>',
        "Subject": _subject(message),
        "Date": format_datetime(message.created_at.astimezone(UTC)),
        "Auto-Submitted": "auto-generated",
        "Precedence": "bulk",
    }
    if message.feed_id is not None:
        slug = re.sub(r"[^a-z0-9-]+", "-", message.feed_id.lower()).strip("-") or "feed"
        headers["List-Id"] = f"<{slug[:100]}.{domain}>"
    if message.reply_to:
        headers["In-Reply-To"] = headers["References"] = message.reply_to
    elif message.feed_id is not None:
        # No mail has this id: it only ties a feed's mails into one thread.
        digest = hashlib.sha256(message.feed_id.encode("utf-8", "replace")).hexdigest()[:16]
        headers["References"] = f"<feed.{digest}@{domain}>"
    url = message.unsubscribe_url
    if url and url.isascii() and len(url) <= MAX_URL:
        headers["List-Unsubscribe"] = f"<{url}>"
        headers["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    return headers


def _subject(message: Message) -> str:
    if message.cards:
        subject = message.cards[0].title
        return cut(f"Re: {subject}" if message.reply_to else subject, SUBJECT)
    if message.heading:
        return cut(one_line(message.heading), SUBJECT)
    first = next((line for line in block_lines(message.blocks) if line.strip()), "a message")
    return cut(one_line(f"feedbell: {first}"), 150)


# --- text --------------------------------------------------------------------------------------------------------


def _text(message: Message) -> str:
    parts = [message.heading] if message.heading and not message.cards else []
    parts += ["\n".join(block_lines(message.blocks))]
    parts += [_text_card(card) for card in message.cards]
    for section in message.sections:
        parts += [f"== {section.heading} =="] if section.heading else []
        parts += [_text_card(card) for card in section.cards]
    parts.append("\n".join(("-- ", *_footer_lines(message))))
    return "\n\n".join(part for part in parts if part) + "\n"


def _text_card(card: Card) -> str:
    if card.custom is not None:
        return "\n".join(written_out(card.custom))
    head = "\n".join(filter(None, (shown_title(card), meta_line(card), link_below(card))))
    return "\n\n".join(filter(None, (head, "\n\n".join("\n".join(block_lines([block])) for block in card.body))))


def _footer_lines(message: Message) -> list[str]:
    lines = [message.feed_title or "feedbell"]
    if message.unsubscribe_url:
        lines.append(f"Unsubscribe: {message.unsubscribe_url}")
    return lines


# --- HTML --------------------------------------------------------------------------------------------------------


def _html(message: Message) -> str:
    title = escape(_subject(message))
    body = [f"<h1>{escape(message.heading)}</h1>"] if message.heading and not message.cards else []
    body += _html_blocks(message.blocks)
    for card in message.cards:
        body += _html_card(card, "h1")
    for section in message.sections:
        body += [f'<h2 dir="auto">{escape(section.heading)}</h2>'] if section.heading else []
        for card in section.cards:
            body += _html_card(card, "h3" if section.heading else "h2" if message.heading else "h1")
    body.append(_html_footer(message))
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{title}</title><style>{_STYLE}</style>"
    )
    inner = "\n".join(body)
    return f'<!DOCTYPE html>\n<html lang=""><head>{head}</head>\n<body><main>\n{inner}\n</main></body></html>\n'


def _html_card(card: Card, level: str) -> list[str]:
    if card.custom is not None:
        return _html_blocks(card.custom)
    title = escape(card.title)
    head = _anchor(card.link, title) if card.link else title
    host = f" ({escape(card.host)})" if card.host else ""
    lines = [f'<{level} dir="auto">{head}{host}</{level}>']
    if meta := meta_line(card):
        lines.append(f'<p class="meta" dir="auto">{escape(meta)}</p>')
    return [*lines, *_html_blocks(card.body)]


def _html_footer(message: Message) -> str:
    lines = [f'<span dir="auto">{escape(message.feed_title or "feedbell")}</span>']
    if message.unsubscribe_url:
        lines.append(_anchor(message.unsubscribe_url, "Unsubscribe"))
    return f"<footer>{' · '.join(lines)}</footer>"


def _html_blocks(blocks: Sequence[Block]) -> list[str]:
    return [_html_block(block) for block in blocks]


def _html_block(block: Block) -> str:
    match block:
        case Paragraph():
            return f'<p dir="auto">{_html_spans(block.spans)}</p>'
        case Quote():
            return f'<blockquote dir="auto">{_html_spans(block.spans)}</blockquote>'
        case Preformatted():
            return f"<pre>{escape(block.text)}</pre>"
        case Bullets():
            name = "ol" if block.ordered else "ul"
            items = "".join(f'<li dir="auto">{_html_spans(item)}</li>' for item in block.items)
            return f"<{name}>{items}</{name}>"


def _html_spans(spans: Sequence[Span]) -> str:
    return "".join(_html_span(span) for span in spans)


def _html_span(span: Span) -> str:
    if isinstance(span, Mention):
        return escape(span.literal)
    shown = escape(span.text).replace("\n", "<br>")
    for on, tag in ((span.code, "code"), (span.bold, "strong"), (span.italic, "em"), (span.strike, "s")):
        shown = f"<{tag}>{shown}</{tag}>" if on else shown
    return _anchor(span.href, shown) if span.href else shown


def _anchor(url: str, inner: str) -> str:
    # Brackets belong to a host alone (RFC 3986, 3.2.2); feeds write them anywhere.
    start = url.find("/", len("https://"))
    if start > 0:
        url = url[:start] + url[start:].replace("[", "%5B").replace("]", "%5D")
    return f'<a href="{escape(url)}">{inner}</a>'
