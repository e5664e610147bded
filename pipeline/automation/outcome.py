"""Says how a check of automatic actions ended: it is over, or the next one is due after a pause that grows."""

from datetime import datetime, timedelta

from pydantic import BaseModel

_PAUSES = (1, 2, 4, 8, 15, 30, 60, 120, 240)
"""Minutes between two checks while required checks run; eight hours in all."""


class CheckOutcome(BaseModel):
    """The outcome of a check: when the next one is due, or why there is none."""

    again: datetime | None = None
    why: str = ""


def retry_later(count: int, now: datetime, why: str) -> CheckOutcome:
    """The next check after a growing pause; none after the last pause.

    :param count: of the checks before.
    :param why: there is no next check, if there is none.
    """
    if count >= len(_PAUSES):
        return CheckOutcome(why=why)
    return CheckOutcome(again=now + timedelta(minutes=_PAUSES[count]))
