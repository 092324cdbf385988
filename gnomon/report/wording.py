"""Numbers as text, one way in the whole report."""

from collections.abc import Sequence

MINUS, DASH = "\u2212", "\u2013"


def nats(value: float, digits: int = 2) -> str:
    return f"{value:.{digits}f}".replace("-", MINUS)


def rise(value: float, digits: int = 2) -> str:
    """A difference, always signed; what rounds to zero has no sign."""
    text = f"{value:+.{digits}f}".replace("-", MINUS)
    return text[1:] if float(text[1:]) == 0 else text


def listing(items: Sequence[str], last: str = "and") -> str:
    """'a, b and c'."""
    return f" {last} ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def thousands(value: int | None) -> str:
    """Digits grouped by a thin space that does not break."""
    return DASH if value is None else f"{value:,}".replace(",", "\u202f")


def span(values: Sequence[int]) -> str:
    """'12' or '12 to 34' of the values that occur."""
    low, high = min(values), max(values)
    return thousands(low) if low == high else f"{thousands(low)} to {thousands(high)}"


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
