"""Element names as one spelling: the core of RSS and Atom bare, modules by their usual prefix."""

_CORE = (
    "http://backend.userland.com/rss",
    "http://blogs.law.harvard.edu/tech/rss",
    "http://purl.org/rss/1.0/",
    "http://my.netscape.com/rdf/simple/0.9/",
    "http://purl.org/rss/2.0/",
    "http://purl.org/net/rss1.1#",
)
_ATOM = ("http://www.w3.org/2005/atom", "http://purl.org/atom/ns#")
_MODULES = {
    "http://purl.org/dc/elements/1.1/": "dc",
    "http://purl.org/dc/elements/1.0/": "dc",
    "http://purl.org/dc/terms/": "dcterms",
    "http://purl.org/rss/1.0/modules/content/": "content",
    "http://purl.org/rss/1.0/modules/syndication/": "sy",
    "http://search.yahoo.com/mrss": "media",
    "http://search.yahoo.com/mrss/": "media",
    "http://www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    "http://www.w3.org/1999/02/22-rdf-syntax-ns#": "rdf",
    "http://www.w3.org/1999/xhtml": "xhtml",
    "http://purl.org/syndication/history/1.0": "fh",
}


def module_of(uri: str) -> str:
    """Return the usual prefix of a namespace: "" for the core of RSS, "atom" for Atom, "?" for an unknown one."""
    lower = uri.strip().lower()
    if not lower or lower.startswith(_CORE):
        return ""
    if lower in _ATOM:
        return "atom"
    return _MODULES.get(lower, "?")


def canonical(raw: str, scope: dict[str, str], core: str) -> str:
    """Return the one spelling of the raw name `raw`.

    `scope` maps prefixes to modules; `core` is the module of the root, whose elements are bare.
    An undeclared prefix speaks for itself: senders who forget it mean the usual one.
    """
    prefix, colon, local = raw.rpartition(":")
    module = scope.get(prefix.lower(), prefix.lower() if colon else "")
    if module in ("", core):
        return local.lower()
    return f"{module}:{local.lower()}"
