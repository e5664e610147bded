"""Removes what was told to whom when its time is over, and targets that nothing was sent to for as long."""

from datetime import datetime, timedelta

from sqlalchemy import select

from memory.db.batches import delete_in_batches
from memory.db.engine import Database
from memory.db.tables.notices import NoticeRow, NoticeTargetRow

NOTICE_RETENTION = timedelta(days=30)
"""How long it is kept. A target that wants nothing any more is tried again after it."""


async def remove(database: Database, now: datetime) -> dict[str, int]:
    """Remove old notices and targets; how many of each."""
    until = now - NOTICE_RETENTION
    waited_for = select(NoticeRow.target).where(NoticeRow.ended_at.is_(None))
    idle = select(NoticeTargetRow.target).where(
        NoticeTargetRow.lease_until < until, NoticeTargetRow.target.not_in(waited_for)
    )
    told = select(NoticeRow.id).where(NoticeRow.ended_at < until)
    removed = {
        "notices": await delete_in_batches(database, NoticeRow, NoticeRow.id, told),
        "notice targets": await delete_in_batches(database, NoticeTargetRow, NoticeTargetRow.target, idle),
    }
    return {name: count for name, count in removed.items() if count}
