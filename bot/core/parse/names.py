"""Element names as one spelling: the core of RSS and Atom bare, modules by their usual prefix."""

# Namespaces without what senders get wrong: the scheme, and a slash or "#" at the end.
_CORE = (
    "backend.userland.com/rss",
    "blogs.law.harvard.edu/tech/rss",
    "purl.org/rss/1.0",
    "my.netscape.com/rdf/simple/0.9",
    "purl.org/rss/2.0",
    "purl.org/net/rss1.1",
)
_IN_CORE = "/modules/"  # below the address of RSS 1.0, but names of their own
_MODULES = {
    "www.w3.org/2005/atom": "atom",
    "purl.org/atom/ns": "atom",
    "purl.org/dc/elements/1.1": "dc",
    "purl.org/dc/elements/1.0": "dc",
    "purl.org/dc/terms": "dcterms",
    "purl.org/rss/1.0/modules/content": "content",
    "purl.org/rss/1.0/modules/syndication": "sy",
    "search.yahoo.com/mrss": "media",
    "www.itunes.com/dtds/podcast-1.0.dtd": "itunes",
    "www.w3.org/1999/02/22-rdf-syntax-ns": "rdf",
    "www.w3.org/1999/xhtml": "xhtml",
    "purl.org/syndication/history/1.0": "fh",
}


def module_of(uri: str) -> str:
    """Return the usual prefix of a namespace: "" for the core of RSS, "atom" for Atom, "?" for an unknown one."""
    bare = uri.strip().lower().removeprefix("https://").removeprefix("http://").rstrip("/#")
    if not bare or (bare.startswith(_CORE) and _IN_CORE not in bare):
        return ""
    return _MODULES.get(bare, "?")


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
