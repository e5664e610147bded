"""Decides whether the next model call may be made: budgets, and the one place that asks every breaker."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from domain.config.limits import Breakers, Budgets
from domain.money import MICRO, NO_CEILINGS, SCOPES, Ceilings, Limits, LimitScope, Refusal, Totals, format_usd, to_micro
from domain.runs.run import Phase
from domain.verdicts import BreakerState, Check, Reason
from safety import breakers
from safety.breakers import CallResult, Circuit, RunTransition

WARN_AT = 0.8
"""The share of a limit from which Forge warns, and asks a person."""

_ASKS_A_PERSON = f"; from {WARN_AT:.0%} of it on, Forge asks a person"
_BY_PEOPLE = frozenset({LimitScope.phase, LimitScope.run})
"""The limits that a budget extension raises; those of a day and an installation wait for midnight."""

_ADVICE = {
    LimitScope.phase: "`/forge continue 5usd` grants more, `/forge accept` keeps the work so far; or raise "
    "`budgets.phase.{phase}` in `.github/forge.yml`.",
    LimitScope.run: "`/forge continue 5usd` grants more, `/forge accept` keeps the work so far; or raise "
    "`budgets.run` in `.github/forge.yml`.",
    LimitScope.day: "Wait until midnight UTC or raise `budgets.day` in `.github/forge.yml`.",
    LimitScope.installation: (
        "Wait until midnight UTC or ask the operator of Forge to raise FORGE_CEILING_INSTALLATION."
    ),
}
AT_CEILING = "The operator allows no more: have a person review, or ask the operator of Forge."


def find_refusal(
    wanted: int, totals: Totals, limits: Limits, phase: Phase, ceilings: Ceilings = NO_CEILINGS
) -> Refusal | None:
    """Returns the refusal by the narrowest limit that the call's worst case would exceed; None if there is none.

    At 80 % of a phase's or a run's budget Forge asks a person for more (gate ``cost_overrun``), so
    that a cap pauses the work instead of ending it. If nothing can be granted, the limit itself applies.

    :param wanted: the call's worst case in micro-USD. A call that costs nothing is never refused.
    :param ceilings: of the operator; the limits already respect them.
    """
    if wanted == 0:
        return None
    for scope in LimitScope:
        limit, current = limits.limit(scope, phase), totals.total(scope)
        if limit is None:
            continue
        asks = scope in _BY_PEOPLE and limit > 0 and not _is_ceiling(limit, scope, ceilings)
        if current + wanted > (WARN_AT * limit if asks else limit):
            return _refuse_budget(scope, phase, wanted, current, limit, asks=asks, ceilings=ceilings)
    return None


def explain_beside_run(refusal: Refusal, phase: Phase) -> str:
    """Why a call beside a run was refused, and what to do: no gate asks anybody there, and no slice pays for it."""
    if refusal.gate is None:
        return f"{refusal.message} {refusal.advice}"
    setting = "budgets.run" if refusal.check.reason.code == f"cost.{LimitScope.run}" else f"budgets.phase.{phase.value}"
    why = refusal.message.replace(_ASKS_A_PERSON, f"; from {WARN_AT:.0%} of it on, Forge makes no such call")
    if phase is Phase.reflection:  # no setting of a repository has it
        return f"{why} That is for replies and side tasks of a run; `/forge ask` has a budget of its own."
    return f"{why} Raise `{setting}` in `.github/forge.yml`, then ask again."


def list_warnings(wanted: int, totals: Totals, limits: Limits, phase: Phase) -> tuple[str, ...]:
    """The limits that this call would bring to 80 % or more."""
    return tuple(
        f"cost.{scope}"
        for scope in LimitScope
        if (limit := limits.limit(scope, phase)) and totals.total(scope) + wanted >= WARN_AT * limit
    )


def limits_of(budgets: Budgets) -> Limits:
    """The limits of a repository's configuration."""
    usual = Limits().phase
    phases = {phase: to_micro(getattr(budgets.phase, phase.value, usual[phase] / MICRO)) for phase in Phase}
    return Limits(phase=phases, run=to_micro(budgets.run), day=to_micro(budgets.day))


def cap_limits(limits: Limits, ceilings: Ceilings) -> Limits:
    """The limits, capped at the operator's ceilings."""
    return Limits(
        phase={phase: _lower(amount, ceilings.phase) for phase, amount in limits.phase.items()},
        run=_lower(limits.run, ceilings.run),
        day=_lower(limits.day, ceilings.day),
        installation=ceilings.installation
        if limits.installation is None
        else _lower(limits.installation, ceilings.installation),
    )


def raise_limits(limits: Limits, phase: Phase, granted: int) -> Limits:
    """The limits with an extension that a person granted; it raises both the phase's and the run's."""
    own = limits.limit(LimitScope.phase, phase) or 0
    return limits.model_copy(update={"phase": {**limits.phase, phase: own + granted}, "run": limits.run + granted})


def _refuse_budget(
    scope: LimitScope, phase: Phase, wanted: int, current: int, limit: int, *, asks: bool, ceilings: Ceilings
) -> Refusal:
    name = SCOPES[scope].format(phase=phase.value)
    bound = _ASKS_A_PERSON if asks else ""
    reason = Reason(
        code=f"cost.{scope}",
        text=(
            f"the call could cost {format_usd(wanted)}, and of the {name}, {format_usd(limit)}, "
            f"{format_usd(current)} is spent or reserved{bound}."
        ),
        value=(current + wanted) / MICRO,
        threshold=limit * (WARN_AT if asks else 1) / MICRO,
    )
    advice = AT_CEILING if scope in _BY_PEOPLE and _is_ceiling(limit, scope, ceilings) else _ADVICE[scope]
    check = Check(name="cost", state=BreakerState.open, reason=reason, suggestion=advice.format(phase=phase.value))
    return Refusal(check=check, gate="cost_overrun" if asks else None)


def _is_ceiling(limit: int, scope: LimitScope, ceilings: Ceilings) -> bool:
    ceiling = ceilings.phase if scope is LimitScope.phase else ceilings.run
    return ceiling is not None and limit >= ceiling


def _lower(amount: int, ceiling: int | None) -> int:
    return amount if ceiling is None else min(amount, ceiling)


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
    stopped = stopped or find_refusal(wanted, facts.totals, limits, facts.phase, ceilings)
    circuit = facts.circuit
    if stopped is None:
        errors, circuit = breakers.check_error_rate(
            facts.recent, facts.circuit, configured.error_rate, now, facts.caller
        )
        used.append(errors)
        stopped = Refusal(check=errors) if errors.should_break else None
    costs = list_warnings(wanted, facts.totals, limits, facts.phase)
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
    return Refusal(check=check.model_copy(update={"suggestion": AT_CEILING}))
