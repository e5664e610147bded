"""Keeps what every call of a model was reserved for and cost, so that runs cannot overrun a budget together.

A reservation is one transaction: take the turn of the installation, sum what counts, let `safety.money` decide,
insert. The turn is a row that is written first, so it holds across workers, processes and databases.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, case, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.events import EventType
from domain.ids import new_id
from domain.money import (
    MICRO,
    NO_CEILINGS,
    Ceilings,
    Limits,
    Outcome,
    Receipt,
    Refusal,
    Reservation,
    Slice,
    Totals,
    Usage,
    Use,
    uses,
)
from domain.ports import Clock
from domain.runs import Phase, Run
from memory import ledger
from memory.database import Database, insert_new
from memory.tables import BudgetRow, SpendRow
from safety import money

RESERVED, SETTLED, LOST = "reserved", "settled", "lost"


async def _never() -> None:
    return None


class StoredPurse:
    """The money of one phase of one run, kept in the database. See :class:`domain.ports.Purse`.

    :param limits: what the repository configured.
    :param ceilings: the operator's limits, which a granted slice cannot pass either.
    :param stop: asked before every reservation; raises when nothing may be started any more (invariant 12).
    """

    def __init__(
        self,
        database: Database,
        run: Run,
        phase: Phase,
        limits: Limits,
        clock: Clock,
        ceilings: Ceilings = NO_CEILINGS,
        stop: Callable[[], Awaitable[None]] = _never,
    ) -> None:
        self._database = database
        self._run = run
        self._phase = phase
        self._limits = limits
        self._clock = clock
        self._ceilings = ceilings
        self._stop = stop

    async def reserve(self, step: str, model: str, amount: int) -> Reservation | Refusal:
        await self._stop()
        now = self._clock.now()
        async with self._database.transaction() as session:
            await _take_turn(session, self._database.dialect, self._run.repository.installation_id)
            await self._give_up(session, step, now)
            limits = await self._granted(session)
            totals = await _totals(session, self._run, self._phase, _day(now))
            refused = money.refusal(amount, totals, limits, self._phase)
            if refused is not None:
                self._tell(session, EventType.budget_refused, now, refused.model_dump(mode="json"))
                return refused
            warnings = money.warnings(amount, totals, limits, self._phase)
            reservation = Reservation(id=new_id(), amount=amount, warnings=warnings)
            session.add(self._row(reservation, step, model, now))
            facts = {"spend": reservation.id, "step": step, "model": model, "amount": amount, "warnings": warnings}
            self._tell(session, EventType.budget_reserved, now, facts)
            return reservation

    async def uses(self) -> Sequence[Use]:
        """How far each limit is used now."""
        async with self._database.transaction() as session:
            limits = await self._granted(session)
            totals = await _totals(session, self._run, self._phase, _day(self._clock.now()))
        return uses(totals, limits, self._phase)

    async def settle(self, reservation: Reservation, receipt: Receipt) -> int:
        now = self._clock.now()
        lost = receipt.outcome is Outcome.lost
        amount = reservation.amount if receipt.amount is None or lost else receipt.amount
        values = {
            "state": LOST if lost else SETTLED,
            "amount": amount,
            **receipt.usage.model_dump(),
            "outcome": receipt.outcome.value,
            "problem": receipt.problem[:500],
            "seconds": receipt.seconds,
            "settled_at": now,
        }
        async with self._database.transaction() as session:
            changed = await session.scalar(
                update(SpendRow)
                .where(SpendRow.id == reservation.id, SpendRow.state == RESERVED)
                .values(**values)
                .returning(SpendRow.id)
            )
            if changed is not None:
                facts = {"spend": reservation.id, "amount": amount, "outcome": receipt.outcome.value}
                self._tell(session, EventType.budget_settled, now, facts, receipt, amount)
        return amount

    async def _give_up(self, session: AsyncSession, step: str, now: datetime) -> None:
        """Settle what an earlier, interrupted try of this step reserved: nobody knows whether it was charged."""
        mine = (SpendRow.run_id == self._run.id, SpendRow.phase == self._phase.value, SpendRow.step == step)
        await _lose(session, now, *mine)

    async def _granted(self, session: AsyncSession) -> Limits:
        granted = await session.scalar(
            select(BudgetRow.granted).where(BudgetRow.scope == _slice(self._run.id, self._phase))
        )
        return money.capped(money.raised(self._limits, self._phase, granted or 0), self._ceilings)

    def _row(self, reservation: Reservation, step: str, model: str, now: datetime) -> SpendRow:
        return SpendRow(
            id=reservation.id,
            run_id=self._run.id,
            repository_id=self._run.repository.id,
            installation_id=self._run.repository.installation_id,
            phase=self._phase.value,
            step=step,
            model=model,
            day=_day(now),
            state=RESERVED,
            reserved=reservation.amount,
            amount=reservation.amount,
            **Usage().model_dump(),
            outcome="",
            problem="",
            seconds=0.0,
            reserved_at=now,
            settled_at=None,
        )

    def _tell(
        self,
        session: AsyncSession,
        kind: EventType,
        now: datetime,
        facts: Mapping[str, object],
        receipt: Receipt | None = None,
        amount: int = 0,
    ) -> None:
        ledger.tell(
            session,
            self._run.id,
            kind,
            now,
            source="purse",
            phase=self._phase,
            payload=dict(facts),
            duration=None if receipt is None else receipt.seconds,
            tokens=0 if receipt is None else receipt.usage.tokens,
            cost=amount / MICRO,
        )


@dataclass(frozen=True)
class Spent:
    """What was spent on something, in micro-USD; ``reserved`` is part of ``amount`` and not settled yet."""

    amount: int
    reserved: int
    calls: int
    usage: Usage


@dataclass(frozen=True)
class Share:
    """What one phase spent with one model."""

    phase: str
    model: str
    spent: Spent


async def of_run(database: Database, run_id: str, phase: Phase | None = None) -> Spent:
    """What a run spent, or one phase of it."""
    where = [SpendRow.run_id == run_id]
    return await _sum(database, *where, *([] if phase is None else [SpendRow.phase == phase.value]))


async def of_repository(database: Database, repository_id: int, day: datetime | None = None) -> Spent:
    """What a repository spent, on the UTC day of a moment or ever."""
    where = [SpendRow.repository_id == repository_id]
    return await _sum(database, *where, *([] if day is None else [SpendRow.day == _day(day)]))


async def of_installation(database: Database, installation_id: int, day: datetime | None = None) -> Spent:
    """What all repositories of an installation spent, on the UTC day of a moment or ever."""
    where = [SpendRow.installation_id == installation_id]
    return await _sum(database, *where, *([] if day is None else [SpendRow.day == _day(day)]))


async def shares(database: Database, *, repository_id: int | None = None, run_id: str | None = None) -> Sequence[Share]:
    """Cost by phase and model, the dearest first (SPEC S12), of a repository, a run or everything."""
    query = select(SpendRow.phase, SpendRow.model, *_SUMS).group_by(SpendRow.phase, SpendRow.model)
    if repository_id is not None:
        query = query.where(SpendRow.repository_id == repository_id)
    if run_id is not None:
        query = query.where(SpendRow.run_id == run_id)
    async with database.transaction() as session:
        rows = (await session.execute(query)).all()
    found = [Share(row[0], row[1], _spent(row[2:])) for row in rows]
    return sorted(found, key=lambda share: (-share.spent.amount, share.phase, share.model))


async def calls(database: Database, run_id: str) -> Sequence[SpendRow]:
    """Every call of a run, in the order in which they were reserved."""
    async with database.transaction() as session:
        return (await session.scalars(select(SpendRow).where(SpendRow.run_id == run_id).order_by(SpendRow.id))).all()


async def grant(database: Database, run: Run, phase: Phase, slice_: Slice, now: datetime, cause: str) -> None:
    """Let a phase of a run use more than its limits say, because a person granted it, once per cause."""
    async with database.transaction() as session:
        taken = insert_new(database.dialect, BudgetRow, {"scope": f"granted by:{cause}", "granted": slice_.amount})
        if (await session.execute(taken.returning(BudgetRow.scope))).first() is None:
            return
        await give(session, database.dialect, run.id, phase, slice_, now)


async def give(session: AsyncSession, dialect: str, run_id: str, phase: Phase, slice_: Slice, now: datetime) -> None:
    """Grant a slice within a transaction."""
    for scope, amount in ((_slice(run_id, phase), slice_.amount), (_calls(run_id, phase), slice_.calls)):
        if amount:
            await session.execute(insert_new(dialect, BudgetRow, {"scope": scope, "granted": 0}))
            await session.execute(
                update(BudgetRow).where(BudgetRow.scope == scope).values(granted=BudgetRow.granted + amount)
            )
    facts = {"amount": slice_.amount, "calls": slice_.calls}
    ledger.tell(session, run_id, EventType.budget_granted, now, source="purse", phase=phase, payload=facts)


async def close(database: Database, run_id: str, now: datetime) -> int:
    """Settle what a run that ended left reserved: lost, charged in full. How many there were."""
    async with database.transaction() as session:
        return await _lose(session, now, SpendRow.run_id == run_id)


_SUMS = (
    func.coalesce(func.sum(SpendRow.amount), 0),
    func.coalesce(func.sum(case((SpendRow.state == RESERVED, SpendRow.amount), else_=0)), 0),
    func.count(),
    func.coalesce(func.sum(SpendRow.input_tokens), 0),
    func.coalesce(func.sum(SpendRow.output_tokens), 0),
    func.coalesce(func.sum(SpendRow.cache_read_tokens), 0),
    func.coalesce(func.sum(SpendRow.cache_write_tokens), 0),
)


def _spent(row: Sequence[int]) -> Spent:
    amount, reserved, count, read, written, cache_read, cache_write = map(int, row)
    usage = Usage(
        input_tokens=read, output_tokens=written, cache_read_tokens=cache_read, cache_write_tokens=cache_write
    )
    return Spent(amount, reserved, count, usage)


async def _sum(database: Database, *where: ColumnElement[bool]) -> Spent:
    async with database.transaction() as session:
        return _spent((await session.execute(select(*_SUMS).where(*where))).one())


async def _totals(session: AsyncSession, run: Run, phase: Phase, day: str) -> Totals:
    mine = SpendRow.run_id == run.id
    today = (SpendRow.installation_id == run.repository.installation_id) & (SpendRow.day == day)
    parts = (
        mine & (SpendRow.phase == phase.value),
        mine,
        today & (SpendRow.repository_id == run.repository.id),
        today,
    )
    sums = (func.coalesce(func.sum(case((part, SpendRow.amount), else_=0)), 0) for part in parts)
    row = (await session.execute(select(*sums).where(or_(mine, today)))).one()
    own, whole, daily, installation = map(int, row)
    return Totals(phase=own, run=whole, day=daily, installation=installation)


async def _take_turn(session: AsyncSession, dialect: str, installation_id: int) -> None:
    """Hold the installation's row until the end of the transaction."""
    scope = f"installation:{installation_id}"
    await session.execute(insert_new(dialect, BudgetRow, {"scope": scope, "granted": 0}))
    await session.execute(update(BudgetRow).where(BudgetRow.scope == scope).values(granted=BudgetRow.granted))


async def _lose(session: AsyncSession, now: datetime, *where: ColumnElement[bool]) -> int:
    """Settle reservations whose calls nobody will hear of again. The amount stays what was reserved."""
    lost = await session.execute(
        update(SpendRow)
        .where(SpendRow.state == RESERVED, *where)
        .values(state=LOST, outcome=Outcome.lost.value, settled_at=now)
        .returning(SpendRow.id, SpendRow.run_id, SpendRow.phase, SpendRow.amount)
    )
    rows = lost.all()
    for spend, run_id, phase, amount in rows:
        facts = {"spend": spend, "amount": amount, "outcome": Outcome.lost.value}
        ledger.tell(
            session,
            run_id,
            EventType.budget_settled,
            now,
            source="purse",
            phase=Phase(phase),
            payload=facts,
            cost=amount / MICRO,
        )
    return len(rows)


def _slice(run_id: str, phase: Phase) -> str:
    return f"run:{run_id}/{phase.value}"


def _calls(run_id: str, phase: Phase) -> str:
    return f"calls:{run_id}/{phase.value}"


def _day(moment: datetime) -> str:
    return moment.astimezone(UTC).date().isoformat()
