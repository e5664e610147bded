"""What becomes of a proposed change: it is reviewed, sent back, mended, and ready for people once nothing is wrong."""

from itertools import pairwise

from pydantic import JsonValue

from agents.scripted import ScriptedModel
from memory import ledger
from simulator.state import PullRequest
from tests.stories.driver import Story
from tests.stories.test_issue import DIFF, DONE, TASK, patches, proposed
from tests.stories.test_planning import Asked, opened, plan

WRONG = DIFF.replace("1 - discount)", "1 - discont)")
MEND = "== your task: mend"
MENDED: dict[str, JsonValue] = {"summary": "The name is right now.", "is_done": True}
ASKS = {".github/forge.yml": "gates:\n  design: {phase: review, when: review.lines_changed > 0, prompt: Fine}\n"}


def change(before: str, after: str) -> str:
    """A diff of the line that is wrong."""
    return (
        "--- a/shop/cart.py\n+++ b/shop/cart.py\n@@ -1,2 +1,2 @@\n def total(prices, discount=0):\n"
        f"-    return sum(prices) * (1 - {before})\n+    return sum(prices) * (1 - {after})\n"
    )


async def events(read: Story, kind: str) -> list[dict[str, JsonValue]]:
    """What the ledger tells of the issue's run."""
    run = next(each for each in await read.runs() if each.trigger == "issue")
    told = await ledger.replay(read.forge.services.database, run.id)
    return [each.payload for each in told if each.type == kind]


async def asked_for(read: Story, model: ScriptedModel, diff: str, **files: str) -> tuple[Asked, PullRequest]:
    """An issue whose run proposed this diff."""
    asked = await opened(read, **files)
    model.when("Discounts", plan())
    model.when(TASK, patches(diff), DONE)
    await asked.says(asked.alice, "/forge run")
    pull = proposed(asked)
    read.comments(pull)
    return asked, pull


async def ended(read: Story) -> tuple[str, str]:
    run = next(each for each in await read.runs() if each.trigger == "issue")
    return run.state, run.reason


async def test_what_the_review_finds_is_mended(read: Story, model: ScriptedModel) -> None:
    model.when(MEND, patches(change("discont", "discount")), MENDED)
    asked, pull = await asked_for(read, model, WRONG)
    told = next(call.content for call in model.calls if MEND in call.content)
    assert "- shop/cart.py:2 ruff/F821" in told
    first, second = asked.repository.git.commits_between(pull.base_sha, pull.head_sha)
    assert first.message.startswith("Take a discount")
    assert second.message.startswith("Mend what the review found\n\n- shop/cart.py ruff/F821\n")
    assert read.check(asked.repository, first.sha).conclusion == "failure"
    assert read.check(asked.repository, second.sha).conclusion == "success"
    assert not pull.draft
    assert "- [x] Review: done, sent back once" in asked.status
    assert await ended(read) == ("completed", "proposed")
    assert [each["count"] for each in await events(read, "loop.phase_bounce")] == [1]


async def test_after_three_times_a_person_is_asked(read: Story, model: ScriptedModel) -> None:
    """And may have it tried once more, with a word of advice."""
    names = ["discont", "discnt", "dscount", "discoun"]
    attempts = [reply for pair in pairwise(names) for reply in (patches(change(*pair)), MENDED)]
    model.when(MEND, *attempts, patches(change("discoun", "discount")), MENDED)
    asked, pull = await asked_for(read, model, WRONG)
    assert read.gates(asked.issue) == ["help_needed"]
    assert "the review sent the change back 3 times" in read.questions(asked.issue)[-1].body
    assert await ended(read) == ("waiting", "gate")
    assert pull.draft
    await asked.says(asked.alice, "/forge approve with: it is spelled like the argument")
    assert "it is spelled like the argument" in model.calls[-1].content
    assert await ended(read) == ("completed", "proposed")
    assert not pull.draft
    assert [each["count"] for each in await events(read, "loop.phase_bounce")] == [1, 2, 3, 4]
    read.comments(pull)


async def test_an_attempt_that_changes_nothing_is_not_repeated(read: Story, model: ScriptedModel) -> None:
    model.when(MEND, {"summary": "It is right as it is.", "is_done": True})
    asked, pull = await asked_for(read, model, WRONG)
    assert read.gates(asked.issue) == ["help_needed"]
    await asked.says(asked.alice, "/forge reject help_needed I do it myself")
    assert f"#{pull.number} stays a draft" in asked.status
    assert await ended(read) == ("failed", "stuck")
    assert pull.draft


async def test_a_person_who_pushes_has_the_branch(read: Story, model: ScriptedModel) -> None:
    asked, pull = await asked_for(read, model, DIFF, **ASKS)
    assert await ended(read) == ("waiting", "in_review")
    assert f"the review of #{pull.number} has a question" in asked.status
    read.questions(pull)
    await asked.alice.push(
        asked.repository, pull.head_ref, {"shop/cart.py": "def total(prices):\n    return sum(prices)\n"}
    )
    await read.rest()
    assert "it is theirs now" in asked.status
    assert await ended(read) == ("completed", "branch_moved")
    read.comments(pull)
    read.questions(pull)


async def test_a_closed_draft_ends_the_run(read: Story, model: ScriptedModel) -> None:
    asked, pull = await asked_for(read, model, DIFF, **ASKS)
    read.questions(pull)
    await asked.alice.close(pull)
    await read.rest()
    assert f"**A person closed #{pull.number}**" in asked.status
    assert await ended(read) == ("cancelled", "closed")


async def test_a_dismissed_finding_needs_no_mending(read: Story, model: ScriptedModel) -> None:
    """A person says that the finding is wrong while it is asked whether to try again."""
    model.when(MEND, {"summary": "It is right as it is.", "is_done": True})
    asked, pull = await asked_for(read, model, WRONG)
    assert read.gates(asked.issue) == ["help_needed"]
    [finding] = read.comments(pull)
    await asked.alice.reply(finding, "/forge dismiss It is a global of ours.")
    await read.rest()
    assert not pull.draft
    assert await ended(read) == ("completed", "proposed")
    read.questions(asked.issue)
    read.answers(asked.issue)
    read.comments(pull)
