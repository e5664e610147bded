"""Says how long ago something was, and how long something took, in a few letters."""

from datetime import datetime, timedelta

_STEPS = ((timedelta(days=1), "d"), (timedelta(hours=1), "h"), (timedelta(minutes=1), "min"))


def describe_age(at: datetime, now: datetime) -> str:
    """How long ago it was, e.g. ``3 h ago``; of the future, ``in 3 h``."""
    passed = now - at
    told = describe_duration(abs(passed))
    if passed < timedelta():
        return f"in {told}"
    return "just now" if passed < timedelta(minutes=1) else f"{told} ago"


def describe_duration(duration: timedelta) -> str:
    """A duration in its largest unit, with the next one if that is small: ``45 s``, ``12 min``, ``1 h 5 min``."""
    for number, (unit, name) in enumerate(_STEPS):
        if duration >= unit:
            count, rest = divmod(duration, unit)
            smaller = _STEPS[number + 1] if number + 1 < len(_STEPS) else None
            if smaller is None or count >= 10 or rest < smaller[0]:
                return f"{count} {name}"
            return f"{count} {name} {rest // smaller[0]} {smaller[1]}"
    return f"{max(0, int(duration.total_seconds()))} s"
