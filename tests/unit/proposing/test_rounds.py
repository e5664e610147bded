"""What is next with a proposed change, as a table."""

import pytest

from domain.runs.next_step import (
    MAX_SEND_BACKS,
    HeadOwner,
    NextStep,
    PullRequestState,
    ReviewState,
    SendBack,
    VerificationState,
    next_step,
    would_repeat,
)
from domain.runs.patches import RequiredFix
from domain.runs.run import Phase

HEAD = "b" * 40
OPEN = PullRequestState(is_open=True)


def bounces(*phases: Phase, last: str = "a" * 40) -> list[SendBack]:
    heads = [*("0" * 40 for _ in phases[1:]), last]
    return [SendBack(phase=phase, head=head, to_fix=()) for phase, head in zip(phases, heads, strict=False)]


def stands(**known: object) -> PullRequestState:
    return OPEN.model_copy(update=known)


REVIEWED = {"reviewed": ReviewState.approved}


@pytest.mark.parametrize(
    ("now", "before", "step"),
    [
        (stands(is_open=False), [], NextStep.closed),
        (stands(is_open=False, is_merged=True), [], NextStep.merged),
        (stands(head=HeadOwner.others, reviewed=ReviewState.changes), [], NextStep.taken),
        (stands(head=HeadOwner.earlier, reviewed=ReviewState.changes), [], NextStep.wait),
        (stands(), [], NextStep.wait),
        (stands(reviewed=ReviewState.person), [], NextStep.wait),
        (stands(reviewed=ReviewState.broken), [], NextStep.wait),
        (stands(reviewed=ReviewState.changes), [], NextStep.fix),
        (stands(reviewed=ReviewState.changes), bounces(Phase.review, Phase.review, Phase.testing), NextStep.fix),
        (stands(reviewed=ReviewState.changes), bounces(*[Phase.review] * MAX_SEND_BACKS[Phase.review]), NextStep.help),
        (stands(reviewed=ReviewState.changes), bounces(Phase.review, last=HEAD), NextStep.help),
        (stands(**REVIEWED), [], NextStep.test),
        (stands(**REVIEWED, tested=VerificationState.passed), [], NextStep.ready),
        (stands(**REVIEWED, tested=VerificationState.missing), [], NextStep.untested),
        (stands(**REVIEWED, tested=VerificationState.failed), bounces(*[Phase.review] * 3), NextStep.fix),
        (
            stands(**REVIEWED, tested=VerificationState.failed),
            bounces(*[Phase.testing] * MAX_SEND_BACKS[Phase.testing]),
            NextStep.help,
        ),
        (stands(**REVIEWED, tested=VerificationState.unfixable), [], NextStep.help),
        (stands(**REVIEWED, tested=VerificationState.unable), [], NextStep.untested),
        (stands(reviewed=ReviewState.changes, tested=VerificationState.passed), [], NextStep.fix),
    ],
)
def test_what_is_next(now: PullRequestState, before: list[SendBack], step: NextStep) -> None:
    assert next_step(now, HEAD, before)[0] is step


@pytest.mark.parametrize(
    ("tested", "phase"), [(VerificationState.failed, Phase.testing), (VerificationState.pending, Phase.testing)]
)
def test_the_phase_it_is_about(tested: VerificationState, phase: Phase) -> None:
    assert next_step(stands(**REVIEWED, tested=tested), HEAD, [])[1] is phase
    assert next_step(stands(reviewed=ReviewState.changes, tested=tested), HEAD, [])[1] is Phase.review


def fix(rule: str, line: int = 1, message: str = "It is wrong.") -> RequiredFix:
    return RequiredFix(path="shop/cart.py", line=line, rule=rule, message=message)


@pytest.mark.parametrize(
    ("now", "before", "last", "repeats"),
    [
        ((fix("F821"),), (), "a", False),
        ((fix("F821"),), ((fix("F821", 9, "It is still wrong, confidence 0.85."),),), "a", True),
        ((fix("F821"), fix("E999")), ((fix("F821"),),), "a", False),
        ((fix("F821"),), ((fix("F821"),), (fix("E999"),)), "a", True),
        ((fix("F821"),), ((fix("E999"),),), HEAD, True),  # the last one changed nothing
        ((), ((),), "a", False),
    ],
)
def test_another_fix_may_only_repeat_one(
    now: tuple[RequiredFix, ...], before: tuple[tuple[RequiredFix, ...], ...], last: str, repeats: bool
) -> None:
    sent_back = [SendBack(phase=Phase.review, head=last, to_fix=each) for each in before]
    assert would_repeat(stands(to_fix=now), HEAD, sent_back) is repeats
