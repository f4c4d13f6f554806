"""How long a server asks us to wait, in every spelling."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.core.retry_after import LONGEST, parse_retry_after

NOW = datetime(2026, 9, 16, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0),
        ("1", 1),
        (" 30 ", 30),
        ("3600", 3600),
        ("0.25", 0.25),
        (0.25, 0.25),
        (7, 7),
        ("Wed, 16 Sep 2026 12:01:00 GMT", 60),
        ("Wed, 16 Sep 2026 14:01:00 +0200", 60),
        ("Wed, 16 Sep 2026 12:01:00 -0000", 60),
        ("Wed, 16 Sep 2026 11:00:00 GMT", 0),
    ],
)
def test_a_wait_is_read_in_every_lawful_spelling(value: object, seconds: float) -> None:
    assert parse_retry_after(value, now=NOW) == timedelta(seconds=seconds)


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "-1",
        -1,
        "abc",
        "1e3",
        "soon",
        "12:00",
        True,
        float("nan"),
        float("inf"),
        "Wed, 99 Foo 2026 99:99:99 GMT",
        "x" * 100,
        [],
        "5 minutes",
        "9" * 30,
    ],
)
def test_garbage_is_no_wait(value: object) -> None:
    assert parse_retry_after(value, now=NOW) is None


@pytest.mark.parametrize("value", ["1000000000", 10**9, 10**300, "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_an_absurd_wait_is_cut(value: object) -> None:
    assert parse_retry_after(value, now=NOW) == LONGEST
