"""Keeps how much of its write rate each installation has used, for all processes together."""

from datetime import datetime

from sqlalchemy import func, literal, update

from domain.github.importance import Importance
from memory.db.engine import Connection, Database, upsert
from memory.db.tables.process import LimitRow
from safety.write_rates import Rate, WritesSpent, WriteTurn, take_turn


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
