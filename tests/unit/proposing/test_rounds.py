"""What is next with a proposed change, as a table."""

import pytest

from domain.runs.next_step import MOST, Bounce, Owner, Proof, Reviewed, Standing, Step, next_step
from domain.runs.run import Phase

HEAD = "b" * 40
OPEN = Standing(is_open=True)


def bounces(*phases: Phase, last: str = "a" * 40) -> list[Bounce]:
    heads = [*("0" * 40 for _ in phases[1:]), last]
    return [Bounce(phase=phase, head=head, to_fix=()) for phase, head in zip(phases, heads, strict=False)]


def stands(**known: object) -> Standing:
    return OPEN.model_copy(update=known)


REVIEWED = {"reviewed": Reviewed.approved}


@pytest.mark.parametrize(
    ("now", "before", "step"),
    [
        (stands(is_open=False), [], Step.closed),
        (stands(is_open=False, is_merged=True), [], Step.merged),
        (stands(head=Owner.others, reviewed=Reviewed.changes), [], Step.taken),
        (stands(head=Owner.earlier, reviewed=Reviewed.changes), [], Step.wait),
        (stands(), [], Step.wait),
        (stands(reviewed=Reviewed.person), [], Step.wait),
        (stands(reviewed=Reviewed.broken), [], Step.wait),
        (stands(reviewed=Reviewed.changes), [], Step.fix),
        (stands(reviewed=Reviewed.changes), bounces(Phase.review, Phase.review, Phase.testing), Step.fix),
        (stands(reviewed=Reviewed.changes), bounces(*[Phase.review] * MOST[Phase.review]), Step.help),
        (stands(reviewed=Reviewed.changes), bounces(Phase.review, last=HEAD), Step.help),
        (stands(**REVIEWED), [], Step.test),
        (stands(**REVIEWED, tested=Proof.passed), [], Step.ready),
        (stands(**REVIEWED, tested=Proof.missing), [], Step.untested),
        (stands(**REVIEWED, tested=Proof.failed), bounces(*[Phase.review] * 3), Step.fix),
        (stands(**REVIEWED, tested=Proof.failed), bounces(*[Phase.testing] * MOST[Phase.testing]), Step.help),
        (stands(**REVIEWED, tested=Proof.unfixable), [], Step.help),
        (stands(**REVIEWED, tested=Proof.unable), [], Step.untested),
        (stands(reviewed=Reviewed.changes, tested=Proof.passed), [], Step.fix),
    ],
)
def test_what_is_next(now: Standing, before: list[Bounce], step: Step) -> None:
    assert next_step(now, HEAD, before)[0] is step


@pytest.mark.parametrize(("tested", "phase"), [(Proof.failed, Phase.testing), (Proof.pending, Phase.testing)])
def test_the_phase_it_is_about(tested: Proof, phase: Phase) -> None:
    assert next_step(stands(**REVIEWED, tested=tested), HEAD, [])[1] is phase
    assert next_step(stands(reviewed=Reviewed.changes, tested=tested), HEAD, [])[1] is Phase.review
