"""The real clock, and moments as people type them on a terminal or into a form."""

import re
from datetime import UTC, datetime

from domain.config.values import parse_duration
from domain.errors import ForgeError
from domain.text.escaping import strip_invisible


class SystemClock:
    """See :class:`domain.ports.Clock`."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def parse_moment(text: str | None, now: datetime, option: str) -> datetime | None:
    """Parses ``2h`` as two hours ago, anything else as a date or time in ISO 8601, in UTC unless it names a zone.

    :param option: what the person calls it.
    :raises ForgeError: it is no time.
    """
    if text is None:
        return None
    if re.fullmatch(r"\d{1,4}[mhdw]", text):
        return now - parse_duration(text)
    try:
        named = datetime.fromisoformat(text)
    except ValueError:
        possible = "Write 30m, 2h, 7d or 2w for a time ago, or a date or time such as 2026-01-31 or 2026-01-31T14:00."
        raise ForgeError(f"{option} {strip_invisible(text)} is not a time.", possible) from None
    return named.replace(tzinfo=UTC) if named.tzinfo is None else named
