"""Decides whether the next call of a model may be made: the one place where every breaker is asked."""

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
    """What the database knows before a call.

    :param calls: of models, in this phase of this run; ``granted`` beyond the limit by people.
    :param moves: when the run worked and when it waited, and in which phases.
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
    """What was decided: a refusal or none, every breaker's verdict, and the circuit as it is stored now."""

    refusal: Refusal | None
    checks: Sequence[Check]
    warnings: tuple[str, ...]
    circuit: Circuit


def admit_call(
    wanted: int, facts: CallFacts, limits: Limits, ceilings: Ceilings, configured: Breakers, now: datetime
) -> CallAdmission:
    """Ask the breakers in their order: calls, time, money, errors. The first that is open decides.

    The circuit is asked last, so that its one trial is not given to a call that something else refuses.

    :param wanted: the call's worst case in micro-USD.
    :param limits: with what people granted, within the ceilings.
    """
    limits_of_calls = configured.iteration
    of_phase: int = getattr(limits_of_calls, facts.phase.value, limits_of_calls.other)
    calls = _measure_headroom(ceilings.calls, of_phase, facts.granted)
    minutes = _measure_headroom(
        ceilings.minutes, configured.time.total, facts.granted
    )  # a slice of calls is one of time, too
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
    """What people granted, as far as the operator allows it, and whether they could grant more."""

    granted: int
    has_more: bool


def _measure_headroom(ceiling: int | None, limit: int, granted: int) -> _Headroom:
    if ceiling is None:
        return _Headroom(granted, has_more=True)
    room = max(0, ceiling - limit)
    return _Headroom(min(granted, room), has_more=granted < room)


def _refuse(check: Check, room: _Headroom) -> Refusal:
    """A person can let it go on, unless the operator allows no more."""
    if room.has_more:
        return Refusal(check=check, gate="guard")
    return Refusal(check=check.model_copy(update={"suggestion": budgets.AT_CEILING}))
