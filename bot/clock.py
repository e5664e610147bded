"""The real clock."""

from datetime import UTC, datetime


class SystemClock:
    """See :class:`domain.ports.Clock`."""

    def now(self) -> datetime:
        return datetime.now(UTC)
