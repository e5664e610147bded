"""Decides whether a call of a model may be paid for, from what is spent and reserved and what the limits are."""

from domain.config.limits import Budgets
from domain.money import MICRO, NO_CEILINGS, SCOPES, Ceilings, Limits, LimitScope, Refusal, Totals, format_usd, to_micro
from domain.runs.run import Phase
from domain.verdicts import BreakerState, Check, Reason

WARN_AT = 0.8
"""Share of a limit from which a warning is due, and share from which a person is asked."""

_BY_PEOPLE = frozenset({LimitScope.phase, LimitScope.run})
"""The limits that a granted slice raises; a day and an installation wait for midnight."""

_ADVICE = {
    LimitScope.phase: "`/forge continue 5usd` grants another slice, `/forge accept` keeps what there is; or raise "
    "`budgets.phase.{phase}` in `.github/forge.yml`.",
    LimitScope.run: "`/forge continue 5usd` grants another slice, `/forge accept` keeps what there is; or raise "
    "`budgets.run` in `.github/forge.yml`.",
    LimitScope.day: "Wait until midnight UTC or raise `budgets.day` in `.github/forge.yml`.",
    LimitScope.installation: (
        "Wait until midnight UTC or ask whoever operates Forge to raise FORGE_CEILING_INSTALLATION."
    ),
}
AT_CEILING = "The operator allows no more: have a person review, or ask whoever operates Forge."


def find_refusal(
    wanted: int, totals: Totals, limits: Limits, phase: Phase, ceilings: Ceilings = NO_CEILINGS
) -> Refusal | None:
    """Why a call must not be made, for the narrowest limit its worst case would pass; None if it may.

    At four fifths of a phase's or a run's budget a person is asked for another slice (gate ``cost_overrun``), so
    that a cap pauses the work instead of throwing it away. Where no slice could be granted, the limit itself holds.

    :param wanted: the call's worst case in micro-USD. A call that costs nothing is never refused.
    :param ceilings: of the operator, within which the limits are already.
    """
    if wanted == 0:
        return None
    for scope in LimitScope:
        limit, current = limits.limit(scope, phase), totals.total(scope)
        if limit is None:
            continue
        asks = scope in _BY_PEOPLE and limit > 0 and not _is_ceiling(limit, scope, ceilings)
        if current + wanted > (WARN_AT * limit if asks else limit):
            return _refuse(scope, phase, wanted, current, limit, asks=asks, ceilings=ceilings)
    return None


def list_warnings(wanted: int, totals: Totals, limits: Limits, phase: Phase) -> tuple[str, ...]:
    """The limits of which, with this call, four fifths or more are used or reserved."""
    return tuple(
        f"cost.{scope}"
        for scope in LimitScope
        if (limit := limits.limit(scope, phase)) and totals.total(scope) + wanted >= WARN_AT * limit
    )


def limits_of(budgets: Budgets) -> Limits:
    """The limits a repository configured; what it does not set is as usual."""
    usual = Limits().phase
    phases = {phase: to_micro(getattr(budgets.phase, phase.value, usual[phase] / MICRO)) for phase in Phase}
    return Limits(phase=phases, run=to_micro(budgets.run), day=to_micro(budgets.day))


def cap_limits(limits: Limits, ceilings: Ceilings) -> Limits:
    """The limits, none above the operator's ceilings."""
    return Limits(
        phase={phase: _lower(amount, ceilings.phase) for phase, amount in limits.phase.items()},
        run=_lower(limits.run, ceilings.run),
        day=_lower(limits.day, ceilings.day),
        installation=ceilings.installation
        if limits.installation is None
        else _lower(limits.installation, ceilings.installation),
    )


def raise_limits(limits: Limits, phase: Phase, granted: int) -> Limits:
    """The limits with a slice that a person granted: it raises both the phase's and the run's."""
    own = limits.limit(LimitScope.phase, phase) or 0
    return limits.model_copy(update={"phase": {**limits.phase, phase: own + granted}, "run": limits.run + granted})


def _refuse(
    scope: LimitScope, phase: Phase, wanted: int, current: int, limit: int, *, asks: bool, ceilings: Ceilings
) -> Refusal:
    name = SCOPES[scope].format(phase=phase.value)
    bound = f"; from {WARN_AT:.0%} of it on a person is asked" if asks else ""
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
