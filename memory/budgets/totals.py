"""Adds up what limits a call of a model, in statements that are part of one look, since it is asked before each one.

The statements are put together once: that would take longer than asking them.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import String, and_, bindparam, func, null, select

from domain.money import BudgetExtension, CallOutcome, Totals
from domain.runs.run import Phase, Run
from memory.db.engine import Connection
from memory.db.tables.gates import GateRow
from memory.db.tables.money import BudgetRow, CircuitRow, SpendRow
from memory.repositories.permits import PERMIT_COLUMNS, RunPermit
from safety.breakers import CallResult, Circuit

_NEW = Circuit()
RESERVED = "reserved"
"""The state of a call that may be on its way."""


class Sums(NamedTuple):
    """What counts against each limit, the calls of the phase, what people granted it, and the provider's circuit.

    :param open: calls of this step that were reserved and never settled.
    :param gates: how often the run asked people.
    """

    permit: RunPermit
    gates: int
    totals: Totals
    calls: int
    open: int
    granted: BudgetExtension
    circuit: Circuit


_OF_PHASE = SpendRow.phase == bindparam("phase")
_UNFINISHED = and_(_OF_PHASE, SpendRow.step == bindparam("step"), SpendRow.state == RESERVED)
_TODAY = (SpendRow.installation_id == bindparam("installation")) & (SpendRow.day == bindparam("day"))
_AMOUNT = select(func.coalesce(func.sum(SpendRow.amount), 0))
_OF_RUN = (
    select(
        func.sum(SpendRow.amount).filter(_OF_PHASE).label("phase"),
        func.sum(SpendRow.amount).label("run"),
        func.count().filter(_OF_PHASE).label("calls"),
        func.count().filter(_UNFINISHED).label("open"),
    )
    .where(SpendRow.run_id == bindparam("run"))
    .subquery()
)
SELECT_SUMS = select(
    *PERMIT_COLUMNS,
    select(func.count()).where(GateRow.run_id == bindparam("run")).scalar_subquery(),
    *_OF_RUN.c,
    _AMOUNT.where(_TODAY, SpendRow.repository_id == bindparam("repository")).scalar_subquery(),
    select(BudgetRow.granted).where(BudgetRow.scope == bindparam("slice")).scalar_subquery(),
    select(BudgetRow.granted).where(BudgetRow.scope == bindparam("calls")).scalar_subquery(),
    select(CircuitRow.circuit)
    .where(CircuitRow.repository_id == bindparam("repository"), CircuitRow.provider == bindparam("provider"))
    .scalar_subquery(),
)
"""What counts before a call, in one row: what :func:`bind_values` asks for, which :func:`sums` understands."""

_OF_INSTALLATION = _AMOUNT.where(_TODAY)
_PREFIX = bindparam("prefix", type_=String)
SELECT_RECENT = select(SpendRow.id, SpendRow.settled_at, SpendRow.outcome, null()).where(
    SpendRow.repository_id == bindparam("repository"),
    SpendRow.day >= bindparam("first_day"),
    SpendRow.settled_at > bindparam("since"),
    func.substr(SpendRow.model, 1, func.length(_PREFIX)) == _PREFIX,
)
"""How the calls of a provider ended that a ``repository`` made since a moment: what :func:`since` asks for."""


def bind_values(run: Run, phase: Phase, now: datetime, step: str = "", provider: str = "") -> dict[str, object]:
    """What :data:`SELECT_SUMS` is asked for, before a call of a provider."""
    asked = {
        "run": run.id,
        "phase": phase.value,
        "repository": run.repository.id,
        "number": run.number,
        "slice": amount_scope(run.id, phase),
        "calls": calls_scope(run.id, phase),
        "provider": provider,
        "step": step,
    }
    return asked | _bind_today(run, now)


def parse_sums(row: Sequence[Any], installation: int) -> Sums:
    """What counts, by the row of :data:`SELECT_SUMS`.

    :param installation: what all of its repositories spent today, in micro-USD.
    """
    halted, paused, fence, gates, *numbers, circuit = row
    own, whole, calls, unfinished, daily, amount, more = (int(each or 0) for each in numbers)
    return Sums(
        permit=RunPermit(bool(halted), bool(paused), fence),
        gates=gates,
        totals=Totals(phase=own, run=whole, day=daily, installation=installation),
        calls=calls,
        open=unfinished,
        granted=BudgetExtension(amount=amount, calls=more),
        circuit=_NEW if circuit is None else Circuit.model_validate(circuit),
    )


def sum_installation(connection: Connection, run: Run, now: datetime) -> int:
    """What all repositories of the run's installation spent today, in micro-USD."""
    return int(connection.execute(_OF_INSTALLATION, _bind_today(run, now)).scalar_one())


def _bind_today(run: Run, now: datetime) -> dict[str, object]:
    return {"installation": run.repository.installation_id, "day": utc_day(now)}


def bind_recent(moment: datetime, provider: str) -> dict[str, object]:
    """What :data:`SELECT_RECENT` is asked for."""
    return {"first_day": utc_day(moment), "since": moment, "prefix": f"{provider}:"}


def parse_calls(rows: Iterable[Sequence[Any]]) -> Sequence[CallResult]:
    """Calls, by the rows of :data:`SELECT_RECENT`."""
    return [CallResult(at, outcome != CallOutcome.answered.value) for _, at, outcome, _ in rows]


def amount_scope(run_id: str, phase: Phase) -> str:
    """The scope under which the money is kept that people granted a phase."""
    return f"run:{run_id}/{phase.value}"


def calls_scope(run_id: str, phase: Phase) -> str:
    """The scope under which the calls are kept that people granted a phase."""
    return f"calls:{run_id}/{phase.value}"


def utc_day(moment: datetime) -> str:
    """The UTC day of a moment."""
    return moment.astimezone(UTC).date().isoformat()
