"""GitHub's own log of the deliveries it attempted."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict


class DeliveryAttempt(BaseModel):
    """One attempt of GitHub to deliver an event; all attempts at one event share a GUID.

    :param status_code: of the answer; 0 where there was none.
    """

    model_config = ConfigDict(frozen=True)

    id: int
    guid: str
    event: str
    at: datetime
    status_code: int

    @property
    def is_answered(self) -> bool:
        """Whether the attempt was answered with 2xx."""
        return 200 <= self.status_code < 300


class AttemptsPage(BaseModel):
    """A page of GitHub's log of deliveries, newest first; ``following`` leads to the next one."""

    model_config = ConfigDict(frozen=True)

    attempts: tuple[DeliveryAttempt, ...]
    following: str | None
