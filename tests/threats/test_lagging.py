"""GitHub's API lags seconds behind its webhooks: what an event told of is looked at again (T-W15)."""

import pytest
from inline_snapshot import snapshot

from messages import review as review_texts
from simulator import User
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story
from tests.world.automation import BROKEN, approvals, open_approved
from tests.world.replies import first_lines

LAG = 0.6  # seconds; the tests look for three
BEFORE, AFTER, LATER = ({"app.py": f"print({number})\n"} for number in range(3))


pytestmark = pytest.mark.usefixtures("model")  # it reads what Forge approves


@pytest.fixture
async def story(story: Story) -> Story:
    """Reads lag in all of these."""
    story.github.lag(LAG)
    return story


async def _open_pull_request(story: Story, draft: bool = False) -> tuple[Repository, User, PullRequest]:
    repository, alice = story.repository(BEFORE)
    await alice.push(repository, "feature", AFTER, base="main")
    return repository, alice, await alice.open_pull_request(repository, head="feature", draft=draft)


async def test_t_w15_head_before(story: Story) -> None:
    """A push whose head GitHub's API does not show yet is reviewed, and not taken for the head before."""
    repository, alice, pull = await _open_pull_request(story)
    await story.settle()
    await alice.push(repository, "feature", LATER)
    await story.settle()
    assert story.check(repository, pull.head_sha).conclusion == "success"
    assert len(await story.runs()) == 2


async def test_t_w15_draft_before(story: Story) -> None:
    """A draft that has just become ready is not left out as a draft."""
    repository, alice, pull = await _open_pull_request(story, draft=True)
    await story.settle()
    assert story.check(repository, pull.head_sha).title == "Not reviewed"
    await alice.mark_ready(pull)
    await story.settle()
    assert story.check(repository, pull.head_sha).title != "Not reviewed"


async def test_t_w15_base_before(story: Story) -> None:
    """A pull request that got another base is reviewed for that one, and an approval for the other is taken back."""
    repository, alice, pull = await open_approved(story)
    await alice.push(repository, "next", {"app.py": BROKEN}, base="main")
    story.github.protect(repository, "next", ["never"], approvals=1)
    await alice.edit_base(pull, "next")
    await story.settle()
    assert story.check(repository, pull.head_sha, "next").status == "completed"
    assert approvals(story, pull) == []


async def test_t_w15_open_before(story: Story) -> None:
    """A pull request that was closed is not taken for one that is open again."""
    repository, alice = story.repository(BEFORE)
    await alice.push(repository, "feature", {"key.py": "KEY = 'AKIAQYLPMN5HFIQR7XYA'\n"}, base="main")
    pull = await alice.open_pull_request(repository, head="feature")
    await story.settle()
    assert story.gates(pull) == ["security_findings"]
    await alice.close(pull)
    await story.settle()
    assert [run.state for run in await story.runs()] == ["cancelled"]
    assert story.gates(pull) == []
    assert first_lines(story.reviews(pull)) == snapshot(["**Changes requested: 1 finding to fix.**"])


async def test_t_w15_command_on_what_is_not_there_yet(story: Story) -> None:
    """A command below a pull request that GitHub's API does not know yet is carried out, and answered."""
    repository, alice, pull = await _open_pull_request(story)
    await alice.comment(pull, "/forge help")
    await alice.comment(pull, "/forge review full")
    await story.settle()
    assert len(story.answers(pull)) == 2
    assert story.check(repository, pull.head_sha).conclusion == "success"


async def test_t_w15_command_on_the_head_before(story: Story) -> None:
    """A command that follows a push is about the head that was pushed."""
    repository, alice, pull = await _open_pull_request(story)
    await story.settle()
    story.github.hold_deliveries()
    await alice.push(repository, "feature", LATER)
    await alice.comment(pull, "/forge review")
    story.github.release_deliveries(reverse=True)
    await story.settle()
    [answer] = story.answers(pull)
    assert pull.head_sha[:7] in answer.body
    assert len(story.github.check_runs(repository, pull.head_sha, review_texts.CHECK_NAME)) == 1


async def test_t_w15_findings_keep_their_threads(story: Story) -> None:
    """The comments of a review are known right after it was posted, so that a thread dismisses its finding."""
    repository, alice = story.repository(BEFORE)
    bob = story.member(repository, "bob", "write")
    await alice.push(repository, "feature", {"app.py": "import os\n\n\ndef f(x=[]):\n    return x\n"}, base="main")
    pull = await alice.open_pull_request(repository, head="feature")
    await story.settle()
    comment = story.comments(pull)[0]
    await bob.reply(comment, "/forge dismiss it is meant so")
    await story.settle()
    [answer] = story.thread_answers(pull, comment)
    assert "dismissed" in answer.body


async def test_t_w15_written_and_not_shown_yet(story: Story) -> None:
    """What took effect although its answer was lost is not written twice, where GitHub does not show it at once."""
    repository, alice, pull = await _open_pull_request(story)
    await story.settle()
    story.github.faults.add(kind="reset", method="POST", path=r"/issues/\d+/comments$")
    story.github.faults.add(kind="reset", method="POST", path="/check-runs$")
    await alice.comment(pull, "/forge review full")
    await story.settle()
    assert len(story.answers(pull)) == 1
    assert len(story.github.check_runs(repository, pull.head_sha, review_texts.CHECK_NAME)) == 2


async def test_t_w15_late_is_not_lagging(story: Story) -> None:
    """An event that is late itself is no reason to look again: what GitHub shows is newer than it."""
    repository, alice, pull = await _open_pull_request(story)
    await story.settle()
    story.github.lag(0)
    story.github.hold_deliveries()
    await alice.push(repository, "feature", LATER)
    story.clock.move(seconds=2)
    await alice.push(repository, "feature", BEFORE | {"more.py": "print()\n"})
    story.github.release_deliveries(reverse=True)
    began = len(story.github.requests)
    await story.settle()
    looked = [each for each in story.github.requests[began:] if each.path.endswith(f"/pulls/{pull.number}")]
    assert len(looked) <= 5  # the two deliveries, and a run that begins, acts, and looks whether the branch conflicts
    assert story.check(repository, pull.head_sha).conclusion == "success"
