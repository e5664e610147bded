"""Decides whether a head that a run was about before is reviewed once more."""

from domain.commands import Repeat
from domain.runs.run import ReasonCode, RunState

_STOPPED = frozenset({ReasonCode.aborted, ReasonCode.guard})


def is_due(repeat: Repeat, state: RunState, reason: ReasonCode) -> bool:
    """Whether another run may begin on a head, after the last one there is in this state.

    A verdict that stands is not repeated unasked. A run that ended without one leaves its head unreviewed, whatever
    ended it; but what a person stopped, or what was too much, only a person begins again.
    """
    if repeat is Repeat.always:
        return True
    if repeat is Repeat.anew:
        return state.is_final or reason is ReasonCode.gate
    if repeat is Repeat.if_begun:
        return not state.is_final and reason is not ReasonCode.gate
    if not state.is_final:
        return repeat is Repeat.if_excluded  # it may have seen the draft that is none any more
    if state is RunState.completed:
        return reason is ReasonCode.excluded and repeat is not Repeat.never
    return repeat is not Repeat.never or reason not in _STOPPED
