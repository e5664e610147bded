"""Jobs of the repository's own workflows that failed run once more, so that flaky ones are told from failures."""

import pytest
from inline_snapshot import snapshot

from agents.llm.scripted import ScriptedModel
from simulator.state import CheckRun, Repository
from tests.stories.driver import Story
from tests.world.cart import DIFF
from tests.world.issues import SHOP
from tests.world.optional import load_optional
from tests.world.replies import first_lines
from tests.world.verification import ACTIONS, get_outcome, propose_diffs

pytestmark = pytest.mark.tells("run_attempt", "name")  # how often a run ran, and what it is called


def get_check(story: Story, repository: Repository, sha: str) -> CheckRun:
    """The newest check of the tests of a head."""
    return story.github.check_runs(repository, sha, "Forge / test")[-1]


async def test_a_job_that_passes_once_more_is_flaky(story: Story, model: ScriptedModel) -> None:
    """Only what failed runs again, and the change is not sent back."""
    asked, pull = await propose_diffs(story, model, DIFF, **ACTIONS)
    jobs = {"lint": ("success", ""), "test": ("failure", "1 failed\n")}
    ran = story.github.run_workflow(asked.repository, pull.head_sha, "CI", jobs)
    await story.settle()
    assert (ran.run_attempt, ran.status) == (2, "queued")
    story.github.advance_workflow(ran, {"test": ("success", "")})
    await story.settle()
    check = get_check(story, asked.repository, pull.head_sha)
    assert (check.conclusion, check.title) == ("success", "Tests passed (no report, 1 flaky)")
    flaky = (check.summary or "").partition("### Flaky")[2].partition("###")[0]
    assert "`CI / test`" in flaky
    assert "lint" not in flaky
    assert await get_outcome(story) == ("completed", "proposed")


@pytest.mark.parametrize("days", [0, 31])
async def test_where_github_does_not_run_it_again_that_is_said(story: Story, model: ScriptedModel, days: int) -> None:
    """Refused, or too old for it: the failure counts."""
    repository, alice = story.repository({**SHOP, **ACTIONS})
    head = await alice.push(repository, "work", {"README.md": "# A shop\n"}, base="main")
    pull = await alice.open_pull_request(repository, "work", "main")
    ran = story.github.run_workflow(repository, head, "CI", {"test": ("failure", "1 failed\n")})
    await story.settle()
    if days:
        story.clock.move(days=days)
    else:
        story.github.faults.add(
            kind="before", path="/rerun-failed-jobs", status=403, message="Resource not accessible", times=None
        )
    await story.after(alice.comment(pull, "/forge test"))
    check = get_check(story, repository, head)
    assert (check.conclusion, ran.run_attempt) == ("failure", 1)
    assert "was not run again to see whether it is flaky" in (check.summary or "")
    assert ("over a month ago" if days else "Resource not accessible") in (check.summary or "")
    assert first_lines(story.answers(pull)) == snapshot(["Testing `SHA`; the check `Forge / test` shows the progress."])


async def test_what_a_person_ran_again_is_not_run_a_third_time(story: Story, model: ScriptedModel) -> None:
    asked, pull = await propose_diffs(story, model, DIFF, **ACTIONS)
    ran = story.github.run_workflow(asked.repository, pull.head_sha, "CI", {"test": (None, "")})
    story.github.advance_workflow(ran, {"test": ("failure", "")})
    story.github.rerun_workflow(ran, {"test": ("failure", "")})
    await story.settle()
    assert (ran.run_attempt, ran.status) == (2, "completed")
    assert get_check(story, asked.repository, pull.head_sha).conclusion == "failure"
    assert "the tests fail" in story.questions(asked.issue)[-1].body


async def test_a_paused_forge_runs_nothing_again(story: Story, model: ScriptedModel) -> None:
    asked, pull = await propose_diffs(story, model, DIFF, **ACTIONS)
    carol = story.member(asked.repository, "carol", "admin")
    await story.after(carol.comment(pull, "/forge pause"))
    ran = story.github.run_workflow(asked.repository, pull.head_sha, "CI", {"test": ("failure", "")})
    await story.settle()
    assert (ran.run_attempt, ran.status) == (1, "completed")
    assert "paused" in story.answers(pull)[-1].body


async def test_where_github_does_not_say_how_often_it_ran_the_failure_counts(
    story: Story, model: ScriptedModel
) -> None:
    """Else it would be run again for ever."""
    asked, pull = await propose_diffs(story, model, DIFF, **ACTIONS)
    story.github.leave_out(load_optional(frozenset({"label", "body"})))
    ran = story.github.run_workflow(asked.repository, pull.head_sha, "CI", {"test": ("failure", "")})
    await story.settle()
    assert (ran.run_attempt, ran.status) == (1, "completed")
    check = get_check(story, asked.repository, pull.head_sha)
    assert check.conclusion == "failure"
    assert "GitHub does not say how often it ran" in (check.summary or "")
    story.pass_over(asked.issue)
