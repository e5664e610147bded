"""What Forge merges unasked where the branch requires a merge queue: the queue does it, or says why not."""

import pytest

from simulator.errors import Refusal
from tests.stories.driver import Story
from tests.world.automation import (
    after_looks,
    announcements,
    approvals,
    at_level,
    jump_ahead,
    list_actions,
    settle_looks,
)

pytestmark = [
    pytest.mark.tells("protection"),  # which checks a branch requires
    pytest.mark.usefixtures("model"),  # it reads all that Forge may approve or merge, and finds nothing
]
DONE = {("auto_approve", 4, "ladder.auto_approve"), ("auto_merge", 4, "ladder.auto_merge")}


@pytest.mark.parametrize("ruleset", [True, False])
async def test_what_may_be_merged_goes_into_the_queue(story: Story, ruleset: bool) -> None:
    repository, alice, _ = await at_level(story, 4)
    story.github.protect(repository, "main", ["ci"], ruleset=ruleset, queue=True)
    head = await alice.push(repository, "feature", {"README.md": "# Store\n"}, base="main")
    story.github.report_check(repository, head, "ci", "success")
    pull = await after_looks(story, alice.open_pull_request(repository, "feature"))
    assert pull.merged_at is None
    assert pull.queued_head is not None
    assert len(approvals(story, pull)) == 1
    with pytest.raises(Refusal, match="Changes must be made through the merge queue"):
        await alice.merge(pull)
    [text] = announcements(story, pull)
    assert text.startswith(f"**Forge put** `{head[:7]}` **into the merge queue** of `main`. ")
    assert "Level 4 (acts alone at low risk) lets Forge merge (rule `ladder.auto_merge`)." in text
    assert set(await list_actions(story)) == DONE
    assert story.check(repository, pull.queued_head).conclusion == "success"  # the queue waits for it

    merged = story.github.merge_queued(pull)
    await jump_ahead(story, hours=12)
    assert repository.git.branch("main") == merged
    assert announcements(story, pull) == [text]
    assert set(await list_actions(story)) == DONE


async def test_what_the_queue_drops_or_refuses_is_told_and_left(story: Story) -> None:
    repository, alice, _ = await at_level(story, 4)
    rules = story.github.protect(repository, "main", ["ci"], queue=True)
    head = await alice.push(repository, "feature", {"README.md": "# Store\n"}, base="main")
    story.github.report_check(repository, head, "ci", "success")
    pull = await after_looks(story, alice.open_pull_request(repository, "feature"))
    story.github.take_out_of_queue(pull, "CI_FAILURE")
    await jump_ahead(story, hours=12)
    assert (pull.merged_at, pull.queued_head) == (None, None)
    [text] = announcements(story, pull)
    assert text.startswith(f"**Forge does not merge** `{head[:7]}`: the merge queue took it out: checks failed there.")

    rules.approvals = 2
    head = await alice.push(repository, "feature", {"README.md": "# The store\n"})
    story.github.report_check(repository, head, "ci", "success")
    await settle_looks(story)
    await jump_ahead(story, hours=12)
    assert (pull.merged_at, pull.queued_head) == (None, None)
    refused = "At least 2 approving reviews are required by reviewers with write access."
    assert f"**Forge does not merge** `{head[:7]}`: Could not put " in announcements(story, pull)[-1]
    assert refused in announcements(story, pull)[-1]
    assert [each.commit_id for each in approvals(story, pull)] == [head]
