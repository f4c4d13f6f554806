"""Dates as feeds write them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.core.parse.dates import parse_date


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)  # type: ignore[misc, arg-type]


@pytest.mark.parametrize(
    ("raw", "at"),
    [
        ("Wed, 16 Sep 2026 10:00:00 +0200", utc(2026, 9, 16, 8)),
        ("Wed, 16 Sep 2026 10:00:00 GMT", utc(2026, 9, 16, 10)),
        ("Wed, 16 Sep 2026 10:00:00 EST", utc(2026, 9, 16, 15)),
        ("Wed, 16 Sep 2026 10:00:00 BST", utc(2026, 9, 16, 9)),
        ("lör, 16 maj 2026 10:00:00 +0200", utc(2026, 5, 16, 8)),
        ("ons, 16 marts 2026 10:00 GMT", utc(2026, 3, 16, 10)),
        ("16 joulukuuta 2026 10:00 GMT", utc(2026, 12, 16, 10)),
        ("16 септември 2026 10:00 GMT", utc(2026, 9, 16, 10)),
        ("Wed, 16 Sep 2026 10:00:00 CEST", utc(2026, 9, 16, 8)),
        ("Wed, 16 Sep 2026 10:00:00 IST", utc(2026, 9, 16, 4, 30)),
        ("Wed, 16 Sep 2026 10:00:00 GMT+2", utc(2026, 9, 16, 8)),
        ("Wed, 16 Sep 2026 10:00:00 +02:00 (CEST)", utc(2026, 9, 16, 8)),
        ("Wed, 16 Sep 26 10:00:00 GMT", utc(2026, 9, 16, 10)),
        ("16 Sep 99 10:00 GMT", utc(1999, 9, 16, 10)),
        ("Wed, 16 Sep 2026 24:00:00 GMT", utc(2026, 9, 17)),
        ("Wed 16 Sep 2026 02:30 PM", utc(2026, 9, 16, 14, 30)),
        ("mer, 16 sep 2026 10:00:00 +0200", utc(2026, 9, 16, 8)),
        ("mié, 16 de septiembre de 2026 10:00", utc(2026, 9, 16, 10)),
        ("Mi, 16 März 2026 10:00:00 +0100", utc(2026, 3, 16, 9)),
        ("16. September 2026", utc(2026, 9, 16)),
        ("16 août 2026", utc(2026, 8, 16)),
        ("Ср, 16 сен 2026 10:00:00 +0300", utc(2026, 9, 16, 7)),
        ("September 16, 2026 10:00 AM", utc(2026, 9, 16, 10)),
        ("Wed Sep 16 10:00:00 2026", utc(2026, 9, 16, 10)),
        ("Wed Sep 16 10:00:00 UTC 2026", utc(2026, 9, 16, 10)),
        ("2026-09-16", utc(2026, 9, 16)),
        ("2026-09", utc(2026, 9, 1)),
        ("2026-09-16T10:00", utc(2026, 9, 16, 10)),
        ("2026-09-16T10:00:00.123456+02:00", utc(2026, 9, 16, 8)),
        ("2026-09-16T10:00:60Z", utc(2026, 9, 16, 10, 0, 59)),
        ("2026-09-16 10:00:00 -0700", utc(2026, 9, 16, 17)),
        ("2026/9/16 14:33:00", utc(2026, 9, 16, 14, 33)),
        ("20260916T100000Z", utc(2026, 9, 16, 10)),
        ("16/09/2026", utc(2026, 9, 16)),
        ("09/16/2026 10:00", utc(2026, 9, 16, 10)),
        ("04/04/2026", utc(2026, 4, 4)),
        ("16.09.2026 10:00", utc(2026, 9, 16, 10)),
        ("2026年9月16日 10:00", utc(2026, 9, 16, 10)),
        ("2026년 9월 16일", utc(2026, 9, 16)),
        ("2026-09-16 10:00:00 +0000 UTC", utc(2026, 9, 16, 10)),
        ("2026-09-16 10:00:00.123456789 +0200 CEST", utc(2026, 9, 16, 8)),
        ("Wed, 16 Sep 2026 10:00:00 +0000 GMT", utc(2026, 9, 16, 10)),
        ("2026-09-16T10:00:00+02:00[Europe/Berlin]", utc(2026, 9, 16, 8)),
        ("Wed, 2026-09-16 10:00:00", utc(2026, 9, 16, 10)),
        ("Çar, 16 Eyl 2026 10:00:00 +0300", utc(2026, 9, 16, 7)),
        ("16 Ağustos 2026", utc(2026, 8, 16)),
        ("St, 16 září 2026 10:00:00 +0200", utc(2026, 9, 16, 8)),
        ("ср, 16 вер 2026 10:00:00 +0300", utc(2026, 9, 16, 7)),
        ("Τετ, 16 Σεπ 2026 10:00:00 +0300", utc(2026, 9, 16, 7)),
        ("16 Μαΐου 2026", utc(2026, 5, 16)),
        ("Rab, 16 Agustus 2026", utc(2026, 8, 16)),
        ("16 iunie 2026", utc(2026, 6, 16)),
    ],
)
def test_dates_mean_one_moment(raw: str, at: datetime) -> None:
    found = parse_date(raw)
    assert found is not None
    assert found.at == at


@pytest.mark.parametrize(
    "raw",
    ["", "0", "yesterday", "1757000000", "2026-13-45T99:99:99Z", "2026-02-30T00:00:00Z", "Wed, 31 Feb 2026",
     "Wed, 16 Sep 2026 10:00:00 +9999", "Wed, 16 Sep 2026 10:00:00 +0199", "Wed, 16 Sep 2026 10:00:00 XYZ", "P1D",
     "3/4/2026", "-0001-01-01T00:00:00Z", "2026-W38-3", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-05:00",
     "16 Brumaire 2026", "16 Sep 2026 25:00", "16 Sep 2026 10:75", "16 Sep 2026 13:00 PM", "9" * 60, "9" * 200,
     "1970-01-01T00:00:00Z", "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 01 Jan 1970 01:00:00 +0100"],
)  # fmt: skip
def test_a_date_that_is_wrong_or_ambiguous_is_none(raw: str) -> None:
    assert parse_date(raw) is None


@pytest.mark.parametrize(
    ("raw", "has_time"),
    [("2026-09-16", False), ("2026-09-16T00:00:00+02:00", False), ("Wed, 16 Sep 2026 00:00:00 +0000", False),
     ("2026-09-16T22:00:00Z", True), ("2026-09-16T00:00:01Z", True)],
)  # fmt: skip
def test_midnight_in_its_own_offset_is_no_time(raw: str, *, has_time: bool) -> None:
    found = parse_date(raw)
    assert found is not None
    assert found.has_time is has_time


@given(st.text(max_size=60))
def test_no_text_makes_the_reader_fail(raw: str) -> None:
    parse_date(raw)


@given(st.datetimes().filter(lambda at: 1971 <= at.year < 2100))
def test_iso_dates_are_read_to_the_second(at: datetime) -> None:
    found = parse_date(at.isoformat() + "Z")
    assert found is not None
    assert found.at == at.replace(microsecond=0, tzinfo=UTC)
