"""What makes an entry the same entry: keys and aliases (N1 to N10)."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.identity import bare_url, canonical_url, fingerprint, identify, identify_document, key_of
from bot.core.model.entry import Identity, Key, Listed, ParsedEntry


def entry(guid: str | None = None, link: str | None = None, title: str = "", **rest: object) -> ParsedEntry:
    return ParsedEntry(guid=guid, link=link, title=title, **rest)  # type: ignore[arg-type]


def names(parsed: ParsedEntry) -> Identity:
    identity = identify(parsed)
    assert identity is not None
    return identity


def test_the_guid_is_the_key_whatever_else_changes() -> None:
    before = entry("g", "https://e.org/a", "Old", text="old", published=datetime(2026, 9, 16, tzinfo=UTC))
    assert key_of(before) == key_of(entry("g", "https://e.org/b", "New"))
    assert len(names(before).key) == 16


@pytest.mark.parametrize(("one", "other"), [("ABC", "abc"), ("0", "00"), ("café", "cafe\u0301"), ("a", "a ")])
def test_guids_are_compared_byte_for_byte(one: str, other: str) -> None:
    assert key_of(entry(one)) != key_of(entry(other))


def test_without_a_guid_the_link_counts_then_the_enclosure_then_the_words() -> None:
    assert key_of(entry(None, "http://e.org/a/")) == key_of(entry(None, "https://e.org/a"))
    assert key_of(entry(None, None, enclosure="https://e.org/a.mp3")) is not None
    assert key_of(entry(title="t", text="x")) == key_of(entry(title="t", text="x"))
    assert key_of(entry(title="t", raw_date="1")) != key_of(entry(title="t", raw_date="2"))


def test_an_item_with_nothing_has_no_name() -> None:
    assert identify(entry()) is None
    assert identify(entry(raw_date="Wed, 16 Sep 2026 08:00:00 +0000")) is None
    assert fingerprint(entry("g")) is None


def test_an_entry_whose_guid_goes_away_is_known_by_its_link() -> None:
    assert names(entry("tag:e.org,2026:7", "https://e.org/7/")).link_alias == names(entry(None, "https://e.org/7/")).key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://e.org/a", "https://e.org/a"),
        ("https://www.e.org/a", "https://e.org/a/"),
        ("https://E.org:443/a?utm_source=x", "https://e.org/a"),
        ("https://e.org:\ufeff443/a", "https://e.org/a"),
        ("https://e.org:443:80./a", "https://e.org/a"),
        ("https://e.org/?p=1&fbclid=2", "https://e.org?p=1"),
        ("HTTPS://e.org/%7Ea", "https://e.org/~a"),
    ],
)
def test_a_guid_that_is_a_url_is_known_again_in_another_dress(one: str, other: str) -> None:
    assert names(entry(one)).key != names(entry(other)).key
    assert names(entry(one)).guid_alias == names(entry(other)).guid_alias


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://e.org/?p=1", "https://e.org/?p=2"),
        ("https://e.org/#v1.2", "https://e.org/#v1.3"),
        ("https://e.org/a", "https://e.org/A"),
        ("https://e.org/a?b=1&c=2", "https://e.org/a?c=2&b=1"),
        ("https://e.org/a%2Fb", "https://e.org/a/b"),
        ("https://e.org:8080/a", "https://e.org/a"),
    ],
)
def test_what_tells_pages_apart_stays_in_the_canonical_link(one: str, other: str) -> None:
    assert canonical_url(one) != canonical_url(other)


@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("http://WWW.E.org:80/A/?utm_campaign=x&b=%2f#f", "https://www.e.org/A?b=%2F#f"),
        ("https://bücher.example/ä", "https://xn--bcher-kva.example/%C3%A4"),
        ("https://e.org", "https://e.org"),
        ("https://e.org?", "https://e.org"),
        ("https://e.org./a", "https://e.org/a"),
        ("ftp://e.org/", "ftp://e.org/"),
        ("https:///x", "https:///x"),
        ("https://[broken/", "https://[broken/"),
        ("https://\u2100.example/a", "https://\u2100.example/a"),
    ],
)
def test_canonical_links(url: str, canonical: str) -> None:
    assert canonical_url(url) == canonical


def test_a_host_that_no_name_server_could_know_is_encoded_as_it_is() -> None:
    assert canonical_url("https://" + "ä" * 80 + ".example/").startswith("https://%C3%A4")


PARTS = st.text(alphabet="aZ09-._~/%2Fé \u202e&=?:@+", max_size=20)


@given(path=PARTS, query=PARTS, fragment=PARTS)
def test_canonical_links_are_idempotent(path: str, query: str, fragment: str) -> None:
    once = canonical_url(f"http://Blog.example/{path}?{query}#{fragment}")
    assert canonical_url(once) == once


WORDS = st.text(alphabet="abcXYZ019-_~", min_size=1, max_size=12)


@given(
    host=st.sampled_from(["blog.example", "Blog.Example", "www.blog.example", "blog.example:443"]),
    scheme=st.sampled_from(["http", "https", "HTTPS"]),
    path=st.lists(WORDS, min_size=1, max_size=3),
    slash=st.sampled_from(["", "/"]),
    tracking=st.sampled_from(["", "?utm_source=rss", "?fbclid=1&utm_medium=x"]),
)
def test_keys_are_stable_under_scheme_host_slash_and_tracking(
    host: str, scheme: str, path: list[str], slash: str, tracking: str
) -> None:
    plain = f"https://blog.example/{'/'.join(path)}"
    dressed = f"{scheme}://{host}/{'/'.join(path)}{slash}{tracking}"
    assert bare_url(dressed) == bare_url(plain)
    assert names(entry(dressed)).guid_alias == names(entry(plain)).guid_alias
    if "www" not in host:
        assert canonical_url(dressed.replace("HTTPS", "https")) == canonical_url(plain)


@given(st.permutations([entry("a", "https://e.org/1"), entry("a", "https://e.org/2"), entry("b", "https://e.org/3")]))
def test_keys_never_depend_on_the_place_in_the_document(items: list[ParsedEntry]) -> None:
    found = identify_document(items)
    assert found.guids_shared
    for item, identity in zip(items, found.identities, strict=True):
        assert identity == identify_document([*reversed(items)]).identities[len(items) - 1 - items.index(item)]


def test_equal_guid_link_and_title_are_one_entry() -> None:
    found = identify_document([entry("g", "https://e.org/a", "t"), entry("g", "https://e.org/a/", "t")])
    assert not found.guids_shared
    assert not found.links_shared
    assert len({identity.key for identity in found.identities if identity}) == 1


def test_a_shared_guid_takes_the_link_into_the_key_for_good() -> None:
    items = [entry("g", "https://e.org/a", "t"), entry("g", "https://e.org/b", "t")]
    found = identify_document(items)
    keys = [identity.key for identity in found.identities if identity]
    assert found.guids_shared
    assert len(set(keys)) == 2
    alone = identify_document(items[:1], guids_shared=True)
    assert alone.identities[0] is not None
    assert alone.identities[0].key == keys[0]


def test_the_document_that_changes_the_policy_knows_its_items_by_their_former_keys() -> None:
    items = [entry("g", "https://e.org/a"), entry("g", "https://e.org/b"), entry("h", "https://e.org/c")]
    found = identify_document(items)
    for item, identity in zip(items, found.identities, strict=True):
        assert identity is not None
        assert key_of(item) in identity.hashes
    again = identify_document(items, guids_shared=True)
    assert [i.guid_alias for i in again.identities if i] == [None, None, None]


def test_where_guid_and_link_are_shared_the_words_decide() -> None:
    found = identify_document([entry("g", "https://e.org/", "one"), entry("g", "https://e.org/", "two")])
    assert found.guids_shared
    assert found.links_shared
    assert len({identity.key for identity in found.identities if identity}) == 2


def test_items_without_guids_that_share_a_link_are_told_apart_by_their_words() -> None:
    found = identify_document([entry(None, "https://e.org/", "one"), entry(None, "https://e.org/", "two")])
    assert len({identity.key for identity in found.identities if identity}) == 2


def test_a_link_on_two_guids_identifies_nothing() -> None:
    found = identify_document([entry("a", "https://status.example/"), entry("b", "https://status.example/")])
    assert found.links_shared
    assert not found.guids_shared
    assert all(identity is not None and identity.link_alias is None for identity in found.identities)
    assert identify_document([entry("c", "https://status.example/")], links_shared=True).links_shared


def test_on_the_feeds_own_page_entries_are_told_apart_by_their_words() -> None:
    def alias(title: str, link: str = "https://status.example/") -> Key | None:
        [identity] = identify_document([entry(title, link, title)], home="http://status.example").identities
        return identity.link_alias if identity is not None else None

    assert alias("down") == alias("down") != alias("up")
    assert alias("down", "https://status.example/1") == alias("up", "https://status.example/1")


def test_guids_that_differ_only_in_what_an_alias_ignores_stay_apart() -> None:
    found = identify_document([entry("https://e.org/p"), entry("https://e.org/p/"), entry("https://e.org/q")])
    aliases = [identity.guid_alias for identity in found.identities if identity]
    assert aliases[:2] == [None, None]
    assert aliases[2] is not None


def test_items_known_by_their_bytes_keep_their_keys_and_nameless_ones_have_none() -> None:
    found = identify_document([Listed(bytes_hash=b"h" * 16, key=Key(b"k" * 16)), entry(), entry("g")])
    assert found.identities[0] == Identity(key=Key(b"k" * 16))
    assert found.identities[1] is None
    assert found.identities[2] is not None


def test_keys_are_the_ones_that_are_stored() -> None:
    """A change here announces every entry of every feed anew: raise KEY_VERSION and re-key instead (N9)."""
    assert names(entry("https://e.org/1")).key.hex() == "f97437c0d524132bdcc52a2f43711c77"
