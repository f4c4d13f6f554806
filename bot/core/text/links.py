"""Links as people see them: which may be clicked, which host they lead to, and when a text hides that (T11)."""

import re
import unicodedata
from urllib.parse import urljoin, urlsplit

MAX_URL = 2_000  # longer ones break mail clients and chat platforms
_UNSAFE = re.compile(
    "[\x00-\x20\x7f-\xa0\u00ad\u034f\u061c\u115f-\u1160\u180e\u200b-\u200f\u2028-\u202f"
    "\u2060-\u206f\u3000\u3164\ufeff\ufff9-\uffff\ud800-\udfff<>\"'\\\\^`{|}]"
)
_AROUND = " \t\r\n\x0b\x0c\u00a0\u200b\ufeff"  # what editors leave at the ends of what is pasted
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_HOST_IN_TEXT = re.compile(r"(?:https?://|www\.|@)?((?:[\w-]+\.)+[^\W\d_]{2,24})(?![\w-])", re.IGNORECASE)


# What templates write where there is no address; resolved, it would lead to a page that is none.
_NO_LINK = frozenset({"n/a", "na", "none", "null", "nil", "undefined", "false", "-", "--", "#", ".", "?"})


def http_url(raw: str | None, base: str | None = None) -> str | None:
    """Return `raw` as an absolute http(s) URL that cannot break out of any markup, or None.

    Dangerous characters are percent-encoded, user names are refused: `https://good@evil` reads
    as good and leads to evil. A relative one is resolved against `base`, if that is given.
    """
    url = (raw or "").strip(_AROUND)
    if not url or len(url) > MAX_URL:
        return None
    if not _SCHEME.match(url) or "://" not in url[:12]:
        if not base or _SCHEME.match(url) or url.casefold() in _NO_LINK:
            return None
        url = _joined(base, url)
    return _checked(url)


def _joined(base: str, url: str) -> str:
    try:
        return urljoin(base, url)
    except ValueError:
        return ""


def _checked(url: str) -> str | None:
    if url[:7].lower() != "http://" and url[:8].lower() != "https://":
        return None
    authority = re.split(r"[/?#]", url.split("://", 1)[1], maxsplit=1)[0]
    if not authority or _UNSAFE.search(authority) or "@" in authority:
        return None
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return None
    if not parts.hostname:
        return None
    encoded = _UNSAFE.sub(lambda m: "".join(f"%{b:02X}" for b in m.group().encode("utf-8", "replace")), url)
    return encoded if len(encoded) <= MAX_URL else None


def display_host(url: str | None) -> str | None:
    """Return the host of `url` as it is safe to show: punycode where scripts are mixed or look like Latin."""
    try:
        host = urlsplit(url or "").hostname
    except ValueError:
        return None
    if not host:
        return None
    host = host.removeprefix("www.")
    return ".".join(_display_label(label) for label in host.split("."))


def misleads(text: str, url: str | None) -> bool:
    """Whether `text`, shown as a link to `url`, names another host than the one it leads to."""
    host = display_host(url)
    if host is None:
        return False
    text = unicodedata.normalize("NFKC", text[:2_000])
    if "://" not in text and "." not in text:
        return False
    return any(not _same_site(found.lower(), host) for found in _HOST_IN_TEXT.findall(text) if _is_host(found))


def _same_site(named: str, host: str) -> bool:
    named = named.removeprefix("www.")
    return host == named or host.endswith("." + named)


# File names and code that look like hosts; a title with one of them is no disguise.
_NOT_HOSTS = frozenset(
    "py js md txt html htm php css json xml yaml yml toml sh rs go rb java exe pdf zip png jpg".split()
)


def _is_host(name: str) -> bool:
    return name.rsplit(".", 1)[-1].lower() not in _NOT_HOSTS


def _display_label(label: str) -> str:
    if label.isascii():
        return label
    scripts = {_script(char) for char in label if char.isalpha()}
    # A whole Cyrillic or Greek word may be drawn with Latin look-alikes alone.
    harmless = len(scripts) <= 1 and not scripts & {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}
    japanese = scripts <= {"CJK", "HIRAGANA", "KATAKANA"}
    if harmless or japanese:
        return label
    try:
        return label.encode("idna").decode("ascii")
    except UnicodeError:
        return "xn--" + label.encode("punycode").decode("ascii")


def _script(char: str) -> str:
    name = unicodedata.name(char, "UNKNOWN")
    return name.split(" ", 1)[0].split("-", 1)[0]
