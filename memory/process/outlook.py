"""Tells when the clock alone makes something due, for sweeps that do not look each second."""

from datetime import datetime

from sqlalchemy import Select, case, func, select, union_all

from domain.gates import GateState
from domain.runs.run import ReasonCode, RunState
from memory.db.engine import Database
from memory.db.tables.deliveries import NoticedEventRow, NoticeRow, NoticeTargetRow
from memory.db.tables.findings import GateRow
from memory.db.tables.runs import RunRow, WaitRow
from memory.deliveries.notices.notices import SENDING, WAITING
from memory.gates.gates import ANSWERED
from safety.notices import warn_at


async def find_next(database: Database, now: datetime) -> datetime | None:
    """The next moment at which a wait or a gate ends, a gate is about to, a check is due, or a notice may be sent.

    ``now`` if something is due already that waits for no moment: an event of which nobody was told, an answered gate
    whose run was not. None if there is nothing.
    """
    waiting = GateRow.state == GateState.waiting.value
    moments = union_all(
        select(func.min(WaitRow.until)),
        select(func.min(GateRow.until)).where(waiting),
        select(func.min(RunRow.check_due)),
        _select_notices(),
    )
    untold = union_all(select(NoticedEventRow.id).limit(1).subquery().select(), _select_answered().subquery().select())
    async with database.transaction() as session:
        if (await session.scalars(untold)).first() is not None:
            return now
        found: list[datetime] = [*filter(None, await session.scalars(moments))]
        gates = await session.execute(select(GateRow.asked_at, GateRow.until).where(waiting))
        found += [at for at in (warn_at(asked, until) for asked, until in gates) if at > now]
    return min(found, default=None)


def _select_answered() -> Select[str]:
    """A gate that is answered, and whose run still waits for that."""
    waits = (RunRow.state == RunState.waiting.value, RunRow.reason == ReasonCode.gate.value)
    answered = select(GateRow.id).join(RunRow, RunRow.id == GateRow.run_id)
    return answered.where(*waits, GateRow.state.in_(ANSWERED)).limit(1)


def _select_notices() -> Select[datetime | None]:
    """When the first notice may be sent, as :func:`memory.deliveries.notices.targets.list_due` sees it."""
    target, ready = NoticeTargetRow, NoticeRow.due_at
    for other in (target.retry_at, target.lease_until):
        ready = case((other > ready, other), else_=ready)
    notices = select(func.min(ready)).select_from(NoticeRow).outerjoin(target, target.target == NoticeRow.target)
    return notices.where(NoticeRow.state.in_((WAITING, SENDING)), target.gone_at.is_(None))
