"""A head is reviewed again until it has a verdict, and a verdict that came stands."""

import pytest
from inline_snapshot import snapshot

from messages import review as review_texts
from simulator import User
from simulator.state import PullRequest, Repository
from tests.stories.driver import Story
from tests.threats.meanwhile import act_after_write
from tests.world.automation import APP, BROKEN
from tests.world.replies import bodies, first_lines

OTHER = APP.replace("os.name", "os.name + absent")


async def _open_pull_request(story: Story, files: dict[str, str] | None = None) -> tuple[Repository, User, str]:
    repository, alice = story.repository({"app.py": APP, **(files or {})})
    head = await alice.push(repository, "feature", {"app.py": BROKEN}, base="main")
    await alice.open_pull_request(repository, "feature")
    return repository, alice, head


def _pull(repository: Repository) -> PullRequest:
    [pull] = [issue for issue in repository.issues.values() if isinstance(issue, PullRequest)]
    return pull


async def test_pushed_back_to_a_head_whose_review_was_superseded(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    head = await alice.push(repository, "feature", {"app.py": BROKEN}, base="main")

    async def push() -> None:
        await alice.push(repository, "feature", {"app.py": OTHER})

    act_after_write(story, push, r"/check-runs/\d+$", "in_progress")
    pull = await story.after(alice.open_pull_request(repository, "feature"))
    await story.after(alice.reset_branch(repository, "feature", head))
    assert first_lines(story.comments(pull)) == snapshot(
        ["**No longer applies** (`SHA`).", "🔴 **Error** · correctness"]
    )
    assert story.check(repository, head).conclusion == "failure"


async def test_ready_while_the_draft_is_being_left_out(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    head = await alice.push(repository, "feature", {"app.py": BROKEN}, base="main")
    pull = await alice.open_pull_request(repository, "feature", draft=True)

    async def ready() -> None:
        await alice.mark_ready(pull)

    act_after_write(story, ready, r"/check-runs/\d+$", "neutral")
    await story.settle()
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])
    assert story.check(repository, head).conclusion == "failure"


async def test_review_after_a_pause(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    root = story.member(repository, "root", "admin")
    pull, _ = await story.propose(repository, alice, {"app.py": APP + "\n"})
    await story.after(root.comment(pull, "/forge pause"))
    head = await story.after(alice.push(repository, "feature", {"app.py": BROKEN}))
    paused = story.check(repository, head)
    assert (paused.conclusion, paused.title) == ("action_required", "Paused")

    await story.after(root.comment(pull, "/forge unpause\n/forge review"))
    assert first_lines(story.comments(pull)) == snapshot(["🔴 **Error** · correctness"])
    assert story.check(repository, head).conclusion == "failure"
    assert len(story.answers(pull)) == 2


async def test_review_after_a_failure(story: Story) -> None:
    outage = story.github.faults.add(kind="before", method="GET", path="/contents/", times=None)
    repository, alice, head = await _open_pull_request(story)
    await story.settle()
    assert story.check(repository, head).title == "Forge could not finish the review"
    outage.times = outage.fired

    await story.after(alice.comment(_pull(repository), "/forge review"))
    assert first_lines(story.comments(_pull(repository))) == snapshot(["🔴 **Error** · correctness"])
    assert story.check(repository, head).conclusion == "failure"
    [answer] = story.answers(_pull(repository))
    assert "reviewed before" not in answer.body


async def test_a_verdict_is_not_repeated_unasked(story: Story) -> None:
    repository, alice, head = await _open_pull_request(story)
    await story.settle()
    assert first_lines(story.comments(_pull(repository))) == snapshot(["🔴 **Error** · correctness"])
    await story.after(alice.comment(_pull(repository), "/forge review"))
    assert bodies(story.answers(_pull(repository))) == snapshot(
        ["`SHA`: this head was reviewed before; see its check. `/forge review full` starts again."]
    )
    assert len(await story.runs()) == 1
    assert story.check(repository, head).conclusion == "failure"


async def test_where_reviews_are_off_there_is_no_check_until_somebody_asks(story: Story) -> None:
    """A branch that requires it still gets it: nobody could merge without."""
    off = {".github/forge.yml": "review: {on_pull_request: false}\n"}
    repository, alice, _ = await _open_pull_request(story, off)
    await story.settle()
    second = await story.after(alice.push(repository, "feature", {"app.py": BROKEN + "\n"}))
    assert story.github.check_runs(repository, second, "Forge / review") == []
    await story.after(alice.comment(_pull(repository), "/forge review"))
    assert story.check(repository, second).conclusion == "failure"
    story.github.protect(repository, "main", ["Forge / review"])
    third = await story.after(alice.push(repository, "feature", {"app.py": BROKEN + "\n\n"}))
    check = story.check(repository, third)
    assert (check.conclusion, check.title) == ("action_required", "Not reviewed")
    story.pass_over(_pull(repository))


async def test_merge_queue_lets_through_what_is_left_out(story: Story) -> None:
    repository, _, head = await _open_pull_request(story, {".github/forge.yml": "review: {on_pull_request: false}\n"})
    await story.settle()
    assert story.check(repository, head).title == "Not reviewed"
    queued = story.github.queue_for_merge(_pull(repository))
    await story.settle()
    check = story.check(repository, queued)
    assert (check.conclusion, check.title) == ("neutral", "Not reviewed")


async def test_a_merge_right_after_the_verdict_leaves_it(story: Story) -> None:
    repository, alice = story.repository({"app.py": APP})
    head = await alice.push(repository, "feature", {"app.py": APP + "\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature")

    async def close() -> None:
        await alice.close(pull)

    act_after_write(story, close, r"/check-runs/\d+$", "success")
    await story.settle()
    assert story.check(repository, head).conclusion == "success"


async def test_a_delivery_survives_an_outage_of_github(story: Story) -> None:
    outage = story.github.faults.add(kind="before", method="GET", path=r"/pulls/\d+$", times=13)
    repository, _, head = await _open_pull_request(story)
    await story.settle()
    assert outage.fired == 13
    assert first_lines(story.comments(_pull(repository))) == snapshot(["🔴 **Error** · correctness"])
    assert story.check(repository, head).conclusion == "failure"


@pytest.mark.parametrize("how", ["suspended", "down"])
async def test_a_check_is_closed_once_github_lets_it(story: Story, how: str) -> None:
    """A run that GitHub shut out, or that could not be told off, says how it ended when that is possible again."""
    repository, alice = story.repository({"app.py": APP})
    head = await alice.push(repository, "feature", {"app.py": BROKEN}, base="main")
    installation = story.github.world.installation_of(repository)
    assert installation is not None

    async def shut_out() -> None:
        if how == "suspended":
            story.github.suspend(installation)
        else:
            story.github.faults.add(kind="before", method="GET", path="/check-runs", times=12)
            await alice.push(repository, "feature", {"app.py": APP})

    act_after_write(story, shut_out, r"/check-runs/\d+$", "in_progress")
    pull = await story.after(alice.open_pull_request(repository, "feature"))
    if how == "suspended":
        [check] = story.github.check_runs(repository, head, review_texts.CHECK_NAME)
        assert check.status == "in_progress"
        story.github.unsuspend(installation)
        await story.settle()
    assert first_lines(story.comments(pull)) == snapshot([])
    [check] = story.github.check_runs(repository, head, review_texts.CHECK_NAME)
    # The run may have met the suspension itself before the news of it came: then it failed.
    state = next(run.state for run in await story.runs() if run.head_sha == head)
    assert (check.status, check.conclusion) == (
        "completed",
        {"cancelled": "cancelled", "failed": "action_required"}[state],
    )
    assert how == "suspended" or state == "cancelled"


async def test_a_pause_leaves_the_verdict(story: Story) -> None:
    """Whatever asks for another review meanwhile: a command, the button, GitHub's re-run, or to reopen it."""
    repository, alice = story.repository({"app.py": APP})
    root = story.member(repository, "root", "admin")
    pull, head = await story.propose(repository, alice, {"app.py": APP + "\n"})
    check = story.check(repository, head)
    assert check.conclusion == "success"
    await story.after(root.comment(pull, "/forge pause"))
    story.answers(pull)

    await root.comment(pull, "/forge review full")
    await root.press(check, "review")
    await root.rerequest(check)
    await root.close(pull)
    await story.after(root.reopen(pull))
    assert story.check(repository, head).conclusion == "success"
    answers = first_lines(story.answers(pull))[1:]  # the close may come before the button is answered
    assert set(answers) == snapshot(
        {"Forge is paused in this repository by `root`; `/forge unpause` lets it work aga…"}
    )
    await story.after(root.comment(pull, "/forge unpause"))
    story.answers(pull)
    assert story.check(repository, head).conclusion == "success"
