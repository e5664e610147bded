"""Keeps what every call of a model was reserved for and cost, so that runs cannot overrun a budget together.

A reservation is one transaction: take the turn of the installation, sum what counts, let `safety.money` decide,
insert. The turn is a row that is written first, so it holds across workers, processes and databases.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from sqlalchemy import ColumnElement, case, func, or_, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from domain.configuration import Breakers
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
from domain.verdicts import BreakerState, Check
from memory import circuits, ledger
from memory.database import Database, insert_new, upsert
from memory.tables import BudgetRow, CircuitRow, SpendRow
from safety import money
from safety.allowance import Allowance, Facts, allowance
from safety.breakers import Call, Circuit, settled

RESERVED, SETTLED, LOST = "reserved", "settled", "lost"


_USUAL = Breakers()


Stop = Callable[[], Awaitable[None]]
"""Raises when nothing may be started any more."""


async def _never() -> None:
    return None


class StoredPurse:
    """The money of one phase of one run, kept in the database. See :class:`domain.ports.Purse`.

    :param limits: what the repository configured.
    :param ceilings: the operator's limits, which a granted slice cannot pass either.
    :param stop: asked before every reservation; raises when nothing may be started any more (invariant 12).
    :param breakers: their limits, as the repository configured them.
    """

    def __init__(
        self,
        database: Database,
        run: Run,
        phase: Phase,
        limits: Limits,
        clock: Clock,
        ceilings: Ceilings = NO_CEILINGS,
        stop: Stop = _never,
        breakers: Breakers = _USUAL,
    ) -> None:
        self._database = database
        self._run = run
        self._phase = phase
        self._limits = limits
        self._clock = clock
        self._ceilings = ceilings
        self._stop = stop
        self._breakers = breakers
        self._warned: set[str] = set()

    async def reserve(self, step: str, model: str, amount: int) -> Reservation | Refusal:
        await self._stop()
        now = self._clock.now()
        provider, _, _ = model.partition(":")
        async with self._database.transaction() as session:
            await _take_turn(session, self._database.dialect, self._run.repository.installation_id)
            await self._give_up(session, step, now)
            limits, facts = await self._known(session, provider, step, now)
            asked = allowance(amount, facts, limits, self._ceilings, self._breakers, now)
            if asked.circuit != facts.circuit:
                await circuits.store(session, self._run.repository.id, provider, asked.circuit)
            self._tell_breakers(session, asked, facts.circuit, now)
            if asked.refusal is not None:
                self._tell(session, EventType.budget_refused, now, asked.refusal.model_dump(mode="json"))
                return asked.refusal
            reservation = Reservation(id=new_id(), amount=amount, warnings=asked.warnings)
            session.add(self._row(reservation, step, model, now))
            told = {"spend": reservation.id, "step": step, "model": model, "amount": amount, "warnings": asked.warnings}
            self._tell(session, EventType.budget_reserved, now, told)
            return reservation

    async def _known(self, session: AsyncSession, provider: str, step: str, now: datetime) -> tuple[Limits, Facts]:
        """The limits with what people granted, and the facts; in few looks, since they stand before each call."""
        run = self._run
        since = now - timedelta(minutes=self._breakers.error_rate.window_minutes)
        sums = await _sums(session, run, self._phase, _day(now), provider)
        facts = Facts(
            phase=self._phase,
            totals=sums.totals,
            calls=sums.calls,
            granted=sums.granted.calls,
            moves=await ledger.moves(session, run.id),
            recent=await _recent(session, run.repository.id, provider, since),
            circuit=sums.circuit,
            caller=f"{run.id}/{step}",
        )
        return self._within(sums.granted), facts

    def _tell_breakers(self, session: AsyncSession, asked: Allowance, before: Circuit, now: datetime) -> None:
        """Every trip and every warning is an event; a warning once per limit and execution."""
        if asked.refusal is not None:
            self._tell(session, EventType.breaker_tripped, now, _said(asked.refusal.check))
        if asked.circuit.state is BreakerState.half_open and before.state is not BreakerState.half_open:
            self._tell(session, EventType.breaker_trial, now, {"name": "error_rate"})
        for name in asked.warnings:
            if name not in self._warned:
                self._warned.add(name)
                check = next((each for each in asked.checks if each.name == name), None)
                self._tell(session, EventType.breaker_warning, now, {"name": name} if check is None else _said(check))

    async def uses(self) -> Sequence[Use]:
        """How far each limit is used now."""
        async with self._database.transaction() as session:
            sums = await _sums(session, self._run, self._phase, _day(self._clock.now()))
        return uses(sums.totals, self._within(sums.granted), self._phase)

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
                .returning(SpendRow)
            )
            if changed is not None:
                await self._settle_circuit(session, changed, receipt.outcome is Outcome.answered, now)
                outcome, model = receipt.outcome.value, changed.model
                facts = {"spend": reservation.id, "model": model, "amount": amount, "outcome": outcome}
                self._tell(session, EventType.budget_settled, now, facts, receipt, amount)
        return amount

    async def _settle_circuit(self, session: AsyncSession, row: SpendRow, answered: bool, now: datetime) -> None:
        """The outcome of a trial closes the circuit or opens it again."""
        provider, _, _ = row.model.partition(":")
        before = await circuits.load(session, row.repository_id, provider)
        after = settled(before, f"{row.run_id}/{row.step}", answered, self._breakers.error_rate, now)
        if after != before:
            await circuits.store(session, row.repository_id, provider, after)
            kind = EventType.breaker_closed if after.state is BreakerState.closed else EventType.breaker_tripped
            self._tell(session, kind, now, {"name": "error_rate", "provider": provider})

    async def _give_up(self, session: AsyncSession, step: str, now: datetime) -> None:
        """Settle what an earlier, interrupted try of this step reserved: nobody knows whether it was charged."""
        mine = (SpendRow.run_id == self._run.id, SpendRow.phase == self._phase.value, SpendRow.step == step)
        await _lose(session, now, *mine)

    def _within(self, granted: Slice) -> Limits:
        """The limits with what people granted, within the operator's ceilings."""
        return money.capped(money.raised(self._limits, self._phase, granted.amount), self._ceilings)

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
    query = select(SpendRow.phase, SpendRow.model, *SUMS).group_by(SpendRow.phase, SpendRow.model)
    if repository_id is not None:
        query = query.where(SpendRow.repository_id == repository_id)
    if run_id is not None:
        query = query.where(SpendRow.run_id == run_id)
    async with database.transaction() as session:
        rows = (await session.execute(query)).all()
    found = [Share(row[0], row[1], spent_of(row[2:])) for row in rows]
    return sorted(found, key=lambda share: (-share.spent.amount, share.phase, share.model))


async def calls(database: Database, run_id: str) -> Sequence[SpendRow]:
    """Every call of a run, in the order in which they were reserved."""
    async with database.transaction() as session:
        return (await session.scalars(select(SpendRow).where(SpendRow.run_id == run_id).order_by(SpendRow.id))).all()


async def grant(database: Database, run: Run, phase: Phase, slice_: Slice, now: datetime, cause: str) -> None:
    """Let a phase of a run use more than its limits say, because a person granted it, once per cause and slice.

    :param cause: the delivery. Lines of one comment are told apart by what they grant, so equal ones count once.
    """
    scope = f"granted by:{run.id}/{cause}:{slice_.amount}:{slice_.calls}"
    async with database.transaction() as session:
        taken = insert_new(database.dialect, BudgetRow, {"scope": scope, "granted": slice_.amount})
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


SUMS = (
    func.coalesce(func.sum(SpendRow.amount), 0),
    func.coalesce(func.sum(case((SpendRow.state == RESERVED, SpendRow.amount), else_=0)), 0),
    func.count(),
    func.coalesce(func.sum(SpendRow.input_tokens), 0),
    func.coalesce(func.sum(SpendRow.output_tokens), 0),
    func.coalesce(func.sum(SpendRow.cache_read_tokens), 0),
    func.coalesce(func.sum(SpendRow.cache_write_tokens), 0),
)
"""What is added up of calls; :func:`spent_of` reads it."""


def spent_of(row: Sequence[int]) -> Spent:
    """What a row of :data:`SUMS` says."""
    amount, reserved, count, read, written, cache_read, cache_write = map(int, row)
    usage = Usage(
        input_tokens=read, output_tokens=written, cache_read_tokens=cache_read, cache_write_tokens=cache_write
    )
    return Spent(amount, reserved, count, usage)


async def _sum(database: Database, *where: ColumnElement[bool]) -> Spent:
    async with database.transaction() as session:
        return spent_of((await session.execute(select(*SUMS).where(*where))).one())


class _Sums(NamedTuple):
    """What counts against each limit, the calls of the phase, what people granted it, and the provider's circuit."""

    totals: Totals
    calls: int
    granted: Slice
    circuit: Circuit


async def _sums(session: AsyncSession, run: Run, phase: Phase, day: str, provider: str = "") -> _Sums:
    """All of it in one look."""
    mine = SpendRow.run_id == run.id
    today = (SpendRow.installation_id == run.repository.installation_id) & (SpendRow.day == day)
    parts = (
        mine & (SpendRow.phase == phase.value),
        mine,
        today & (SpendRow.repository_id == run.repository.id),
        today,
    )
    amounts = (func.coalesce(func.sum(case((part, SpendRow.amount), else_=0)), 0) for part in parts)
    made = func.coalesce(func.sum(case((parts[0], 1), else_=0)), 0)
    grants = (
        select(BudgetRow.granted).where(BudgetRow.scope == scope).scalar_subquery()
        for scope in (_slice(run.id, phase), _calls(run.id, phase))
    )
    circuit = (
        select(CircuitRow.circuit)
        .where(CircuitRow.repository_id == run.repository.id, CircuitRow.provider == provider)
        .scalar_subquery()
    )
    row = (await session.execute(select(*amounts, made, *grants, circuit).where(or_(mine, today)))).one()
    own, whole, daily, installation, calls, amount, more = (int(each or 0) for each in row[:-1])
    return _Sums(
        totals=Totals(phase=own, run=whole, day=daily, installation=installation),
        calls=calls,
        granted=Slice(amount=amount, calls=more),
        circuit=Circuit() if row[-1] is None else Circuit.model_validate(row[-1]),
    )


async def _recent(session: AsyncSession, repository_id: int, provider: str, since: datetime) -> Sequence[Call]:
    """How the calls of a provider ended that a repository made since a moment."""
    days = [_day(since), _day(since + timedelta(days=1))]
    query = select(SpendRow.settled_at, SpendRow.outcome).where(
        SpendRow.repository_id == repository_id,
        SpendRow.day.in_(days),
        SpendRow.settled_at > since,
        SpendRow.model.startswith(f"{provider}:", autoescape=True),
    )
    rows = await session.execute(query)
    return [Call(at, outcome != Outcome.answered.value) for at, outcome in rows if at is not None]


def _said(check: Check) -> dict[str, object]:
    return {"name": check.name, **check.reason.model_dump(include={"code", "text", "value", "threshold"})}


async def _take_turn(session: AsyncSession, dialect: str, installation_id: int) -> None:
    """Hold the installation's row until the end of the transaction."""
    scope = f"installation:{installation_id}"
    await session.execute(upsert(dialect, BudgetRow, {"scope": scope, "granted": 0}, {"granted": BudgetRow.granted}))


async def _lose(session: AsyncSession, now: datetime, *where: ColumnElement[bool]) -> int:
    """Settle reservations whose calls nobody will hear of again. The amount stays what was reserved."""
    lost = await session.execute(
        update(SpendRow)
        .where(SpendRow.state == RESERVED, *where)
        .values(state=LOST, outcome=Outcome.lost.value, settled_at=now)
        .returning(SpendRow.id, SpendRow.run_id, SpendRow.phase, SpendRow.model, SpendRow.amount)
    )
    rows = lost.all()
    for spend, run_id, phase, model, amount in rows:
        facts = {"spend": spend, "model": model, "amount": amount, "outcome": Outcome.lost.value}
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
