"""Keeps the reservation and the cost of every model call, so that runs cannot overrun a budget together.

A reservation is one transaction: lock the installation, sum what counts, let `safety.call_admission` decide, insert.
The database holds the lock, so it works across workers and processes.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy import ColumnElement, bindparam, case, func, insert, select, update

from domain.config.limits import Breakers
from domain.events import EventType
from domain.money import (
    MICRO,
    NO_CEILINGS,
    BudgetExtension,
    CallOutcome,
    Ceilings,
    Limits,
    LimitUse,
    Receipt,
    Refusal,
    Reservation,
    Usage,
    list_limit_uses,
)
from domain.ports import Clock
from domain.runs.run import Phase, Run
from domain.value import new_id
from domain.verdicts import BreakerState, Check
from memory import call_facts, ledger
from memory.call_facts import RESERVED, RunCallFacts, utc_day
from memory.db.engine import PLANNED_ONCE, Connection, Database
from memory.db.tables.runs import SpendRow
from memory.repositories.budgets import load_circuit, store_circuit
from safety import call_admission
from safety.breakers import Circuit, settle_call
from safety.call_admission import CallAdmission, CallFacts, admit_call

SETTLED, LOST = "settled", "lost"
_HALF = "half"
_INSERT = insert(SpendRow)
_LOCK_INSTALLATION = f"SELECT pg_advisory_xact_lock(hashtextextended(%s, 0)), {PLANNED_ONCE}"
_LOST = (
    update(SpendRow)
    .where(SpendRow.state == RESERVED, SpendRow.run_id == bindparam("run"))
    .values(state=LOST, outcome=CallOutcome.lost.value, settled_at=bindparam("now"))
    .returning(SpendRow.id, SpendRow.run_id, SpendRow.phase, SpendRow.model, SpendRow.amount)
)
_LOST_OF_STEP = _LOST.where(SpendRow.phase == bindparam("in_phase"), SpendRow.step == bindparam("at_step"))

_USUAL = Breakers()
_UNUSED = Usage().model_dump()


ReservationCheck = Callable[[Connection, RunCallFacts, datetime], Refusal | None]
"""Called first in the transaction of a reservation: refuses it, or raises if nothing may be started any more."""


def _allow(_connection: Connection, _known: RunCallFacts, _now: datetime) -> None:
    return None


class PhaseBudget:
    """The money of one phase of one run, kept in the database. See :class:`domain.ports.ModelBudget`.

    :param limits: limits of the repository's configuration.
    :param ceilings: the operator's limits, which a granted slice cannot exceed either.
    :param before: a further check before every reservation.
    :param breakers: limits of the breakers, as the repository configured them.
    """

    def __init__(
        self,
        database: Database,
        run: Run,
        phase: Phase,
        limits: Limits,
        clock: Clock,
        ceilings: Ceilings = NO_CEILINGS,
        before: ReservationCheck = _allow,
        breakers: Breakers = _USUAL,
    ) -> None:
        self._database = database
        self._run = run
        self._phase = phase
        self._limits = limits
        self._clock = clock
        self._ceilings = ceilings
        self._before = before
        self._breakers = breakers
        self._usual = call_admission.cap_limits(limits, ceilings)
        self._warned: set[str] = set()

    async def reserve(self, step: str, model: str, amount: int) -> Reservation | Refusal:
        now = self._clock.now()
        return await self._database.run_in_transaction(
            lambda connection: self._reserve(connection, step, model, amount, now)
        )

    def _reserve(
        self, connection: Connection, step: str, model: str, amount: int, now: datetime
    ) -> Reservation | Refusal:
        provider, _, _ = model.partition(":")
        _lock_installation(connection, self._run.repository.installation_id)
        known = self._load_facts(connection, step, provider, now)
        if known.sums.open:
            self._give_up(connection, step, now)
            known = self._load_facts(connection, step, provider, now)
        stopped = self._before(connection, known, now)
        if stopped is not None:
            return stopped
        limits = self._extend_limits(known.sums.granted)
        facts = self._build_facts(known, step)
        asked = admit_call(amount, facts, limits, self._ceilings, self._breakers, now)
        if asked.circuit != facts.circuit:
            store_circuit(connection, self._run.repository.id, provider, asked.circuit)
        self._record_breakers(connection, asked, facts.circuit, now)
        if asked.refusal is not None:
            self._record(connection, EventType.budget_refused, now, asked.refusal.model_dump(mode="json"))
            return asked.refusal
        self._record_half_used(connection, list_limit_uses(facts.totals, limits, self._phase), now)
        reservation = Reservation(id=new_id(), amount=amount, warnings=asked.warnings)
        connection.execute(_INSERT, self._row(reservation, step, model, now))
        told = {"spend": reservation.id, "step": step, "model": model, "amount": amount, "warnings": asked.warnings}
        self._record(connection, EventType.budget_reserved, now, told)
        return reservation

    def _load_facts(self, connection: Connection, step: str, provider: str, now: datetime) -> RunCallFacts:
        since = now - timedelta(minutes=self._breakers.error_rate.window_minutes)
        asked = call_facts.bind_values(self._run, self._phase, now, since, step, provider)
        return call_facts.load(connection, self._run, asked, self._sum_installation(connection, now))

    def _sum_installation(self, connection: Connection, now: datetime) -> int:
        """What counts against the installation's ceiling; 0 if it has none."""
        has_ceiling = self._limits.installation is not None or self._ceilings.installation is not None
        return call_facts.sum_installation(connection, self._run, now) if has_ceiling else 0

    def _build_facts(self, known: RunCallFacts, step: str) -> CallFacts:
        return CallFacts(
            phase=self._phase,
            totals=known.sums.totals,
            calls=known.sums.calls,
            granted=known.sums.granted.calls,
            moves=known.moves,
            recent=known.calls,
            circuit=known.sums.circuit,
            caller=f"{self._run.id}/{step}",
        )

    def _record_breakers(self, connection: Connection, asked: CallAdmission, before: Circuit, now: datetime) -> None:
        """Record every trip and every warning as an event; a warning once per limit and execution."""
        if asked.refusal is not None:
            self._record(connection, EventType.breaker_tripped, now, _describe_check(asked.refusal.check))
        if asked.circuit.state is BreakerState.half_open and before.state is not BreakerState.half_open:
            self._record(connection, EventType.breaker_trial, now, {"name": "error_rate"})
        for name in asked.warnings:
            if name not in self._warned:
                self._warned.add(name)
                check = next((each for each in asked.checks if each.name == name), None)
                self._record(
                    connection,
                    EventType.breaker_warning,
                    now,
                    {"name": name} if check is None else _describe_check(check),
                )

    def _record_half_used(self, connection: Connection, used: Sequence[LimitUse], now: datetime) -> None:
        """Record, once per execution, that half of what the phase or the run may spend is used."""
        past = next((use for use in used[:2] if use.limit and 2 * use.used > use.limit), None)
        if past is not None and _HALF not in self._warned:
            self._warned.add(_HALF)
            self._record(connection, EventType.budget_half, now, past.model_dump())

    async def uses(self) -> Sequence[LimitUse]:
        """How far each limit is used now."""
        now = self._clock.now()
        return await self._database.run_in_transaction(lambda connection: self._uses(connection, now))

    def _uses(self, connection: Connection, now: datetime) -> Sequence[LimitUse]:
        asked = call_facts.bind_values(self._run, self._phase, now, now)
        sums = call_facts.load_sums(connection, asked, self._sum_installation(connection, now))
        return list_limit_uses(sums.totals, self._extend_limits(sums.granted), self._phase)

    async def settle(self, reservation: Reservation, receipt: Receipt) -> int:
        now = self._clock.now()
        lost = receipt.outcome is CallOutcome.lost
        amount = reservation.amount if receipt.amount is None or lost else receipt.amount
        await self._database.run_in_transaction(
            lambda connection: self._settle(connection, reservation, receipt, amount, now)
        )
        return amount

    def _settle(
        self, connection: Connection, reservation: Reservation, receipt: Receipt, amount: int, now: datetime
    ) -> None:
        values = {
            "state": LOST if receipt.outcome is CallOutcome.lost else SETTLED,
            "amount": amount,
            **receipt.usage.model_dump(),
            "outcome": receipt.outcome.value,
            "problem": receipt.problem[:500],
            "seconds": receipt.seconds,
            "settled_at": now,
        }
        changed = connection.execute(
            update(SpendRow)
            .where(SpendRow.id == reservation.id, SpendRow.state == RESERVED)
            .values(**values)
            .returning(SpendRow.repository_id, SpendRow.model, SpendRow.run_id, SpendRow.step)
        ).first()
        if changed is None:
            return
        repository_id, model, run_id, step = changed
        provider, _, _ = model.partition(":")
        self._settle_circuit(connection, repository_id, provider, f"{run_id}/{step}", receipt.outcome, now)
        facts = {"spend": reservation.id, "model": model, "amount": amount, "outcome": receipt.outcome.value}
        self._record(connection, EventType.budget_settled, now, facts, receipt, amount)

    def _settle_circuit(
        self,
        connection: Connection,
        repository_id: int,
        provider: str,
        caller: str,
        outcome: CallOutcome,
        now: datetime,
    ) -> None:
        """The outcome of a trial closes the circuit or opens it again."""
        before = load_circuit(connection, repository_id, provider)
        is_well = outcome in {CallOutcome.answered, CallOutcome.refused}
        after = settle_call(before, caller, is_well, self._breakers.error_rate, now)
        if after != before:
            store_circuit(connection, repository_id, provider, after)
            kind = EventType.breaker_closed if after.state is BreakerState.closed else EventType.breaker_tripped
            self._record(connection, kind, now, {"name": "error_rate", "provider": provider})

    def _give_up(self, connection: Connection, step: str, now: datetime) -> None:
        """Settle the reservations of an earlier, interrupted try of this step: nobody knows whether it was charged.

        They count in full before and after, so the sums do not change.
        """
        _settle_lost(connection, now, self._run.id, in_phase=self._phase.value, at_step=step)

    def _extend_limits(self, granted: BudgetExtension) -> Limits:
        """The limits with what people granted, within the operator's ceilings."""
        if not granted.amount:
            return self._usual
        return call_admission.cap_limits(
            call_admission.raise_limits(self._limits, self._phase, granted.amount), self._ceilings
        )

    def _row(self, reservation: Reservation, step: str, model: str, now: datetime) -> dict[str, object]:
        return dict(
            id=reservation.id,
            run_id=self._run.id,
            repository_id=self._run.repository.id,
            installation_id=self._run.repository.installation_id,
            phase=self._phase.value,
            step=step,
            model=model,
            day=utc_day(now),
            state=RESERVED,
            reserved=reservation.amount,
            amount=reservation.amount,
            **_UNUSED,
            outcome="",
            problem="",
            seconds=0.0,
            reserved_at=now,
            settled_at=None,
        )

    def _record(
        self,
        connection: Connection,
        kind: EventType,
        now: datetime,
        facts: Mapping[str, object],
        receipt: Receipt | None = None,
        amount: int = 0,
    ) -> None:
        ledger.record(
            connection,
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

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            self.amount + other.amount,
            self.reserved + other.reserved,
            self.calls + other.calls,
            self.usage + other.usage,
        )


@dataclass(frozen=True)
class Share:
    """What one phase spent with one model."""

    phase: str
    model: str
    spent: Spent


async def sum_run(database: Database, run_id: str, phase: Phase | None = None) -> Spent:
    """What a run spent, or one phase of it."""
    where = [SpendRow.run_id == run_id]
    return await _sum(database, *where, *([] if phase is None else [SpendRow.phase == phase.value]))


async def load_cost(database: Database, run_id: str) -> int:
    """What a run cost so far, in micro-USD."""
    return (await sum_run(database, run_id)).amount


async def sum_repository(database: Database, repository_id: int, day: datetime | None = None) -> Spent:
    """What a repository spent, on the UTC day of a time or in all."""
    where = [SpendRow.repository_id == repository_id]
    return await _sum(database, *where, *([] if day is None else [SpendRow.day == utc_day(day)]))


async def sum_installation(database: Database, installation_id: int, day: datetime | None = None) -> Spent:
    """What all repositories of an installation spent, on the UTC day of a time or in all."""
    where = [SpendRow.installation_id == installation_id]
    return await _sum(database, *where, *([] if day is None else [SpendRow.day == utc_day(day)]))


async def list_shares(database: Database, *, run_id: str) -> Sequence[Share]:
    """Cost of a run by phase and model, the dearest first."""
    query = select(SpendRow.phase, SpendRow.model, *SPENT_COLUMNS).where(SpendRow.run_id == run_id)
    rows = await database.rows(query.group_by(SpendRow.phase, SpendRow.model))
    found = [Share(row[0], row[1], parse_spent(row[2:])) for row in rows]
    return sorted(found, key=lambda share: (-share.spent.amount, share.phase, share.model))


async def close(database: Database, run_id: str, now: datetime, **of_step: str) -> int:
    """Settle the open reservations of an ended run as lost, charged in full; returns how many there were.

    :param of_step: ``in_phase`` and ``at_step`` of an ended step, if the whole run did not end.
    """
    return await database.run_in_transaction(lambda connection: _settle_lost(connection, now, run_id, **of_step))


SPENT_COLUMNS = (
    func.coalesce(func.sum(SpendRow.amount), 0),
    func.coalesce(func.sum(case((SpendRow.state == RESERVED, SpendRow.amount), else_=0)), 0),
    func.count(),
    func.coalesce(func.sum(SpendRow.input_tokens), 0),
    func.coalesce(func.sum(SpendRow.output_tokens), 0),
    func.coalesce(func.sum(SpendRow.cache_read_tokens), 0),
    func.coalesce(func.sum(SpendRow.cache_write_tokens), 0),
)
"""The sums over calls, for :func:`parse_spent`."""


def parse_spent(row: Sequence[int]) -> Spent:
    """Reads a row of :data:`SPENT_COLUMNS`."""
    amount, reserved, count, read, written, cache_read, cache_write = map(int, row)
    usage = Usage(
        input_tokens=read, output_tokens=written, cache_read_tokens=cache_read, cache_write_tokens=cache_write
    )
    return Spent(amount, reserved, count, usage)


async def _sum(database: Database, *where: ColumnElement[bool]) -> Spent:
    return parse_spent((await database.rows(select(*SPENT_COLUMNS).where(*where)))[0])


def _describe_check(check: Check) -> dict[str, object]:
    return {"name": check.name, **check.reason.model_dump(include={"code", "text", "value", "threshold"})}


def _lock_installation(connection: Connection, installation_id: int) -> None:
    """Lock the installation until the end of the transaction, whose look-ups are all by keys.

    The statement is text because it runs before each call, and finding it in SQLAlchemy's cache would take as long.
    """
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # it has one writer
    else:
        connection.exec_driver_sql(_LOCK_INSTALLATION, (f"installation:{installation_id}",))


def _settle_lost(connection: Connection, now: datetime, run_id: str, **of_step: str) -> int:
    """Settle reservations whose calls got lost. The reserved amount stays.

    :param of_step: ``in_phase`` and ``at_step`` of the run's reservations; none: all of them.
    """
    lost = _LOST_OF_STEP if of_step else _LOST
    rows = connection.execute(lost, {"run": run_id, "now": now, **of_step}).all()
    for spend, run_id, phase, model, amount in rows:
        facts = {"spend": spend, "model": model, "amount": amount, "outcome": CallOutcome.lost.value}
        ledger.record(
            connection,
            run_id,
            EventType.budget_settled,
            now,
            source="purse",
            phase=Phase(phase),
            payload=facts,
            cost=amount / MICRO,
        )
    return len(rows)
