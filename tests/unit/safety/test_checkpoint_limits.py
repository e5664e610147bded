"""When people hear that an agent's work is kept too slowly or not at all: not for a chance, and the gravest only."""

import pytest

from messages.checkpoints import describe_exceeded, render_exceeded
from safety.notices import ExceededLimit, KeepingFacts, KeepingProblem, find_exceeded

SLOW = (0.2, 2.1, 2.2, 3.44)
HELD_UP = (0.0, 0.6, 0.7, 0.8)
WHY = "The disk is *full*."


@pytest.mark.parametrize(
    "facts",
    [
        KeepingFacts(),
        KeepingFacts((0.2,) * 50, (0.1,) * 50),
        KeepingFacts((2.0,) * 50, (0.5,) * 50),
        KeepingFacts((9.0, 9.0), (0.9, 0.9), ("no", "no")),
    ],
)
def test_what_nobody_needs_to_hear(facts: KeepingFacts) -> None:
    assert find_exceeded(facts) is None
    assert render_exceeded(None) == describe_exceeded(None) == ""


@pytest.mark.parametrize(
    ("facts", "expected", "told"),
    [
        (
            KeepingFacts(SLOW, HELD_UP, (WHY,) * 3),
            ExceededLimit(KeepingProblem.failed, 3, 7, why=WHY),
            (
                "The agent's work is not kept as it should be: 3 of 7 checkpoints could not be made, the last one for "
                "this reason: The disk is *full*. If the agent ends early, what it did since the last good one is lost."
            ),
        ),
        (
            KeepingFacts(SLOW, HELD_UP),
            ExceededLimit(KeepingProblem.slow, 3, 4, 3.44, 2.0),
            (
                "Keeping the agent's work is slow: 3 of 4 checkpoints took more than 2 s (3.4 s at most). Nothing is "
                "lost. The machine is busy, or the change large; a larger `execution.checkpoint_seconds` makes fewer "
                "of them."
            ),
        ),
        (
            KeepingFacts((0.9,) * 4, HELD_UP),
            ExceededLimit(KeepingProblem.paused, 3, 4, 0.8, 0.5),
            (
                "The agent is held up: it stood still for more than 0.5 s (0.8 s at most) at 3 of 4 checkpoints. A "
                "larger `execution.checkpoint_seconds` makes fewer of them."
            ),
        ),
    ],
)
def test_what_people_hear(facts: KeepingFacts, expected: ExceededLimit, told: str) -> None:
    found = find_exceeded(facts)
    assert found == expected
    assert describe_exceeded(found) == told
    assert render_exceeded(found).count("\n") == 0
    assert "*full*" not in render_exceeded(found).replace("\\*full\\*", "")
