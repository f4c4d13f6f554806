"""One choice of encoding for a whole document."""

import pytest

from tests.core.documents import entries, first, read, rss

CZECH = "Přehled týdne"


def declared(encoding: str, title: str) -> bytes:
    body = rss(f"<guid>1</guid><title>{title}</title>").replace("?>", f' encoding="{encoding}"?>', 1)
    return body.encode(encoding)


@pytest.mark.parametrize(
    ("encoding", "title"),
    [
        ("utf-8", CZECH),
        ("iso-8859-2", CZECH),
        ("windows-1251", "Новости"),
        ("koi8-r", "Новости"),
        ("shift_jis", "表示テスト"),
        ("euc-jp", "日本語"),
        ("euc-kr", "한국어"),
        ("big5", "中文"),
        ("gb2312", "中文"),
        ("iso-8859-1", "café"),
    ],
)
def test_a_declared_encoding_is_used(encoding: str, title: str) -> None:
    assert first(declared(encoding, title), content_type="text/xml").title == title
    assert first(declared(encoding, title), content_type=f"text/xml; charset={encoding}").title == title


@pytest.mark.parametrize(
    ("label", "encoding", "title"), [("big5", "big5hkscs", "裏面恒碁"), ("euc-jp", "euc_jis_2004", "㈱日本①")]
)
def test_an_encoding_is_read_with_the_characters_that_its_senders_added(label: str, encoding: str, title: str) -> None:
    body = rss(f"<guid>1</guid><title>{title}</title>").replace("?>", f' encoding="{label}"?>', 1)
    assert first(body.encode(encoding), content_type="text/xml").title == title


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_encodings_are_seen_with_and_without_a_mark(encoding: str) -> None:
    body = rss(f"<guid>1</guid><title>{CZECH}</title>")
    for content_type in ("text/xml", "text/xml; charset=utf-8"):
        assert first(body.encode(encoding), content_type=content_type).title == CZECH
        assert first(("\ufeff" + body).encode(encoding), content_type=content_type).title == CZECH


def test_only_the_bad_bytes_of_utf8_are_replaced() -> None:
    body = rss("<title>a\udcffb</title>", f"<title>{CZECH} týdne</title>").encode("utf-8", "surrogateescape")
    titles = [entry.title for entry in entries(read(body, content_type="text/xml; charset=utf-8"))]
    assert titles == ["a\ufffdb", f"{CZECH} týdne"]


def test_western_bytes_that_claim_to_be_utf8_are_read_as_western() -> None:
    body = rss("<title>caf\xe9 \x80 \x81</title>").encode("latin-1")
    assert first(body, content_type="text/xml; charset=utf-8").title == "café €"
    assert first(b"\xef\xbb\xbf" + body).title == "café €"


def test_utf8_that_claims_to_be_western_is_read_as_utf8() -> None:
    body = rss("<title>café</title>").replace("?>", ' encoding="iso-8859-1"?>', 1).encode()
    assert first(body).title == "café"


def test_header_and_declaration_that_differ_are_settled_by_the_bytes() -> None:
    utf8 = declared("utf-8", CZECH)
    assert first(utf8, content_type="text/xml; charset=iso-8859-1").title == CZECH
    korean = rss("<title>한국어</title>").replace("?>", ' encoding="utf-8"?>', 1).encode("euc-kr")
    assert first(korean, content_type="text/xml; charset=euc-kr").title == "한국어"


@pytest.mark.parametrize("encoding", ["x-klingon", "utf-7", "rot13", "unicode_escape", "utf-16", "zip", "\x00"])
def test_an_encoding_that_is_none_counts_as_not_declared(encoding: str) -> None:
    body = rss(f"<title>{CZECH}</title>").replace("?>", f' encoding="{encoding}"?>', 1).encode()
    assert first(body, content_type="text/xml; charset=" + encoding).title == CZECH


def test_bytes_that_fit_no_declared_encoding_are_still_read() -> None:
    body = rss(f"<title>{CZECH}</title>").encode()
    assert first(body, content_type="text/xml; charset=euc-jp").title == CZECH
    broken = rss("<guid>1</guid><title>\udcff\udcff</title>").encode("utf-8", "surrogateescape")
    assert first(broken, content_type="text/xml; charset=euc-jp").guid == "1"


def test_control_characters_do_not_get_past_the_decoder() -> None:
    assert first(rss("<guid>a\x00b\x1fc</guid><title>\x08x\x0b</title>")).guid == "abc"
