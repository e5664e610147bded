"""Keeps how the targets of notices are."""

from collections.abc import Sequence
from dataclasses import asdict, fields

from sqlalchemy import select

from domain.notices import TargetState
from memory.db.engine import Database, upsert
from memory.db.tables.deliveries import NoticeTargetRow


async def find(database: Database, target_id: str) -> TargetState | None:
    """How a target is; None if nothing was sent to it so far."""
    row = await database.get(NoticeTargetRow, target_id)
    return None if row is None else _parse(row)


async def save(database: Database, state: TargetState) -> None:
    """Keep how a target is."""
    await database.execute(upsert(database.dialect, NoticeTargetRow, asdict(state), {}))


async def list_all(database: Database) -> Sequence[TargetState]:
    """Every target that something was sent to of late."""
    return [_parse(row) for row in await database.scalars(select(NoticeTargetRow).order_by(NoticeTargetRow.id))]


def _parse(row: NoticeTargetRow) -> TargetState:
    return TargetState(**{each.name: getattr(row, each.name) for each in fields(TargetState)})
