"""GitHub's API lags seconds behind its webhooks: what an event told of is looked at again (T-W15)."""

import pytest

from messages import review as review_texts
from simulator import User
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story
from tests.world.automation import BROKEN, approvals, open_approved

LAG = 0.6  # seconds; the tests look for three
BEFORE, AFTER, LATER = ({"app.py": f"print({number})\n"} for number in range(3))


@pytest.fixture(autouse=True)
async def lagging(told: Story) -> Story:
    """Reads lag in all of these."""
    told.github.lag(LAG)
    return told


async def _open_pull_request(told: Story, draft: bool = False) -> tuple[Repository, User, PullRequest]:
    repository, alice = told.repository(BEFORE)
    await alice.push(repository, "feature", AFTER, base="main")
    return repository, alice, await alice.open_pull_request(repository, head="feature", draft=draft)


async def test_t_w15_not_there_yet(told: Story) -> None:
    """A pull request that GitHub's API does not know when its event comes is reviewed all the same."""
    repository, _, pull = await _open_pull_request(told)
    await told.settle()
    assert told.check(repository, pull.head_sha).conclusion == "success"


async def test_t_w15_head_before(told: Story) -> None:
    """A push whose head GitHub's API does not show yet is reviewed, and not taken for the head before."""
    repository, alice, pull = await _open_pull_request(told)
    await told.settle()
    await alice.push(repository, "feature", LATER)
    await told.settle()
    assert told.check(repository, pull.head_sha).conclusion == "success"
    assert len(await told.runs()) == 2


async def test_t_w15_draft_before(told: Story) -> None:
    """A draft that has just become ready is not left out as a draft."""
    repository, alice, pull = await _open_pull_request(told, draft=True)
    await told.settle()
    assert told.check(repository, pull.head_sha).title == "Not reviewed"
    await alice.mark_ready(pull)
    await told.settle()
    assert told.check(repository, pull.head_sha).title != "Not reviewed"


async def test_t_w15_base_before(told: Story) -> None:
    """A pull request that got another base is reviewed for that one, and an approval for the other is taken back."""
    repository, alice, pull = await open_approved(told)
    await alice.push(repository, "next", {"app.py": BROKEN}, base="main")
    told.github.protect(repository, "next", ["never"], approvals=1)
    await alice.edit_base(pull, "next")
    await told.settle()
    assert told.check(repository, pull.head_sha, "next").status == "completed"
    assert approvals(told, pull) == []


async def test_t_w15_open_before(told: Story) -> None:
    """A pull request that was closed is not taken for one that is open again."""
    repository, alice = told.repository(BEFORE)
    await alice.push(repository, "feature", {"key.py": "KEY = 'AKIAQYLPMN5HFIQR7XYA'\n"}, base="main")
    pull = await alice.open_pull_request(repository, head="feature")
    await told.settle()
    assert told.gates(pull) == ["security_findings"]
    await alice.close(pull)
    await told.settle()
    assert [run.state for run in await told.runs()] == ["cancelled"]
    assert told.gates(pull) == []
    told.reviews(pull)


async def test_t_w15_command_on_what_is_not_there_yet(told: Story) -> None:
    """A command below a pull request that GitHub's API does not know yet is carried out, and answered."""
    repository, alice, pull = await _open_pull_request(told)
    await alice.comment(pull, "/forge help")
    await alice.comment(pull, "/forge review full")
    await told.settle()
    assert len(told.answers(pull)) == 2
    assert told.check(repository, pull.head_sha).conclusion == "success"


async def test_t_w15_command_on_the_head_before(told: Story) -> None:
    """A command that follows a push is about the head that was pushed."""
    repository, alice, pull = await _open_pull_request(told)
    await told.settle()
    told.github.hold_deliveries()
    await alice.push(repository, "feature", LATER)
    await alice.comment(pull, "/forge review")
    told.github.release_deliveries(reverse=True)
    await told.settle()
    [answer] = told.answers(pull)
    assert pull.head_sha[:7] in answer.body
    assert len(told.github.check_runs(repository, pull.head_sha, review_texts.CHECK_NAME)) == 1


async def test_t_w15_findings_keep_their_threads(told: Story) -> None:
    """The comments of a review are known right after it was posted, so that a thread dismisses its finding."""
    repository, alice = told.repository(BEFORE)
    bob = told.github.user("bob")
    told.github.grant(repository, bob, "write")
    await alice.push(repository, "feature", {"app.py": "import os\n\n\ndef f(x=[]):\n    return x\n"}, base="main")
    pull = await alice.open_pull_request(repository, head="feature")
    await told.settle()
    comment = told.comments(pull)[0]
    await bob.reply(comment, "/forge dismiss it is meant so")
    await told.settle()
    [answer] = told.thread_answers(pull, comment)
    assert "dismissed" in answer.body


async def test_t_w15_written_and_not_shown_yet(told: Story) -> None:
    """What took effect although its answer was lost is not written twice, where GitHub does not show it at once."""
    repository, alice, pull = await _open_pull_request(told)
    await told.settle()
    told.github.faults.add(kind="reset", method="POST", path=r"/issues/\d+/comments$")
    told.github.faults.add(kind="reset", method="POST", path="/check-runs$")
    await alice.comment(pull, "/forge review full")
    await told.settle()
    assert len(told.answers(pull)) == 1
    assert len(told.github.check_runs(repository, pull.head_sha, review_texts.CHECK_NAME)) == 2


async def test_t_w15_late_is_not_lagging(told: Story) -> None:
    """An event that is late itself is no reason to look again: what GitHub shows is newer than it."""
    repository, alice, pull = await _open_pull_request(told)
    await told.settle()
    told.github.lag(0)
    told.github.hold_deliveries()
    await alice.push(repository, "feature", LATER)
    told.clock.move(seconds=2)
    await alice.push(repository, "feature", BEFORE | {"more.py": "print()\n"})
    told.github.release_deliveries(reverse=True)
    began = len(told.github.requests)
    await told.settle()
    looked = [each for each in told.github.requests[began:] if each.path.endswith(f"/pulls/{pull.number}")]
    assert len(looked) <= 4  # the two deliveries, and a run that begins and acts
    assert told.check(repository, pull.head_sha).conclusion == "success"
