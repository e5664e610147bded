"""What happens on GitHub beside pushes and commands, and what becomes of a command that goes wrong."""

import asyncio

import pytest
from inline_snapshot import snapshot
from sqlalchemy import select

from domain.events import EventType
from memory import ledger
from memory.db.tables.repositories import FeedbackRow
from messages import review as review_texts
from simulator.state import CheckRun, PullRequest
from tests.stories.driver import LAG, PATIENCE, Story
from tests.threats.meanwhile import act_after_write
from tests.world.automation import APP, BROKEN
from tests.world.replies import bodies, first_lines


async def _open_pull_request(story: Story, changed: str = "print(1)\n", before: str = "print()\n") -> PullRequest:
    repository, alice = story.repository({"app.py": before})
    pull, _ = await story.propose(repository, alice, {"app.py": changed})
    return pull


def _check(story: Story, pull: PullRequest) -> CheckRun:
    return story.check(pull.repository, pull.head_sha)


async def _is_dismissed(story: Story) -> bool:
    async with story.forge.services.database.transaction() as session:
        return await session.scalar(select(FeedbackRow.id).limit(1)) is not None


async def test_a_label_on_a_pull_request_asks_for_a_review(story: Story) -> None:
    """The label that takes an issue through the pipeline has a pull request reviewed, a draft too."""
    repository, alice = story.repository({"app.py": "print()\n"})
    pull, _ = await story.propose(repository, alice, {"app.py": "print(1)\n"}, draft=True)
    assert _check(story, pull).title == "Not reviewed"
    await alice.label(pull, "question")
    await story.after(alice.label(pull, "Forge"))
    assert _check(story, pull).title != "Not reviewed"
    assert len(await story.runs()) == 2


@pytest.mark.skipif(bool(LAG), reason="the review is over before GitHub shows that it is a draft again")
async def test_back_to_a_draft(story: Story) -> None:
    """What is under way makes way where drafts are left out; a verdict that is there stands."""
    repository, alice = story.repository({"app.py": "print()\n"})
    story.github.faults.add(kind="slow", method="GET", path=r"/contents/\.github/forge", delay=3)
    await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
    pull = await alice.open_pull_request(repository, head="feature")
    await story.wait_for_runs(1)
    await story.after(alice.convert_to_draft(pull))
    assert _check(story, pull).title == "Not reviewed"
    await story.after(alice.mark_ready(pull))
    reviewed = _check(story, pull).title
    assert reviewed != "Not reviewed"
    await story.after(alice.convert_to_draft(pull))
    assert _check(story, pull).title == reviewed


async def test_labels_and_runs_switched_off(story: Story) -> None:
    """A repository may do without the label, and without issues that are carried out."""
    off = {"app.py": "print()\n", ".github/forge.yml": "labels: {run: null}\nissues: {run: false}\n"}
    repository, alice = story.repository(off)
    issue = await story.after(alice.open_issue(repository, "Prices", labels=["forge"]))
    for verb in ("run", "retry", "resume"):
        await story.after(alice.comment(issue, f"/forge {verb}"))
    answers = {each.body.partition("\n")[0] for each in story.answers(issue)}
    assert len(story.answers(issue)) == 3
    assert all("`issues.run: false`" in each for each in answers)
    assert not await story.runs()


async def test_a_command_that_fails_is_answered(story: Story) -> None:
    """GitHub refuses what a command needs: whoever gave it is told what happened."""
    repository, alice = story.repository({"app.py": "print()\n"})
    issue = await alice.open_issue(repository, "Prices")
    story.github.faults.add(kind="before", method="GET", path=r"/issues/1$", status=403, times=None, message="Blocked")
    await story.after(alice.comment(issue, "/forge run"))
    assert bodies(story.answers(issue)) == snapshot(
        [
            "This failed, at least in part: Could not read issue `octo-org/shop#1`: GitHub answered 403 (Blocked). Somebody with write access can unlock the conversation. `/forge status` shows the current state."
        ]
    )


async def test_a_refused_slice_is_audited(story: Story) -> None:
    """`/forge continue` of somebody who may not is refused, and that is kept, also where no gate waits."""
    pull = await _open_pull_request(story)
    await story.after(story.github.user("mallory").comment(pull, "/forge continue 5usd"))
    assert bodies(story.answers(pull)) == snapshot(
        ["Refused: `/forge continue` needs the role write; `mallory` has read."]
    )
    guid = next(each.guid for each in story.github.deliveries if each.event == "issue_comment")
    events = await ledger.load_events(story.forge.services.database, guid)
    assert [each.type for each in events] == [EventType.permission_refused]


async def test_a_merge_queue_while_it_is_reviewed_again(story: Story) -> None:
    """A review that has only begun takes nothing away from the verdict there is."""
    pull = await _open_pull_request(story)
    story.github.faults.add(kind="slow", method="GET", path=r"/contents/\.github/forge", delay=4)
    await story.github.user("alice").comment(pull, "/forge review full")
    await story.wait_for_runs(2)
    head = story.github.queue_for_merge(pull)
    await story.settle()
    [check] = story.github.check_runs(pull.repository, head, review_texts.CHECK_NAME)
    assert check.conclusion == "neutral"
    assert first_lines(story.answers(pull)) == snapshot(["Reviewing `SHA` from scratch; the check shows the progress."])


@pytest.mark.skipif(bool(LAG), reason="it holds the verdict back until the comment is known, which comes after it")
@pytest.mark.tells("sender")  # who resolved a thread
async def test_a_dismissal_while_the_verdict_is_written(story: Story) -> None:
    """A finding that is dismissed while its run ends does not block."""
    repository, alice = story.repository({"app.py": APP})
    carol = story.member(repository, "carol", "write")
    await alice.push(repository, "feature", {"app.py": BROKEN}, base="main")

    async def dismiss() -> None:
        [pull] = repository.pulls()
        [comment] = story.comments(pull)
        await carol.resolve(comment.thread)
        end = asyncio.get_running_loop().time() + PATIENCE
        while not await _is_dismissed(story):
            assert asyncio.get_running_loop().time() < end
            await asyncio.sleep(0.02)

    act_after_write(story, dismiss, "check-runs", "failure")
    pull = await story.after(alice.open_pull_request(repository, head="feature"))
    assert _check(story, pull).conclusion == "neutral"
    [comment] = story.comments(pull)
    assert first_lines(story.thread_answers(pull, comment)) == snapshot(
        ["`carol` resolved this thread without a change, so **F-AEGTUI** is dismissed. Le…"]
    )


async def test_a_merge_that_github_does_not_tell_at_once(story: Story) -> None:
    """What runs ends at once; that it was merged against the verdict is learned as soon as GitHub answers."""
    repository, alice = story.repository({"app.py": APP})
    pull, _ = await story.propose(repository, alice, {"app.py": BROKEN})
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])
    story.github.faults.add(kind="before", method="GET", path=r"/pulls/\d+$", status=502, times=6)
    await story.after(alice.merge(pull))
    run = (await story.runs())[0]
    events = await ledger.load_events(story.forge.services.database, run.id)
    assert EventType.feedback_decided in {each.type for each in events}
