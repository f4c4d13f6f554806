"""Moments as people read them."""

from datetime import datetime, tzinfo

_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def moment(at: datetime, timezone: tzinfo) -> str:
    """Return "16 Sep 2026 14:05 CEST"."""
    local = at.astimezone(timezone)
    return f"{local.day} {_MONTHS[local.month - 1]} {local.year} {local:%H:%M %Z}".rstrip()
