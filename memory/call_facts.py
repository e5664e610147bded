"""Loads every fact the breakers, budgets and guards need before a model call, in one transaction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import String, and_, bindparam, func, select

from domain.gates import Gate
from domain.money import BudgetExtension, CallOutcome, Totals
from domain.runs.run import Phase, Run
from memory import gates, ledger
from memory.db.engine import Connection
from memory.db.tables.repositories import EVERYWHERE, GateRow, RepositoryRow
from memory.db.tables.runs import BudgetRow, CircuitRow, PullRequestRow, SpendRow
from memory.repositories import budgets
from memory.repositories.permits import RunPermit
from memory.runs import model_answers
from memory.runs.model_answers import ModelTurn
from safety.breakers import CallResult, Circuit, RunTransition
from safety.guards import find_release

RESERVED = "reserved"
"""The state of a call that may be under way."""

_NEW = Circuit()


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


@dataclass(frozen=True)
class RunCallFacts:
    """The facts of a run before a call.

    :param turns: since a person last released the run.
    :param calls: recent calls of the provider, by any run of the repository.
    """

    sums: Sums
    gates: Sequence[Gate]
    turns: Sequence[ModelTurn]
    moves: Sequence[RunTransition]
    calls: Sequence[CallResult]


_AMOUNT = select(func.coalesce(func.sum(SpendRow.amount), 0))
_TODAY = (SpendRow.installation_id == bindparam("installation")) & (SpendRow.day == bindparam("day"))
_OF_INSTALLATION = _AMOUNT.where(_TODAY)
_OF_PHASE = SpendRow.phase == bindparam("phase")
_UNFINISHED = and_(_OF_PHASE, SpendRow.step == bindparam("step"), SpendRow.state == RESERVED)
_OF_RUN = (
    select(
        func.sum(SpendRow.amount).filter(_OF_PHASE).label("of_phase"),
        func.sum(SpendRow.amount).label("of_run"),
        func.count().filter(_OF_PHASE, SpendRow.outcome != CallOutcome.refused.value).label("calls"),
        func.count().filter(_UNFINISHED).label("open"),
    )
    .where(SpendRow.run_id == bindparam("run"))
    .subquery()
)
_FENCE = select(PullRequestRow.fence).where(
    PullRequestRow.repository_id == bindparam("repository"), PullRequestRow.number == bindparam("number")
)
_CIRCUIT = select(CircuitRow.circuit).where(
    CircuitRow.repository_id == bindparam("repository"), CircuitRow.provider == bindparam("provider")
)
_GRANTED = select(BudgetRow.granted)
_PAUSED = select(RepositoryRow.repository_id).where(RepositoryRow.paused_since.is_not(None))
_SELECT_SUMS = select(
    _PAUSED.where(RepositoryRow.repository_id == EVERYWHERE).exists().label("halted"),
    _PAUSED.where(RepositoryRow.repository_id == bindparam("repository")).exists().label("paused"),
    _FENCE.label("fence"),
    select(func.count()).where(GateRow.run_id == bindparam("run")).label("gates"),
    *_OF_RUN.c,
    _AMOUNT.where(_TODAY, SpendRow.repository_id == bindparam("repository")).label("today"),
    _GRANTED.where(BudgetRow.scope == bindparam("amount_scope")).label("granted_amount"),
    _GRANTED.where(BudgetRow.scope == bindparam("calls_scope")).label("granted_calls"),
    _CIRCUIT.label("circuit"),
)
_PREFIX = bindparam("prefix", type_=String)
_SELECT_CALLS = select(SpendRow.settled_at, SpendRow.outcome).where(
    SpendRow.repository_id == bindparam("repository"),
    SpendRow.day >= bindparam("first_day"),
    SpendRow.settled_at > bindparam("since"),
    func.substr(SpendRow.model, 1, func.length(_PREFIX)) == _PREFIX,
)


def bind_values(
    run: Run, phase: Phase, now: datetime, since: datetime, step: str = "", provider: str = ""
) -> dict[str, object]:
    """The parameters of the queries, before a call of a provider.

    :param since: calls of the provider that ended after it are recent.
    """
    return {
        "run": run.id,
        "phase": phase.value,
        "repository": run.repository.id,
        "number": run.fence_number,
        "amount_scope": budgets.amount_scope(run.id, phase),
        "calls_scope": budgets.calls_scope(run.id, phase),
        "provider": provider,
        "step": step,
        "first_day": utc_day(since),
        "since": since,
        "prefix": f"{provider}:",
        **_bind_today(run, now),
    }


def load(connection: Connection, run: Run, asked: Mapping[str, object], installation: int) -> RunCallFacts:
    """The facts of a run.

    :param asked: see :func:`bind_values`.
    :param installation: what its repositories spent today, in micro-USD.
    """
    sums = load_sums(connection, asked, installation)
    known = gates.list_within(connection, run.id) if sums.gates else ()
    return RunCallFacts(
        sums=sums,
        gates=known,
        turns=_drop_old_turns(known, model_answers.load_turns(connection, run.id)),
        moves=ledger.load_moves(connection, run.id),
        calls=_load_calls(connection, asked),
    )


def load_sums(connection: Connection, asked: Mapping[str, object], installation: int) -> Sums:
    """The sums alone, when no call follows."""
    row = connection.execute(_SELECT_SUMS, dict(asked)).mappings().one()
    return _parse_sums(row, installation)


def sum_installation(connection: Connection, run: Run, now: datetime) -> int:
    """What all repositories of the run's installation spent today, in micro-USD."""
    return int(connection.execute(_OF_INSTALLATION, _bind_today(run, now)).scalar_one())


def utc_day(moment: datetime) -> str:
    """The UTC day of a time."""
    return moment.astimezone(UTC).date().isoformat()


def _bind_today(run: Run, now: datetime) -> dict[str, object]:
    return {"installation": run.repository.installation_id, "day": utc_day(now)}


def _parse_sums(row: Mapping[Any, Any], installation: int) -> Sums:
    return Sums(
        permit=RunPermit(bool(row["halted"]), bool(row["paused"]), row["fence"]),
        gates=row["gates"],
        totals=Totals(
            phase=int(row["of_phase"] or 0),
            run=int(row["of_run"] or 0),
            day=int(row["today"]),
            installation=installation,
        ),
        calls=row["calls"],
        open=row["open"],
        granted=BudgetExtension(amount=row["granted_amount"] or 0, calls=row["granted_calls"] or 0),
        circuit=_NEW if row["circuit"] is None else Circuit.model_validate(row["circuit"]),
    )


def _load_calls(connection: Connection, asked: Mapping[str, object]) -> Sequence[CallResult]:
    rows = connection.execute(_SELECT_CALLS, dict(asked)).mappings()
    counted = (row for row in rows if row["outcome"] != CallOutcome.refused.value)
    return [CallResult(row["settled_at"], row["outcome"] != CallOutcome.answered.value) for row in counted]


def _drop_old_turns(known: Sequence[Gate], turns: Sequence[ModelTurn]) -> Sequence[ModelTurn]:
    last = find_release(known)
    return turns if last is None else [each for each in turns if each.at > last.at]
