"""Decides whether a call of a model may be paid for, from what is spent and reserved and what the limits are."""

from domain.configuration import Budgets
from domain.money import Ceilings, Limits, Refusal, Scope, Totals, micro
from domain.runs import Phase

WARN_AT = 0.8
"""SPEC S4: share of a limit from which on a warning is due."""


def refusal(wanted: int, totals: Totals, limits: Limits, phase: Phase) -> Refusal | None:
    """Why a call must not be made, for the narrowest limit its worst case would pass; None if it may.

    :param wanted: the call's worst case in micro-USD. A call that costs nothing is never refused.
    """
    if wanted == 0:
        return None
    for scope in Scope:
        limit, current = limits.of(scope, phase), totals.of(scope)
        if limit is not None and current + wanted > limit:
            return Refusal(scope=scope, phase=phase, current=current, limit=limit, wanted=wanted)
    return None


def warnings(wanted: int, totals: Totals, limits: Limits, phase: Phase) -> tuple[Scope, ...]:
    """The limits of which, with this call, four fifths or more are used or reserved."""
    return tuple(
        scope for scope in Scope if (limit := limits.of(scope, phase)) and totals.of(scope) + wanted >= WARN_AT * limit
    )


def limits_of(budgets: Budgets) -> Limits:
    """The limits a repository configured."""
    phases = {phase: micro(getattr(budgets.phase, phase.value)) for phase in Phase}
    return Limits(phase=phases, run=micro(budgets.run), day=micro(budgets.day))


def capped(limits: Limits, ceilings: Ceilings) -> Limits:
    """The limits, none above the operator's ceilings."""
    return Limits(
        phase={phase: _lower(amount, ceilings.phase) for phase, amount in limits.phase.items()},
        run=_lower(limits.run, ceilings.run),
        day=_lower(limits.day, ceilings.day),
        installation=ceilings.installation
        if limits.installation is None
        else _lower(limits.installation, ceilings.installation),
    )


def raised(limits: Limits, phase: Phase, granted: int) -> Limits:
    """The limits with a slice that a person granted: it raises both the phase's and the run's (CONTRACT, gates)."""
    own = limits.of(Scope.phase, phase) or 0
    return limits.model_copy(update={"phase": {**limits.phase, phase: own + granted}, "run": limits.run + granted})


def _lower(amount: int, ceiling: int | None) -> int:
    return amount if ceiling is None else min(amount, ceiling)
