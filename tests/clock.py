"""A clock that tests move."""

from datetime import UTC, datetime, timedelta


class MovableClock:
    """Real time plus an offset, so that what runs for real goes on while a test jumps ahead."""

    def __init__(self) -> None:
        self.offset = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self.offset

    def move(self, **by: float) -> None:
        """Move ahead, e.g. ``clock.move(hours=1)``."""
        self.offset += timedelta(**by)
