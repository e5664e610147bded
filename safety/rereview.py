"""Decides whether to review a head again."""

from domain.commands import Repeat
from domain.runs.run import ReasonCode, RunState

_STOPPED = frozenset({ReasonCode.aborted, ReasonCode.guard})


def is_due(repeat: Repeat, state: RunState, reason: ReasonCode) -> bool:
    """Whether a new run may start on a head whose last run is in this state.

    Forge does not repeat a verdict unasked. A head whose run ended without one is reviewed again; but
    only a person can restart a run that a person stopped or that exceeded a limit.
    """
    if repeat is Repeat.always:
        return True
    if repeat is Repeat.anew:
        return state.is_final or reason is ReasonCode.gate
    if repeat is Repeat.if_begun:
        return not state.is_final and reason is not ReasonCode.gate
    if not state.is_final:
        return repeat is Repeat.if_excluded  # it may have seen a draft that is now ready
    if state is RunState.completed:
        return reason is ReasonCode.excluded and repeat is not Repeat.never
    return repeat is not Repeat.never or reason not in _STOPPED
