"""Keeps the code about which a detector was wrong, so that later versions of it are tried against that."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import delete, func, or_, select, update

from domain.ids import new_id
from domain.review.avoidance import AvoidanceKind, find_version
from memory.db.engine import Database, insert_new
from memory.db.tables.findings import FalseAlarmRow


@dataclass(frozen=True)
class FalseAlarm:
    """Both versions of a file, in which a detector found what people said is no giving up.

    :param before: None: the file was new; ``after`` is None if it is gone.
    """

    id: str
    rule: str
    path: str
    old_path: str
    before: bytes | None
    after: bytes | None


@dataclass(frozen=True)
class FalseAlarmCount:
    """How many false alarms of a detector are kept, and how many the present one still raises."""

    rule: str
    kept: int
    still_found: int


async def keep(
    database: Database, repository_id: int, number: int, fingerprint: str, alarm: FalseAlarm, now: datetime
) -> None:
    """Keep one, once for each finding."""
    values = {
        "id": new_id(),
        "repository_id": repository_id,
        "number": number,
        "fingerprint": fingerprint,
        "rule": alarm.rule,
        "path": alarm.path,
        "old_path": alarm.old_path,
        "before": alarm.before,
        "after": alarm.after,
        "created_at": now,
        "tried": find_version(alarm.rule),
        "is_found": True,
    }
    async with database.transaction() as session:
        await session.execute(insert_new(database.dialect, FalseAlarmRow, values))


async def forget(database: Database, repository_id: int, number: int, fingerprint: str) -> None:
    """Forget one, because what people said of it is taken back."""
    where = (
        FalseAlarmRow.repository_id == repository_id,
        FalseAlarmRow.number == number,
        FalseAlarmRow.fingerprint == fingerprint,
    )
    async with database.transaction() as session:
        await session.execute(delete(FalseAlarmRow).where(*where))


async def list_untried(database: Database, most: int) -> Sequence[FalseAlarm]:
    """Those that the present version of their detector was not tried against, oldest first."""
    older = or_(
        *(
            (FalseAlarmRow.rule == kind.rule) & (FalseAlarmRow.tried != find_version(kind.rule))
            for kind in AvoidanceKind
        )
    )
    async with database.transaction() as session:
        rows = await session.scalars(select(FalseAlarmRow).where(older).order_by(FalseAlarmRow.id).limit(most))
        return [FalseAlarm(row.id, row.rule, row.path, row.old_path, row.before, row.after) for row in rows]


async def record_trial(database: Database, alarm: FalseAlarm, *, is_found: bool) -> None:
    """Keep what the present version of the detector makes of one."""
    tried = {"tried": find_version(alarm.rule), "is_found": is_found}
    async with database.transaction() as session:
        await session.execute(update(FalseAlarmRow).where(FalseAlarmRow.id == alarm.id).values(**tried))


async def count(database: Database) -> Sequence[FalseAlarmCount]:
    """How many there are, by detector."""
    still = func.count().filter(FalseAlarmRow.is_found.is_(True))
    query = select(FalseAlarmRow.rule, func.count(), still).group_by(FalseAlarmRow.rule).order_by(FalseAlarmRow.rule)
    async with database.transaction() as session:
        return [FalseAlarmCount(rule, kept, found) for rule, kept, found in await session.execute(query)]
