"""Loads what the dashboard's pages about gates show: those that wait, in all of some repositories, and decided ones."""

from collections.abc import Collection, Sequence

from sqlalchemy import select

from domain.gates import Gate, GateState
from memory.db.engine import Database
from memory.db.tables.gates import GateRow
from memory.gates.gates import parse_gate
from memory.reports.run_pages import KeyedPage, PageKey, load_page


async def list_waiting(database: Database, repository_ids: Collection[int], limit: int) -> Sequence[Gate]:
    """The gates of these repositories that wait, those that expire first at the top."""
    query = select(GateRow).where(
        GateRow.state == GateState.waiting.value, GateRow.repository_id.in_(list(repository_ids))
    )
    async with database.transaction() as session:
        rows = await session.scalars(query.order_by(GateRow.until, GateRow.id).limit(limit))
        return [parse_gate(row) for row in rows]


async def list_closed(database: Database, repository_id: int, key: PageKey, limit: int) -> KeyedPage[Gate]:
    """A page of the gates of a repository that wait no more, those asked last at the top.

    :param key: ids of gates.
    """
    where = [GateRow.repository_id == repository_id, GateRow.state != GateState.waiting.value]
    async with database.transaction() as session:
        rows, newer, older = await load_page(session, GateRow, where, key, limit)
    return KeyedPage([parse_gate(row) for row in rows], newer, older)
