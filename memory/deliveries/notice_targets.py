"""Keeps how the targets of notices are: one process sends to each at a time, and one that fails is left alone."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import and_, delete, func, or_, select, update

from domain.notices import parse_key
from memory.db.engine import Database, insert_new
from memory.db.tables.deliveries import NoticeRow, NoticeTargetRow
from memory.deliveries.notices import SENDING, WAITING

LEASE = timedelta(seconds=30)
"""After so long without a word, another process may send to a target; an attempt takes ten seconds at most."""


@dataclass(frozen=True)
class TargetState:
    """How a target is.

    :param repository_id: whose configuration names its address; 0: it is the operator's.
    :param failures: in a row.
    :param problem: of the last attempt, if that failed.
    :param gone_at: since when it wants nothing any more.
    """

    key: str
    repository_id: int
    failures: int
    failing_since: datetime | None
    problem: str
    retry_at: datetime
    gone_at: datetime | None
    sent_at: datetime | None


async def list_due(database: Database, now: datetime, most: int) -> Sequence[str]:
    """Keys of targets for which something is due and that may be tried, those first that wait longest."""
    state = NoticeTargetRow
    query = (
        select(NoticeRow.target)
        .outerjoin(state, state.target == NoticeRow.target)
        .where(
            NoticeRow.state.in_((WAITING, SENDING)),
            NoticeRow.due_at <= now,
            or_(
                state.target.is_(None),
                and_(state.gone_at.is_(None), state.retry_at <= now, state.lease_until <= now),
            ),
        )
        .group_by(NoticeRow.target)
        .order_by(func.min(NoticeRow.id))
        .limit(most)
    )
    return await database.scalars(query)


async def claim(database: Database, key: str, holder: str, now: datetime) -> TargetState | None:
    """Take the right to send to a target; None if another process has it, or it must not be tried now.

    :param holder: this process.
    """
    new = {
        "target": key,
        "repository_id": parse_key(key)[0],
        "retry_at": now,
        "holder": "",
        "lease_until": now,
    }
    async with database.transaction() as session:
        await session.execute(insert_new(database.dialect, NoticeTargetRow, new))
        free = update(NoticeTargetRow).where(
            NoticeTargetRow.target == key,
            NoticeTargetRow.gone_at.is_(None),
            NoticeTargetRow.retry_at <= now,
            NoticeTargetRow.lease_until <= now,
        )
        taken = free.values(holder=holder, lease_until=now + LEASE).returning(NoticeTargetRow)
        row = (await session.scalars(taken, execution_options={"populate_existing": True})).first()
        return None if row is None else _parse(row)


async def renew(database: Database, key: str, holder: str, now: datetime) -> bool:
    """Keep the right a while longer; False if another process has it by now."""
    return await _change(database, key, holder, lease_until=now + LEASE)


async def release(database: Database, key: str, holder: str, now: datetime) -> None:
    """Give the right back."""
    await _change(database, key, holder, holder="", lease_until=now)


async def record_success(database: Database, key: str, now: datetime) -> None:
    """Record that a target took a notice: it is well."""
    well = {"failures": 0, "failing_since": None, "problem": "", "retry_at": now, "gone_at": None, "sent_at": now}
    await database.execute(update(NoticeTargetRow).where(NoticeTargetRow.target == key).values(**well))


async def record_failure(database: Database, key: str, problem: str, retry_at: datetime, now: datetime) -> None:
    """Record that a target failed, and when it is tried again."""
    values = {
        "failures": NoticeTargetRow.failures + 1,
        "failing_since": func.coalesce(NoticeTargetRow.failing_since, now),
        "problem": problem,
        "retry_at": retry_at,
    }
    await database.execute(update(NoticeTargetRow).where(NoticeTargetRow.target == key).values(**values))


async def record_gone(database: Database, key: str, problem: str, now: datetime) -> None:
    """Record that a target wants nothing any more; only a successful test changes that."""
    values = {"gone_at": now, "problem": problem, "failing_since": func.coalesce(NoticeTargetRow.failing_since, now)}
    await database.execute(update(NoticeTargetRow).where(NoticeTargetRow.target == key).values(**values))


async def forget(database: Database, key: str) -> None:
    """Forget how a target was that nobody names any more."""
    await database.execute(delete(NoticeTargetRow).where(NoticeTargetRow.target == key))


async def list_failing(database: Database) -> Sequence[TargetState]:
    """The targets whose last attempt failed, or that are gone."""
    return [each for each in await list_all(database) if each.failing_since is not None]


async def list_all(database: Database) -> Sequence[TargetState]:
    """Every target that something was sent to."""
    rows = await database.scalars(select(NoticeTargetRow).order_by(NoticeTargetRow.target))
    return [_parse(row) for row in rows]


async def _change(database: Database, key: str, owner: str, **values: object) -> bool:
    own = update(NoticeTargetRow).where(NoticeTargetRow.target == key, NoticeTargetRow.holder == owner)
    return bool(await database.rows(own.values(**values).returning(NoticeTargetRow.target)))


def _parse(row: NoticeTargetRow) -> TargetState:
    return TargetState(
        row.target,
        row.repository_id,
        row.failures,
        row.failing_since,
        row.problem,
        row.retry_at,
        row.gone_at,
        row.sent_at,
    )
