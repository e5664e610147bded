"""T-G (docs/threats.md) and T-O4: GitHub fails, limits, repeats itself and changes under our feet."""

import asyncio
import time
from pathlib import Path

import pytest

from messages import review as review_texts
from simulator import Simulator, User
from simulator.check_runs import create
from simulator.events import Actor
from simulator.faults import Kind
from simulator.state import CheckRun, PullRequest, Repository
from tests.clock import MovableClock
from tests.databases import create_database
from tests.stories.driver import SECRET, Story, run_forge
from tests.stories.gate_scenes import CI, VOID, WORKFLOW, open_scene
from tests.threats.meanwhile import act_after_write

APP = """\
import os


def main():
    return os.name
"""
BROKEN = APP.replace("os.name", "os.name + missing")
BROKEN_AGAIN = BROKEN.replace("missing", "absent")

CREATE_CHECK, UPDATE_CHECK, REVIEW = r"/check-runs$", r"/check-runs/\d+$", r"/pulls/\d+/reviews$"
ONE = pytest.mark.parametrize("backend", ["sqlite"])


async def push_branch(told: Story, content: str = BROKEN) -> tuple[Repository, User, str]:
    """A pushed branch without a pull request yet: its repository, author and head."""
    repository, alice = told.repository({"app.py": APP})
    return repository, alice, await alice.push(repository, "feature", {"app.py": content}, base="main")


async def assert_reviewed(told: Story, repository: Repository, pull: PullRequest, head: str) -> None:
    """The head was reviewed as if nothing had happened: one check, one review, one comment."""
    await told.settle()
    [check] = told.github.check_runs(repository, head, review_texts.CHECK_NAME)
    assert (check.status, check.conclusion) == ("completed", "failure"), check.summary
    assert [each["start_line"] for each in check.annotations] == [5]
    assert [comment.line for comment in told.comments(pull)] == [5]
    assert len(told.reviews(pull)) == 1
    assert (await told.runs())[0].state == "completed"


@ONE
@pytest.mark.parametrize(
    ("kind", "status"),
    [("before", 500), ("before", 502), ("after", 500), ("after", 502), ("reset", 0), ("reset_before", 0)],
)
async def test_g1_a_write_fails_before_or_after_it_took_effect(told: Story, kind: Kind, status: int) -> None:
    repository, alice, head = await push_branch(told)
    writes = [("POST", CREATE_CHECK), ("PATCH", UPDATE_CHECK), ("POST", REVIEW)]
    faults = [told.github.faults.add(kind=kind, method=method, path=path, status=status) for method, path in writes]
    pull = await alice.open_pull_request(repository, "feature")
    await assert_reviewed(told, repository, pull, head)
    assert [fault.fired for fault in faults] == [1, 1, 1]


@ONE
async def test_g1_github_is_down_for_good(told: Story) -> None:
    repository, alice, head = await push_branch(told)
    told.github.faults.add(kind="after", method="GET", path="/contents/", times=None)
    await alice.open_pull_request(repository, "feature")
    await told.settle()
    assert told.check(repository, head).conclusion == "action_required"
    [run] = await told.runs()
    assert (run.state, run.reason) == ("failed", "error")


@pytest.mark.parametrize(("method", "path"), [("GET", r"/pulls/\d+$"), ("PATCH", UPDATE_CHECK), ("POST", REVIEW)])
async def test_g2_secondary_limit_of_an_hour(told: Story, method: str, path: str) -> None:
    repository, alice, head = await push_branch(told)
    told.github.faults.add(
        kind="before",
        method=method,
        path=path,
        status=403,
        headers={"retry-after": "3600"},
        message="You have exceeded a secondary rate limit.",
    )
    pull = await alice.open_pull_request(repository, "feature")
    await told.settle()
    if path != r"/pulls/\d+$":  # there it is the delivery that waits, before there is a run
        [run] = await told.runs()
        assert (run.state, run.reason) == ("waiting", "rate_limited")
    await assert_quiet(told)

    told.clock.move(minutes=59)
    await assert_quiet(told)
    told.clock.move(minutes=2)
    await assert_reviewed(told, repository, pull, head)


async def test_g2_a_limited_installation_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    """T-B4: whoever waits for GitHub keeps no place; also not after a restart, and nothing is written twice."""
    clock, url = MovableClock(), create_database("sqlite", tmp_path)
    async with Simulator(tmp_path / "github", webhook_secret=SECRET, now=clock.now) as github:
        async with run_forge(github, clock, url, tmp_path, concurrent_runs=1) as told:
            repository, alice, head = await push_branch(told)
            wait = {"retry-after": "3600"}
            github.faults.add(kind="before", method="POST", path=REVIEW, status=403, headers=wait)
            pull = await alice.open_pull_request(repository, "feature")
            await told.settle()
            [run] = await told.runs()
            assert (run.state, run.reason) == ("waiting", "rate_limited")
            other = await assert_others_are_served(told, "other-org/one")
        async with run_forge(github, clock, url, tmp_path, concurrent_runs=1) as told:
            told.answers(other)
            await assert_others_are_served(told, "other-org/two")
            clock.move(minutes=61)
            await told.settle()
            [check] = github.check_runs(repository, head, review_texts.CHECK_NAME)
            assert (check.status, check.conclusion) == ("completed", "failure")
            assert len(told.reviews(pull)) == 1
            assert [comment.line for comment in told.comments(pull)] == [5]


async def assert_others_are_served(told: Story, name: str) -> PullRequest:
    """A pull request in another installation is reviewed, and a command there answered."""
    repository, alice = told.repository({"app.py": APP}, name)
    head = await alice.push(repository, "feature", {"app.py": APP + "\n\nNAME = os.name\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await alice.comment(pull, "/forge status")
    await told.settle()
    assert told.check(repository, head).conclusion == "success"
    assert len(told.answers(pull)) == 1
    return pull


@ONE
async def test_g2_429_without_a_moment(told: Story) -> None:
    repository, alice, head = await push_branch(told)
    told.github.faults.add(kind="before", method="PATCH", path=UPDATE_CHECK, status=429, message="Too many requests")
    pull = await alice.open_pull_request(repository, "feature")
    await told.settle()
    assert (await told.runs())[0].state == "waiting"
    told.clock.move(seconds=61)
    await assert_reviewed(told, repository, pull, head)


@ONE
@pytest.mark.parametrize(
    ("message", "errors"),
    [
        ("Validation Failed", [{"resource": "PullRequestReview", "code": "abuse"}]),
        ("Unprocessable Entity", ["was submitted too quickly"]),
    ],
)
async def test_g2_too_much_content_keeps_its_comments_inline(told: Story, message: str, errors: list[object]) -> None:
    """GitHub says so as it says that a position is wrong; a review without its comments would be the answer to that."""
    repository, alice, head = await push_branch(told)
    told.github.faults.add(kind="before", method="POST", path=REVIEW, status=422, message=message, errors=errors)
    pull = await alice.open_pull_request(repository, "feature")
    await told.settle()
    [run] = await told.runs()
    assert (run.state, run.reason) == ("waiting", "rate_limited")
    told.clock.move(seconds=61)
    await assert_reviewed(told, repository, pull, head)


@ONE
async def test_g2_primary_limit(told: Story) -> None:
    repository, alice, head = await push_branch(told)
    [installation] = told.github.world.installations.values()
    installation.rate_limit = 4
    pull = await alice.open_pull_request(repository, "feature")
    await told.settle()
    [run] = await told.runs()
    assert (run.state, run.reason) == ("waiting", "rate_limited")
    await assert_quiet(told)

    installation.rate_limit = 5000
    told.clock.move(minutes=61)
    await assert_reviewed(told, repository, pull, head)


@ONE
async def test_g2_limited_when_it_wants_to_say_that_it_failed(told: Story) -> None:
    repository, alice, head = await push_branch(told)
    told.github.faults.add(kind="before", path="/contents/", status=403, message="Resource not accessible")
    told.github.faults.add(
        kind="before", method="PATCH", path=UPDATE_CHECK, skip=1, status=429, headers={"retry-after": "3600"}
    )
    await alice.open_pull_request(repository, "feature")
    await told.settle()
    [run] = await told.runs()
    assert (run.state, run.reason) == ("failed", "access_lost")
    assert told.check(repository, head).status == "in_progress"

    told.clock.move(minutes=61)
    await told.settle()
    assert told.check(repository, head).conclusion == "action_required"


@ONE
async def test_g2_a_push_while_a_run_waits(told: Story) -> None:
    repository, alice, head = await push_branch(told)
    told.github.faults.add(kind="before", method="POST", path=REVIEW, status=429, headers={"retry-after": "3600"})
    pull = await alice.open_pull_request(repository, "feature")
    await told.settle()
    newer = await alice.push(repository, "feature", {"app.py": BROKEN_AGAIN})
    await told.settle()
    await assert_quiet(told)

    told.clock.move(minutes=61)
    await told.settle()
    assert told.check(repository, newer).conclusion == "failure"
    assert told.check(repository, head).conclusion in {"failure", "cancelled"}
    assert told.comments(pull)


@ONE
async def test_g2_limited_while_pull_requests_with_questions_are_closed(told: Story) -> None:
    """What waited for a person has no workflow that would take its question back later."""
    scene = await open_scene(told)
    limit_requests(told, "PATCH", UPDATE_CHECK)
    await scene.alice.close(scene.pull)
    await told.settle()
    assert (await scene.run()).reason == "closed"

    told.clock.move(minutes=61)
    await told.settle()
    assert scene.gate("protected_paths").conclusion == "cancelled"
    assert told.gates(scene.pull) == []
    assert told.gate_outcomes(scene.pull) == [f"protected_paths: {VOID}"]


@ONE
async def test_g2_limited_again_and_again_while_a_question_is_closed(told: Story) -> None:
    """Only what is not shown yet is written after each wait: else many such would write the same for ever."""
    scene = await open_scene(told)
    gate = f"/check-runs/{scene.gate('protected_paths').id}"
    before = len(told.github.requests)
    limit_requests(told, "POST", "/graphql$", times=4)  # which folds the comment
    await scene.alice.close(scene.pull)
    for _ in range(5):
        await told.settle()
        told.clock.move(minutes=61)
    await told.settle()
    closed = [each for each in told.github.requests[before:] if each.write and each.path.endswith(gate)]
    assert len(closed) <= 2
    assert told.gate_outcomes(scene.pull) == [f"protected_paths: {VOID}"]
    [comment] = [each for each in told.github.comments(scene.pull) if "forge:gate:" in each.body]
    assert comment.minimized is not None


@ONE
async def test_g2_limited_while_a_push_overtakes_a_question(told: Story) -> None:
    scene = await open_scene(told)
    asked, head = scene.gate("protected_paths"), scene.head
    limit_requests(told, "PATCH", UPDATE_CHECK)
    await scene.push({"notes.md": "# Notes\n", CI: WORKFLOW})
    assert asked.conclusion == "action_required"

    told.clock.move(minutes=61)
    await told.settle()
    assert asked.conclusion == "cancelled"
    assert told.check(scene.repository, head).conclusion in {"action_required", "cancelled"}
    assert told.gates(scene.pull) == []
    assert told.gate_outcomes(scene.pull) == [f"protected_paths: {VOID}"]


@ONE
async def test_g2_limited_while_it_tells_who_is_named_that_nobody_answered(told: Story) -> None:
    scene = await open_scene(told, configuration='gates: {protected_paths: {timeout: 3h, escalate: ["@dora"]}}\n')
    limit_requests(told, "POST", r"/issues/\d+/comments$", times=2)
    told.clock.move(hours=3, minutes=1)
    await told.settle()
    for _ in range(2):
        told.clock.move(minutes=61)
        await told.settle()
    assert [answer.body.count("@dora") for answer in told.answers(scene.pull)] == [1]
    assert (await scene.run()).reason == "gate_timeout"
    told.gate_outcomes(scene.pull)


def limit_requests(told: Story, method: str, path: str, times: int = 1) -> None:
    """GitHub's secondary limit answers the next such requests, and holds for an hour each."""
    wait = {"retry-after": "3600"}
    told.github.faults.add(kind="before", method=method, path=path, status=403, headers=wait, times=times)


async def assert_quiet(told: Story) -> None:
    """Nothing is sent to GitHub for the installation for a while; its log of deliveries has a limit of its own."""
    before = len(told.github.requests)
    await asyncio.sleep(1.5)
    assert {each.path for each in told.github.requests[before:]} <= {"/app/hook/deliveries"}


@ONE
@pytest.mark.parametrize("kind", ["before", "reset", "truncated"])
async def test_g3_the_second_page_fails_while_an_effect_is_looked_for(told: Story, kind: Kind) -> None:
    """Half a list must not be taken for the whole: the check would be created a second time."""
    repository, alice, head = await push_branch(told)
    actor = Actor(told.github.app.bot, told.github.app)
    for number in range(120):
        body = {"name": f"Other {number}", "head_sha": head, "external_id": str(number), "status": "completed"}
        create(told.github.world, repository, actor, {**body, "conclusion": "success"})
    told.github.faults.add(kind="reset", method="POST", path=CREATE_CHECK)
    page = told.github.faults.add(
        kind=kind, method="GET", path=r"/commits/\w+/check-runs$", skip=0 if kind == "truncated" else 1, times=2
    )
    pull = await alice.open_pull_request(repository, "feature")
    await assert_reviewed(told, repository, pull, head)
    assert page.fired == 2


@ONE
async def test_g3_a_comparison_that_cannot_be_had_is_no_approval(told: Story) -> None:
    repository, alice, head = await push_branch(told, APP + "\n\nNAME = os.name\n")
    told.github.faults.add(kind="before", status=502, path="/dependency-graph/", times=None)
    await alice.open_pull_request(repository, "feature")
    await told.settle()
    assert told.check(repository, head).conclusion == "action_required"


@ONE
async def test_g4_the_token_expires_in_the_middle(told: Story) -> None:
    repository, alice, head = await push_branch(told)

    async def expire() -> None:
        told.clock.move(minutes=70)

    act_after_write(told, expire, said="in_progress")
    pull = await alice.open_pull_request(repository, "feature")
    await assert_reviewed(told, repository, pull, head)
    assert count_tokens(told) == 2


@ONE
async def test_g4_the_token_is_refused_in_the_middle(told: Story) -> None:
    repository, alice, head = await push_branch(told)

    async def revoke() -> None:
        told.github.world.tokens.clear()

    act_after_write(told, revoke, said="in_progress")
    pull = await alice.open_pull_request(repository, "feature")
    await assert_reviewed(told, repository, pull, head)
    assert count_tokens(told) == 2


def count_tokens(told: Story) -> int:
    return sum(request.path.endswith("/access_tokens") for request in told.github.requests)


@ONE
@pytest.mark.parametrize("when", ["queued", "in_progress", "failure"])
@pytest.mark.parametrize("how", ["push", "force push", "base change", "close"])
async def test_g7_the_pull_request_changes_under_a_run(told: Story, when: str, how: str) -> None:
    repository, alice, head = await push_branch(told)
    pull = None

    async def change() -> None:
        assert pull is not None
        match how:
            case "push":
                await alice.push(repository, "feature", {"app.py": BROKEN_AGAIN})
            case "force push":
                await alice.push(repository, "feature", {"app.py": BROKEN_AGAIN}, base="main", force=True)
            case "base change":
                await alice.edit_base(pull, "release")
            case _:
                await alice.close(pull)

    await alice.push(repository, "release", {"NEWS.md": "# News\n"}, base="main")
    act_after_write(told, change, said=when)
    pull = await alice.open_pull_request(repository, "feature")
    await told.settle()
    await told.settle()

    told.comments(pull)
    runs = await told.runs()
    checks = told.github.check_runs(repository, head, review_texts.CHECK_NAME)
    if how == "close":
        assert [check.conclusion for check in checks] == [
            "cancelled" if runs[0].state == "cancelled" and when != "failure" else "failure"
        ]
        return
    assert [run.state for run in runs] in (["completed", "cancelled"], ["completed", "completed"])
    assert (runs[0].head_sha, runs[0].base_sha) == (pull.head_sha, pull.base_sha)
    newest = max(told.github.check_runs(repository, pull.head_sha), key=lambda check: check.id)
    base = "Forge / review: release" if how == "base change" else review_texts.CHECK_NAME
    assert (newest.name, newest.conclusion) == (base, "failure")
    is_left = how == "base change" or runs[1].state == "cancelled"
    assert checks[0].conclusion == ("cancelled" if is_left else "failure")


@ONE
async def test_g7_a_run_that_is_busy_ends_soon_after_the_close(told: Story) -> None:
    repository, alice, head = await push_branch(told)
    told.github.faults.add(kind="slow", path="git-upload-pack", delay=60)
    pull = await alice.open_pull_request(repository, "feature")
    check = await wait_for_progress(told, repository, head)
    began = time.monotonic()
    await alice.close(pull)
    await told.settle()
    assert time.monotonic() - began < 10
    assert check.conclusion == "cancelled"
    [run] = await told.runs()
    assert (run.state, run.reason) == ("cancelled", "closed")


async def wait_for_progress(told: Story, repository: Repository, head: str) -> CheckRun:
    """The head's check, once it is in progress."""
    while True:
        for check in told.github.check_runs(repository, head, review_texts.CHECK_NAME):
            if check.status == "in_progress":
                return check
        await asyncio.sleep(0.05)


@ONE
async def test_o4_a_pull_request_with_three_hundred_findings(told: Story) -> None:
    """T-O4: more than 50 annotations and more than 65,535 characters."""
    name = "/".join(["a_folder_with_a_rather_long_name"] * 20) + "/app.py"
    lines = "".join(f"VALUE_{number} = {'missing_' * 12}{number}\n" for number in range(300))
    repository, alice = told.repository({"app.py": APP})
    head = await alice.push(repository, "feature", {name: lines}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await told.settle()

    check = told.check(repository, head)
    assert check.conclusion == "failure"
    assert sorted(each["start_line"] for each in check.annotations) == list(range(1, 101))
    assert len(check.summary or "") <= 65_535
    assert 60_000 < len(check.text or "") <= 65_535
    assert (check.text or "").endswith("*Shortened: GitHub shows no more than 65,535 characters here.*")
    assert "100 more findings left out; Forge keeps the most severe ones of each file and tool" in (check.summary or "")
    assert "a_rather_long_name/app.py:1` 💬 | Undefined name" in (check.summary or "")
    [comment] = told.comments(pull)
    assert "and 170 more, listed in the check `Forge / review`" in comment.body
    [review] = told.reviews(pull)
    assert review.body.startswith("**Changes requested: 200 findings to fix.**")
