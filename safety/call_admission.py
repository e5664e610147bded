"""Decides whether the next model call may be made: the one place that asks every breaker."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from domain.config.limits import Breakers
from domain.money import Ceilings, Limits, Refusal, Totals
from domain.runs.run import Phase
from domain.verdicts import Check
from safety import breakers, budgets
from safety.breakers import CallResult, Circuit, RunTransition


@dataclass(frozen=True)
class CallFacts:
    """The facts that the database has before a call.

    :param calls: model calls in this phase of this run; ``granted`` ones are beyond the limit.
    :param moves: when the run worked or waited, and in which phases.
    :param recent: this repository's calls of this provider.
    :param caller: names the call, for the one trial of a circuit.
    """

    phase: Phase
    totals: Totals
    calls: int
    granted: int
    moves: Sequence[RunTransition]
    recent: Sequence[CallResult]
    circuit: Circuit
    caller: str


@dataclass(frozen=True)
class CallAdmission:
    """The decision: a refusal or None, every breaker's check, and the circuit to store."""

    refusal: Refusal | None
    checks: Sequence[Check]
    warnings: tuple[str, ...]
    circuit: Circuit


def admit_call(
    wanted: int, facts: CallFacts, limits: Limits, ceilings: Ceilings, configured: Breakers, now: datetime
) -> CallAdmission:
    """Asks the breakers in order: calls, time, money, errors. The first open one decides.

    The circuit comes last, so that its one trial does not go to a call that another breaker refuses.

    :param wanted: the call's worst case in micro-USD.
    :param limits: with what people granted, within the ceilings.
    """
    limits_of_calls = configured.iteration
    of_phase: int = getattr(limits_of_calls, facts.phase.value, limits_of_calls.other)
    calls = _measure_headroom(ceilings.calls, of_phase, facts.granted)
    minutes = _measure_headroom(ceilings.minutes, configured.time.total, facts.granted)  # granted calls also grant time
    of_run, in_phase = breakers.measure_work(facts.moves, now), breakers.measure_work(facts.moves, now, facts.phase)
    used = [
        breakers.check_iterations(facts.calls, facts.phase, limits_of_calls, calls.granted),
        breakers.check_time(in_phase, of_run, facts.phase, configured.time, timedelta(minutes=minutes.granted)),
    ]
    stopped = next(
        (_refuse(check, room) for check, room in zip(used, (calls, minutes), strict=True) if check.should_break), None
    )
    stopped = stopped or budgets.find_refusal(wanted, facts.totals, limits, facts.phase, ceilings)
    circuit = facts.circuit
    if stopped is None:
        errors, circuit = breakers.check_error_rate(
            facts.recent, facts.circuit, configured.error_rate, now, facts.caller
        )
        used.append(errors)
        stopped = Refusal(check=errors) if errors.should_break else None
    costs = budgets.list_warnings(wanted, facts.totals, limits, facts.phase)
    return CallAdmission(stopped, used, (*(check.name for check in used if check.warns), *costs), circuit)


class _Headroom(NamedTuple):
    """The granted amount within the operator's ceilings, and whether people can grant more."""

    granted: int
    has_more: bool


def _measure_headroom(ceiling: int | None, limit: int, granted: int) -> _Headroom:
    if ceiling is None:
        return _Headroom(granted, has_more=True)
    room = max(0, ceiling - limit)
    return _Headroom(min(granted, room), has_more=granted < room)


def _refuse(check: Check, room: _Headroom) -> Refusal:
    """A person can lift the refusal, unless the operator allows no more."""
    if room.has_more:
        return Refusal(check=check, gate="guard")
    return Refusal(check=check.model_copy(update={"suggestion": budgets.AT_CEILING}))
