"""Keeps until when nothing may be sent to GitHub, for every process and across restarts."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import case, update

from memory.db.engine import Database, upsert
from memory.db.tables.process import LimitRow


@dataclass(frozen=True)
class RateLimitPause:
    """GitHub's order to send nothing before ``until`` for an installation; 0 is the App itself.

    :param streak: how many such orders came in a row.
    """

    until: datetime
    reason: str
    streak: int


async def get_latest(database: Database, installation_id: int) -> RateLimitPause | None:
    """The latest order, even if it has passed."""
    row = await database.get(LimitRow, installation_id)
    return None if row is None or row.until is None else RateLimitPause(row.until, row.reason, row.streak)


async def remember(database: Database, installation_id: int, limit: RateLimitPause) -> None:
    """Store an order; if the stored one lasts longer, its end stays."""
    values = {
        "installation_id": installation_id,
        "until": limit.until,
        "reason": limit.reason,
        "streak": limit.streak,
    }
    later = case((LimitRow.until > limit.until, LimitRow.until), else_=limit.until)
    await database.execute(upsert(database.dialect, LimitRow, values, {"until": later}))


async def forget(database: Database, installation_id: int) -> None:
    """Forget the order: the installation is gone, or an operator lifts it."""
    lifted = {"until": None, "streak": 0}
    await database.execute(update(LimitRow).where(LimitRow.installation_id == installation_id).values(lifted))
