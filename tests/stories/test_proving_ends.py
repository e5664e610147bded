"""What becomes of a change under proof when something comes in between: nothing stays open, nothing waits for ever."""

import asyncio

import pytest
from inline_snapshot import snapshot

from agents.llm.scripted import ScriptedModel
from simulator.errors import Dropped, Moment, RequestInfo
from simulator.state import CheckRun, PullRequest, Repository
from tests.stories.driver import Story
from tests.world.automation import jump_ahead
from tests.world.cart import DIFF
from tests.world.issues import DONE, SHOP, TASK, TEST, IssueScene, get_pull_request, open_issue, patches, plan
from tests.world.replies import first_lines
from tests.world.verification import ACTIONS, ASKS, MEND, WRONG, get_outcome, propose_diffs

SLOW = {**SHOP, "tests/test_slow.py": "import time\n\n\ndef test_slow():\n    time.sleep(30)\n"}


def checks(story: Story, repository: Repository, sha: str) -> list[CheckRun]:
    return story.github.check_runs(repository, sha, "Forge / test")


async def under_test(story: Story) -> tuple[Repository, PullRequest]:
    """A pull request whose tests take long, and are running."""
    repository, alice = story.repository(SLOW)
    pull, _ = await story.propose(
        repository, alice, {"pyproject.toml": SHOP["pyproject.toml"] + "# all tests\n"}, "work"
    )
    await alice.comment(pull, "/forge test")
    while True:
        if any(check.title == "Running the tests" for check in checks(story, repository, pull.head_sha)):
            return repository, pull
        await asyncio.sleep(0.05)


@pytest.mark.usefixtures("model")
@pytest.mark.parametrize("how", ["push", "close"])
async def test_a_push_or_the_close_ends_the_tests_of_a_head(story: Story, how: str) -> None:
    repository, pull = await under_test(story)
    [before] = checks(story, repository, pull.head_sha)
    alice = story.github.user("alice")
    if how == "push":
        await alice.push(repository, "work", {"README.md": "# A shop\n"})
    else:
        await alice.close(pull)
    await story.settle()
    assert (before.status, before.conclusion) == ("completed", "cancelled")
    assert first_lines(story.answers(pull)) == snapshot(["Testing `SHA`; the check `Forge / test` shows the progress."])
    assert first_lines(story.comments(pull)) == snapshot([])


@pytest.mark.usefixtures("model")
async def test_who_stops_the_tests_is_told_so_and_named(story: Story) -> None:
    repository, pull = await under_test(story)
    [check] = checks(story, repository, pull.head_sha)
    alice = story.github.user("alice")
    await story.after(alice.comment(pull, "/forge cancel"))
    assert (check.status, check.conclusion) == ("completed", "cancelled")
    assert "`alice` stopped the tests with `/forge cancel`." in (check.summary or "")
    await story.after(alice.comment(pull, "/forge cancel"))
    assert first_lines(story.answers(pull)) == snapshot(
        [
            "Testing `SHA`; the check `Forge / test` shows the progress.",
            "The tests were stopped. `/forge test` starts them again.",
            "Nothing is running here.",
        ]
    )


async def test_a_workflow_that_never_ends_is_not_waited_for(story: Story, model: ScriptedModel) -> None:
    """Whatever else happens on the pull request meanwhile."""
    asked, pull = await propose_diffs(story, model, DIFF, **ACTIONS)
    await story.after(asked.alice.comment(pull, "/forge dismiss F-AAAAAA nonsense"))
    story.github.run_workflow(asked.repository, pull.head_sha, "CI", {"test": (None, "")})
    for _ in range(13):
        await jump_ahead(story, minutes=30)
    assert await get_outcome(story) == ("completed", "untested")
    [check] = checks(story, asked.repository, pull.head_sha)
    assert "did not end within six hours" in (check.summary or "")
    assert "Forge could not test it" in asked.status
    assert first_lines(story.answers(pull)) == snapshot(
        ["There is no finding `F-AAAAAA` here. None is open: `/forge view` shows the last…"]
    )


@pytest.mark.parametrize("is_moved", [False, True])
async def test_a_draft_that_could_not_be_tested_is_taken_up_once_its_tests_pass(
    story: Story, model: ScriptedModel, is_moved: bool
) -> None:
    """By a setting on the default branch, and whoever has pushed to it since; all texts say so."""
    asked, pull = await propose_diffs(story, model, DIFF, TEST, **ACTIONS)
    await jump_ahead(story, minutes=11)
    assert await get_outcome(story) == ("completed", "untested")
    assert "once its tests pass, it becomes ready" in asked.status
    assert "waits for its tests; write `/forge test` there" in await asked.comment(asked.alice, "/forge resume")
    await asked.alice.push(asked.repository, "main", {".github/forge.yml": "{}\n"})
    if is_moved:
        await asked.alice.push(asked.repository, pull.head_ref, {"README.md": "# A shop\n"})
    await story.settle()
    assert pull.draft
    story.clock.move(seconds=2)
    await story.after(asked.alice.comment(pull, "/forge test"))
    assert not pull.draft
    assert await get_outcome(story) == ("completed", "proposed")
    assert "Tests: Passed: 2 tests" in (pull.body or "")
    assert "could not test it" not in asked.status
    assert "could not be tested" not in await asked.comment(asked.alice, "/forge status")
    story.pass_over(pull)


async def test_taken_up_again_it_looks_again(story: Story, model: ScriptedModel) -> None:
    asked, pull = await propose_diffs(story, model, DIFF, **ACTIONS)
    await asked.comment(asked.alice, "/forge cancel")
    [check] = checks(story, asked.repository, pull.head_sha)
    assert (check.status, check.conclusion) == ("completed", "cancelled")
    await asked.comment(asked.alice, "/forge resume")
    await jump_ahead(story, minutes=11)
    assert await get_outcome(story) == ("completed", "untested")


async def test_merged_while_it_was_proved(story: Story, model: ScriptedModel) -> None:
    """Merging closes the issue; the run finds out why, and does not call itself stopped."""
    asked, pull = await propose_diffs(story, model, DIFF, **ASKS)
    assert first_lines(story.questions(pull)) == snapshot(["**Forge asks: design** · G-ID · head `SHA`"])
    await story.after(asked.alice.mark_ready(pull))
    await story.after(asked.alice.merge(pull))
    assert f"**#{pull.number} was merged**" in asked.status
    assert await get_outcome(story) == ("completed", "proposed")
    assert first_lines(story.questions(pull)) == snapshot(
        ["**design: Void: there is nothing left to decide** · G-ID · head `SHA` · it was…"]
    )
    assert first_lines(story.answers(pull)) == snapshot([])


async def test_a_review_that_was_stopped_is_no_question(story: Story, model: ScriptedModel) -> None:
    asked, pull = await propose_diffs(story, model, DIFF, **ASKS)
    await story.after(asked.alice.comment(pull, "/forge cancel"))
    assert f"the review of #{pull.number} ended without a verdict" in asked.status
    assert first_lines(story.answers(pull)) == snapshot(
        ["Run `ULID` was stopped. Its comments stay. `/forge review` starts another one."]
    )
    assert first_lines(story.questions(pull)) == snapshot(
        ["**design: Void: there is nothing left to decide** · G-ID · head `SHA` · a perso…"]
    )
    assert story.gate_outcomes(pull)


async def test_the_phase_that_failed_was_the_review(story: Story, model: ScriptedModel) -> None:
    """Then the same pull request goes on, and no second one is opened."""
    model.when(MEND, {"summary": "It is right as it is.", "is_done": True})
    asked, pull = await propose_diffs(story, model, WRONG)
    await asked.comment(asked.alice, "/forge reject help_needed Leave it")
    await asked.comment(asked.alice, "/forge retry")
    assert story.gates(asked.issue) == ["help_needed"]
    assert get_pull_request(asked) is pull
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])


async def test_only_the_head_that_was_proved_becomes_ready(story: Story, model: ScriptedModel) -> None:
    """Somebody pushes at the last moment."""
    asked: IssueScene = await open_issue(story)
    model.when("Title: Discounts", plan())
    model.when(TASK, patches(DIFF, TEST), DONE)
    moved: list[str] = []

    async def push_then(request: RequestInfo, moment: Moment) -> None:
        """While it is made ready, which has to be said again."""
        if request.path == "/graphql" and moment == "before" and not moved:
            [pull] = asked.repository.pulls()
            moved.append(await asked.alice.push(asked.repository, pull.head_ref, {"README.md": "# Mine\n"}))
            raise Dropped

    story.github.on_write(push_then)
    await asked.comment(asked.alice, "/forge run")
    pull = get_pull_request(asked)
    assert moved
    assert pull.draft
    assert "- Tests:" not in str(pull.body), "what was proved is not what is there"
    assert await get_outcome(story) == ("completed", "branch_moved")
    assert first_lines(story.comments(pull)) == snapshot([])
