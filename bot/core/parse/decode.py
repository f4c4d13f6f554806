"""Bytes -> text: one choice of encoding for the whole document, bad bytes replaced one by one (RFC 7303, WHATWG)."""

import codecs
import re
import zlib
from dataclasses import dataclass

from bot.core.errors import NotAFeed

MAX_BEFORE = 4_000  # bytes in which an XML declaration is looked for
MAX_UNPACKED = 20_000_000  # bytes; the same limit that the fetcher keeps for Content-Encoding

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# The first character of a document is "<" or "{": its zero bytes give wide encodings away without a BOM.
_WIDE = ((b"<\0\0\0", "utf-32-le"), (b"\0\0\0<", "utf-32-be"), (b"<\0", "utf-16-le"), (b"\0<", "utf-16-be"))
# A comment or a script's warning may stand before the declaration, which is then no declaration by the letter.
_DECLARED = re.compile(rb"""<\?xml\s[^>]{0,200}?encoding\s*=\s*["']\s*([A-Za-z0-9._:-]{1,40})""")
_ROOT = re.compile(rb"<(?:\w{1,40}:)?(?:rss|feed|rdf|channel)[\s>]", re.IGNORECASE)
_CHARSET = re.compile(r"""charset\s*=\s*["']?\s*([A-Za-z0-9._:-]{1,40})""", re.IGNORECASE)
# Labels whose senders mean the larger set (WHATWG encoding standard); Python takes them by the letter.
_MEANT = {
    "ascii": "cp1252",
    "us-ascii": "cp1252",
    "iso8859-1": "cp1252",
    "latin-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "euc_jp": "euc_jis_2004",
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "iso8859-9": "cp1254",
    "tis-620": "cp874",
    "utf-16": "utf-16-le",
    "utf-32": "utf-32-le",
}
_REAL = re.compile(
    r"(utf-(8|16|32)|iso8859-\d+|cp\d+|koi8-|gb|big5|euc_|shift_jis|iso2022_|mac-|tis-620|hz|johab|ascii|latin)"
)
_ONE_BYTE = ("cp125", "iso8859", "koi8")
_GOOD = re.compile("[\u0080-\U0010ffff]")
# XML 1.0 allows no other control characters; a lone surrogate cannot be written anywhere.
_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Charset:
    """How a document is decoded, decided once from all of its bytes."""

    name: str
    strict: bool  # no byte needs to be replaced
    bom: int = 0  # length of the byte order mark


def unpacked(body: bytes) -> bytes:
    """Return `body`, gunzipped where a server sends a file in .gz form without saying so."""
    if body[:2] != b"\x1f\x8b":
        return body
    try:
        stream = zlib.decompressobj(wbits=31)
        plain = stream.decompress(body, MAX_UNPACKED)
    except zlib.error as error:
        raise NotAFeed("gzip data that cannot be read") from error
    if not stream.eof:
        raise NotAFeed("gzip data that is cut off or too large")
    return plain


def charset_of(body: bytes, content_type: str | None) -> Charset:
    """Choose the encoding: BOM, what the bytes prove, the HTTP header, the XML declaration, UTF-8."""
    for bom, name in _BOMS:
        if body.startswith(bom):
            if name == "utf-8":
                chosen = _utf8_or_western(body)
                return Charset(name=chosen.name, strict=chosen.strict, bom=len(bom))
            return Charset(name=name, strict=_decodes(body, name), bom=len(bom))
    for start, name in _WIDE:
        if body.lstrip(b" \t\r\n").startswith(start):
            return Charset(name=name, strict=_decodes(body, name))
    names = [name for name in (_from_header(content_type), _from_declaration(body)) if name]
    if not names or "utf-8" in names:
        # Where header and declaration differ one of them lies, and long text never passes as UTF-8 by accident.
        return _utf8_or_western(body) if len(set(names)) < 2 or _decodes(body, "utf-8") else _first(body, names)
    return _first(body, names)


def decode(body: bytes, charset: Charset) -> str:
    """Return the text, without BOMs and without the characters that XML forbids; line ends are `\\n`."""
    text = body[charset.bom :].decode(charset.name, "replace")
    if charset.name == "cp1252" and "\ufffd" in text:
        text = _western(body[charset.bom :])
    text = text.lstrip("\ufeff").replace("\r\n", "\n")
    return _FORBIDDEN.sub("", text)


def _first(body: bytes, names: list[str]) -> Charset:
    # Text in a one-byte encoding practically never is valid UTF-8; that it was declared so is a wrong default.
    if names[0].startswith(_ONE_BYTE) and not body.isascii() and _decodes(body, "utf-8"):
        return Charset(name="utf-8", strict=True)
    for name in names:
        if _decodes(body, name):
            return Charset(name=name, strict=True)
    if "utf-8" not in names and _decodes(body, "utf-8"):
        return Charset(name="utf-8", strict=True)
    return Charset(name=names[0], strict=False)


def _utf8_or_western(body: bytes) -> Charset:
    """UTF-8 if the bytes are, or are mostly; else they come from a time before it."""
    if _decodes(body, "utf-8"):
        return Charset(name="utf-8", strict=True)
    text = body.decode("utf-8", "replace")
    bad = text.count("\ufffd")
    good = sum(1 for _ in _GOOD.finditer(text)) - bad
    return Charset(name="utf-8" if good > bad else "cp1252", strict=False)


def _western(body: bytes) -> str:
    """Windows-1252 with the five holes of Python's table filled, as browsers do."""
    return "".join(
        piece.decode("cp1252", "replace") if at % 2 == 0 else piece.decode("latin-1")
        for at, piece in enumerate(re.split(rb"([\x81\x8d\x8f\x90\x9d]+)", body))
    )


def _from_header(content_type: str | None) -> str | None:
    match = _CHARSET.search(content_type or "")
    return _known(match.group(1)) if match else None


def _from_declaration(body: bytes) -> str | None:
    root = _ROOT.search(body, 0, MAX_BEFORE)
    match = _DECLARED.search(body, 0, root.start() if root else MAX_BEFORE)
    name = _known(match.group(1).decode("ascii")) if match else None
    # The declaration was readable byte by byte, so a wide encoding it names is a lie.
    return None if name and name.startswith(("utf-16", "utf-32")) else name


def _known(label: str) -> str | None:
    try:
        # "x-sjis", "x-gbk": labels of old browsers.
        name = codecs.lookup(re.sub("^x-", "", label, flags=re.IGNORECASE)).name
    except (LookupError, ValueError):
        return None
    if not _REAL.match(name):  # Python's text transforms, and UTF-7, which hides markup
        return None
    return _MEANT.get(name, name)


def _decodes(body: bytes, name: str) -> bool:
    try:
        body.decode(name)
    except UnicodeDecodeError:
        return False
    return True
