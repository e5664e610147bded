"""A head is reviewed again until it has a verdict, and a verdict that came stands."""

import pytest

from messages import review as review_texts
from simulator import User
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story
from tests.threats.meanwhile import act_after_write

APP = "import os\n\n\ndef main():\n    return os.name\n"
BROKEN = APP.replace("os.name", "os.name + missing")
OTHER = APP.replace("os.name", "os.name + absent")


async def _open_pull_request(told: Story, files: dict[str, str] | None = None) -> tuple[Repository, User, str]:
    repository, alice = told.repository({"app.py": APP, **(files or {})})
    head = await alice.push(repository, "feature", {"app.py": BROKEN}, base="main")
    await alice.open_pull_request(repository, "feature")
    return repository, alice, head


def _pull(repository: Repository) -> PullRequest:
    [pull] = [issue for issue in repository.issues.values() if isinstance(issue, PullRequest)]
    return pull


async def test_pushed_back_to_a_head_whose_review_was_superseded(told: Story) -> None:
    repository, alice = told.repository({"app.py": APP})
    head = await alice.push(repository, "feature", {"app.py": BROKEN}, base="main")

    async def push() -> None:
        await alice.push(repository, "feature", {"app.py": OTHER})

    act_after_write(told, push, r"/check-runs/\d+$", "in_progress")
    pull = await alice.open_pull_request(repository, "feature")
    await told.settle()
    await alice.reset_branch(repository, "feature", head)
    await told.settle()
    told.comments(pull)
    assert told.check(repository, head).conclusion == "failure"


async def test_back_to_the_first_base(told: Story) -> None:
    """What another base gave the head is not its verdict any more."""
    repository, alice = told.repository({"app.py": APP})
    await alice.push(repository, "release", {"app.py": BROKEN}, base="main")
    head = await alice.push(repository, "feature", {"notes.md": "Nothing is wrong in here.\n"}, base="release")
    pull = await alice.open_pull_request(repository, "feature")
    await told.settle()
    told.comments(pull)
    assert told.check(repository, head).conclusion == "failure"
    await alice.edit_base(pull, "release")
    await told.settle()
    assert told.check(repository, head, "release").conclusion == "success"

    await alice.edit_base(pull, "main")
    await told.settle()
    told.comments(pull)
    assert told.github.check_runs(repository, head, review_texts.CHECK_NAME)[-1].conclusion == "failure"


async def test_ready_while_the_draft_is_being_left_out(told: Story) -> None:
    repository, alice = told.repository({"app.py": APP})
    head = await alice.push(repository, "feature", {"app.py": BROKEN}, base="main")
    pull = await alice.open_pull_request(repository, "feature", draft=True)

    async def ready() -> None:
        await alice.mark_ready(pull)

    act_after_write(told, ready, r"/check-runs/\d+$", "action_required")
    await told.settle()
    told.comments(pull)
    assert told.check(repository, head).conclusion == "failure"


async def test_review_after_a_pause(told: Story) -> None:
    repository, alice = told.repository({"app.py": APP})
    root = told.github.user("root")
    told.github.grant(repository, root, "admin")
    await alice.push(repository, "feature", {"app.py": APP + "\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await told.settle()
    await root.comment(pull, "/forge pause")
    await told.settle()
    head = await alice.push(repository, "feature", {"app.py": BROKEN})
    await told.settle()
    assert told.check(repository, head).title == "Paused"

    await root.comment(pull, "/forge unpause\n/forge review")
    await told.settle()
    told.comments(pull)
    assert told.check(repository, head).conclusion == "failure"
    assert len(told.answers(pull)) == 2


async def test_review_after_a_failure(told: Story) -> None:
    outage = told.github.faults.add(kind="before", method="GET", path="/contents/", times=None)
    repository, alice, head = await _open_pull_request(told)
    await told.settle()
    assert told.check(repository, head).title == "Forge could not finish the review"
    outage.times = outage.fired

    await alice.comment(_pull(repository), "/forge review")
    await told.settle()
    told.comments(_pull(repository))
    assert told.check(repository, head).conclusion == "failure"
    [answer] = told.answers(_pull(repository))
    assert "reviewed before" not in answer.body


async def test_a_verdict_is_not_repeated_unasked(told: Story) -> None:
    repository, alice, head = await _open_pull_request(told)
    await told.settle()
    told.comments(_pull(repository))
    await alice.comment(_pull(repository), "/forge review")
    await told.settle()
    [answer] = told.answers(_pull(repository))
    assert "was reviewed before" in answer.body
    assert len(await told.runs()) == 1
    assert told.check(repository, head).conclusion == "failure"


async def test_merge_queue_lets_through_what_is_left_out(told: Story) -> None:
    repository, _, head = await _open_pull_request(told, {".github/forge.yml": "review: {on_pull_request: false}\n"})
    await told.settle()
    assert told.check(repository, head).title == "Not reviewed"
    queued = told.github.queue_for_merge(_pull(repository))
    await told.settle()
    check = told.check(repository, queued)
    assert (check.conclusion, check.title) == ("neutral", "Not reviewed")


async def test_a_merge_right_after_the_verdict_leaves_it(told: Story) -> None:
    repository, alice = told.repository({"app.py": APP})
    head = await alice.push(repository, "feature", {"app.py": APP + "\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature")

    async def close() -> None:
        await alice.close(pull)

    act_after_write(told, close, r"/check-runs/\d+$", "success")
    await told.settle()
    assert told.check(repository, head).conclusion == "success"


async def test_a_delivery_survives_an_outage_of_github(told: Story) -> None:
    outage = told.github.faults.add(kind="before", method="GET", path=r"/pulls/\d+$", times=13)
    repository, _, head = await _open_pull_request(told)
    await told.settle()
    assert outage.fired == 13
    told.comments(_pull(repository))
    assert told.check(repository, head).conclusion == "failure"


@pytest.mark.parametrize("how", ["suspended", "down"])
async def test_a_check_is_closed_once_github_lets_it(told: Story, how: str) -> None:
    """A run that GitHub shut out, or that could not be told off, says how it ended when that is possible again."""
    repository, alice = told.repository({"app.py": APP})
    head = await alice.push(repository, "feature", {"app.py": BROKEN}, base="main")
    installation = told.github.world.installation_of(repository)
    assert installation is not None

    async def shut_out() -> None:
        if how == "suspended":
            told.github.suspend(installation)
        else:
            told.github.faults.add(kind="before", method="GET", path="/check-runs", times=12)
            await alice.push(repository, "feature", {"app.py": APP})

    act_after_write(told, shut_out, r"/check-runs/\d+$", "in_progress")
    pull = await alice.open_pull_request(repository, "feature")
    await told.settle()
    if how == "suspended":
        [check] = told.github.check_runs(repository, head, review_texts.CHECK_NAME)
        assert check.status == "in_progress"
        told.github.unsuspend(installation)
        await told.settle()
    told.comments(pull)
    [check] = told.github.check_runs(repository, head, review_texts.CHECK_NAME)
    # The run may have met the suspension itself before the news of it came: then it failed.
    state = next(run.state for run in await told.runs() if run.head_sha == head)
    assert (check.status, check.conclusion) == (
        "completed",
        {"cancelled": "cancelled", "failed": "action_required"}[state],
    )
    assert how == "suspended" or state == "cancelled"
