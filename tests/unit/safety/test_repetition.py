"""A verdict stands; a head without one is reviewed again, unless a person stopped it."""

import pytest

from domain.commands import Repeat
from domain.runs.run import ReasonCode, RunState
from safety.eligibility import is_due

VERDICT = (RunState.completed, ReasonCode.none)
EXCLUDED = (RunState.completed, ReasonCode.excluded)
LIVE = (RunState.running, ReasonCode.none)
SUPERSEDED = (RunState.cancelled, ReasonCode.superseded)
PAUSED = (RunState.cancelled, ReasonCode.paused)
FAILED = (RunState.failed, ReasonCode.error)
STOPPED = (RunState.cancelled, ReasonCode.aborted)
TOO_MANY = (RunState.failed, ReasonCode.guard)
ALL = [VERDICT, EXCLUDED, LIVE, SUPERSEDED, PAUSED, FAILED, STOPPED, TOO_MANY]


@pytest.mark.parametrize(
    ("repeat", "due"),
    [
        (Repeat.never, [SUPERSEDED, PAUSED, FAILED]),
        (Repeat.if_excluded, [EXCLUDED, LIVE, SUPERSEDED, PAUSED, FAILED, STOPPED, TOO_MANY]),
        (Repeat.unless_reviewed, [EXCLUDED, SUPERSEDED, PAUSED, FAILED, STOPPED, TOO_MANY]),
        (Repeat.always, ALL),
    ],
)
def test_what_is_repeated(repeat: Repeat, due: list[tuple[RunState, ReasonCode]]) -> None:
    assert [ended for ended in ALL if is_due(repeat, *ended)] == due
