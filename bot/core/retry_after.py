"""Read how long a server asks us to wait, in all spellings that servers use."""

import math
import re
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

LONGEST = timedelta(days=365)  # more is a broken number
KEPT = timedelta(hours=24)  # no service may silence us for longer
_NUMBER = re.compile(r"\d{1,12}(?:\.\d{1,9})?")


def parse_retry_after(value: object, *, now: datetime) -> timedelta | None:
    """Return the wait that `value` means; None where it means none: missing, negative, garbage.

    Seconds as a whole number or with a fraction, in a header or in JSON, or an HTTP date (RFC 9110,
    10.2.3); a date in the past means now.
    """
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int):
        return _seconds(float(min(max(value, -1), 10**9)))
    if isinstance(value, float):
        return _seconds(value)
    text = str(value).strip()
    if _NUMBER.fullmatch(text):
        return _seconds(float(text))
    return _until(text, now=now)


def _seconds(seconds: float) -> timedelta | None:
    if not math.isfinite(seconds) or seconds < 0:
        return None
    return timedelta(seconds=min(seconds, LONGEST.total_seconds()))


def _until(text: str, *, now: datetime) -> timedelta | None:
    # A date without a weekday or a month is a number or a word that the lenient parser would guess at.
    if len(text) > 60 or not re.search(r"[A-Za-z]{3}.*\d:\d\d", text):
        return None
    at = http_date(text)
    return None if at is None else min(max(at - now, timedelta(0)), LONGEST)


def http_date(text: str) -> datetime | None:
    """Return the moment that a header's date means (RFC 9110, 5.6.7), without a zone taken as UTC; None for no date."""
    try:
        at = parsedate_to_datetime(text)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)
