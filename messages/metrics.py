"""Words for the value of a metric."""

from domain.metrics import Measure, Series
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
