"""Says how long ago something was, in a few letters."""

from datetime import datetime, timedelta

_STEPS = ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "min"))


def describe_age(at: datetime, now: datetime) -> str:
    """How long ago it was, in its largest unit, e.g. ``3 h ago``; of the future, ``in 3 h``."""
    passed = abs(now - at)
    found = next(((passed // unit, name) for unit, name in _STEPS if passed >= unit), None)
    if found is None:
        return "just now"
    told = f"{found[0]} {found[1]}"
    return f"in {told}" if at > now else f"{told} ago"
