"""Keeps until when nothing may be sent to GitHub, and the rates of writes, for every process and across restarts."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import case, func, literal, update

from memory.db.engine import Connection, Database, upsert
from memory.db.tables.deliveries import LimitRow
from safety.github_limits import Importance, Rate, WritesSpent, WriteTurn, take_turn


@dataclass(frozen=True)
class RateLimitPause:
    """GitHub's order to send nothing before ``until`` (UTC) for an installation; 0 is the App itself.

    :param streak: how many such orders came in a row, from 1.
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


async def reserve_write(
    database: Database, installation_id: int, rate: Rate, importance: Importance, now: datetime, *, creates: bool
) -> WriteTurn:
    """Ask for one write, and count it if it may be made. A counted write stays counted even if it is not made.

    :param creates: it creates content as GitHub defines it.
    """
    row = LimitRow
    first = {"installation_id": installation_id, "writes": now, "content": now}
    # An update that changes nothing: it takes the row's lock, on SQLite that of the file, before anything is decided.
    unused = literal(now, row.writes.type)
    kept = {"writes": func.coalesce(row.writes, unused), "content": func.coalesce(row.content, unused)}
    held = upsert(database.dialect, row, first, kept)

    def ask(connection: Connection) -> WriteTurn:
        spent = connection.execute(held.returning(row.writes, row.content)).one()
        asked = take_turn(WritesSpent(spent.writes, spent.content), rate, importance, now, creates=creates)
        if not asked.wait:
            values = {"writes": asked.spent.writes, "content": asked.spent.content}
            connection.execute(update(row).where(row.installation_id == installation_id).values(values))
        return asked

    return await database.run_in_transaction(ask)
