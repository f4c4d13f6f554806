"""A number with its noun."""


def amount(count: int, one: str, many: str | None = None) -> str:
    """Return "1 entry", "2 entries"; `many` is told where the plural is more than an s."""
    return f"{count} {one if count == 1 else many or one + 's'}"
