"""Words for figures: the value of a metric, an age in a few letters, what a run spent."""

from datetime import datetime, timedelta

from domain.money import format_usd
from domain.runs.metrics import Measure, Series
from messages.audit import format_duration

UNKNOWN = "–"
"""What stands where there is no data."""


def format_value(series: Series, value: float | None) -> str:
    """A value as text for people."""
    if value is None:
        return UNKNOWN
    if series.metric.unit == "s":
        return format_duration(value)
    if series.metric.measure is Measure.share:
        return f"{value:.0%}"
    return f"{value:.2f}"


_STEPS = ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "min"))


def describe_age(at: datetime, now: datetime) -> str:
    """How long ago it was, in its largest unit, e.g. ``3 h ago``; of the future, ``in 3 h``."""
    passed = abs(now - at)
    found = next(((passed // unit, name) for unit, name in _STEPS if passed >= unit), None)
    if found is None:
        return "just now"
    told = f"{found[0]} {found[1]}"
    return f"in {told}" if at > now else f"{told} ago"


def render_spent(spent: int, words: str = "") -> str:
    """The line; empty where there is nothing to say.

    :param spent: micro-USD.
    :param words: what else it says.
    """
    told = f"Spent by this run so far: {format_usd(spent)}." if spent else ""
    line = " ".join(filter(None, (told, words)))
    return f"<sub>{line}</sub>" if line else ""


def end_with_spent(spent: int) -> str:
    """The line as the last paragraph of a text, with what parts it from the one before."""
    line = render_spent(spent)
    return f"\n\n{line}" if line else ""
