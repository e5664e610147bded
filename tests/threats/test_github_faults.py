"""T-G (docs/threats.md) and T-O4: GitHub fails, limits, repeats itself and changes under our feet."""

import asyncio
import time
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from messages import review as review_texts
from simulator import Simulator, User
from simulator.check_runs import create
from simulator.errors import Kind
from simulator.state import CheckRun, PullRequest, Repository
from simulator.webhooks import Actor
from tests.clock import MovableClock
from tests.databases import create_database
from tests.stories.driver import SECRET, Story, run_forge
from tests.stories.gate_scenes import CI, VOID, WORKFLOW, open_scene
from tests.threats.meanwhile import act_after_write
from tests.world.automation import APP, BROKEN
from tests.world.replies import first_lines

BROKEN_AGAIN = BROKEN.replace("missing", "absent")

CREATE_CHECK, UPDATE_CHECK, REVIEW = r"/check-runs$", r"/check-runs/\d+$", r"/pulls/\d+/reviews$"
ONE = pytest.mark.parametrize("backend", ["sqlite"])


async def push_branch(story: Story, content: str = BROKEN) -> tuple[Repository, User, str]:
    """A pushed branch without a pull request yet: its repository, author and head."""
    repository, alice = story.repository({"app.py": APP})
    return repository, alice, await alice.push(repository, "feature", {"app.py": content}, base="main")


async def assert_reviewed(story: Story, repository: Repository, pull: PullRequest, head: str) -> None:
    """The head was reviewed as if nothing had happened: one check, one review, one comment."""
    await story.settle()
    [check] = story.github.check_runs(repository, head, review_texts.CHECK_NAME)
    assert (check.status, check.conclusion) == ("completed", "failure"), check.summary
    assert check.annotations == []
    assert [comment.line for comment in story.comments(pull)] == [5]
    assert len(story.reviews(pull)) == 1
    assert (await story.runs())[0].state == "completed"


@ONE
@pytest.mark.parametrize(
    ("kind", "status"),
    [("before", 500), ("before", 502), ("after", 500), ("after", 502), ("reset", 0), ("reset_before", 0)],
)
async def test_g1_a_write_fails_before_or_after_it_took_effect(story: Story, kind: Kind, status: int) -> None:
    repository, alice, head = await push_branch(story)
    writes = [("POST", CREATE_CHECK), ("PATCH", UPDATE_CHECK), ("POST", REVIEW)]
    faults = [story.github.faults.add(kind=kind, method=method, path=path, status=status) for method, path in writes]
    pull = await alice.open_pull_request(repository, "feature")
    await assert_reviewed(story, repository, pull, head)
    assert [fault.fired for fault in faults] == [1, 1, 1]


@ONE
async def test_g1_github_is_down_for_good(story: Story) -> None:
    repository, alice, head = await push_branch(story)
    story.github.faults.add(kind="after", method="GET", path="/contents/", times=None)
    await alice.open_pull_request(repository, "feature")
    await story.settle()
    assert story.check(repository, head).conclusion == "action_required"
    [run] = await story.runs()
    assert (run.state, run.reason) == ("failed", "error")


@pytest.mark.parametrize(("method", "path"), [("GET", r"/pulls/\d+$"), ("PATCH", UPDATE_CHECK), ("POST", REVIEW)])
async def test_g2_secondary_limit_of_an_hour(story: Story, method: str, path: str) -> None:
    repository, alice, head = await push_branch(story)
    story.github.faults.add(
        kind="before",
        method=method,
        path=path,
        status=403,
        headers={"retry-after": "3600"},
        message="You have exceeded a secondary rate limit.",
    )
    pull = await alice.open_pull_request(repository, "feature")
    await story.settle()
    if path != r"/pulls/\d+$":  # there it is the delivery that waits, before there is a run
        [run] = await story.runs()
        assert (run.state, run.reason) == ("waiting", "rate_limited")
    await assert_quiet(story)

    story.clock.move(minutes=59)
    await assert_quiet(story)
    story.clock.move(minutes=2)
    await assert_reviewed(story, repository, pull, head)


ASKED_EARLY = ("waiting for a free worker", "running")
"""States of a review when the comment after the pull request is read."""


async def test_g2_a_limited_installation_keeps_nobody_else_waiting(tmp_path: Path) -> None:
    """T-B4: whoever waits for GitHub keeps no place; also not after a restart, and nothing is written twice."""
    clock, url = MovableClock(), create_database("sqlite", tmp_path)
    async with Simulator(tmp_path / "github", webhook_secret=SECRET, now=clock.now) as github:
        async with run_forge(github, clock, url, tmp_path, concurrent_runs=1) as story:
            repository, alice, head = await push_branch(story)
            wait = {"retry-after": "3600"}
            github.faults.add(kind="before", method="POST", path=REVIEW, status=403, headers=wait)
            pull = await alice.open_pull_request(repository, "feature")
            await story.settle()
            [run] = await story.runs()
            assert (run.state, run.reason) == ("waiting", "rate_limited")
            other = await assert_others_are_served(story, "other-org/one")
        async with run_forge(github, clock, url, tmp_path, concurrent_runs=1) as story:
            [answer] = first_lines(story.answers(other))
            assert answer in {f"Run `ULID` of `SHA`: **{state}**, since TIME." for state in ASKED_EARLY}
            await assert_others_are_served(story, "other-org/two")
            clock.move(minutes=61)
            await story.settle()
            [check] = github.check_runs(repository, head, review_texts.CHECK_NAME)
            assert (check.status, check.conclusion) == ("completed", "failure")
            assert len(story.reviews(pull)) == 1
            assert [comment.line for comment in story.comments(pull)] == [5]


async def assert_others_are_served(story: Story, name: str) -> PullRequest:
    """A pull request in another installation is reviewed, and a command there answered."""
    repository, alice = story.repository({"app.py": APP}, name)
    head = await alice.push(repository, "feature", {"app.py": APP + "\n\nNAME = os.name\n"}, base="main")
    pull = await alice.open_pull_request(repository, "feature")
    await alice.comment(pull, "/forge status")
    await story.settle()
    assert story.check(repository, head).conclusion == "neutral"  # nobody read the logic
    assert len(story.answers(pull)) == 1
    return pull


@ONE
@pytest.mark.parametrize(
    ("write", "status", "message", "errors"),
    [
        (("PATCH", UPDATE_CHECK), 429, "Too many requests", []),
        (("POST", REVIEW), 422, "Validation Failed", [{"resource": "PullRequestReview", "code": "abuse"}]),
        (("POST", REVIEW), 422, "Unprocessable Entity", ["was submitted too quickly"]),
    ],
)
async def test_g2_a_limit_without_a_moment(
    story: Story, write: tuple[str, str], status: int, message: str, errors: list[object]
) -> None:
    """Of too much content GitHub says so as it says that a position is wrong: the comments stay inline all the same."""
    repository, alice, head = await push_branch(story)
    method, path = write
    story.github.faults.add(kind="before", method=method, path=path, status=status, message=message, errors=errors)
    pull = await alice.open_pull_request(repository, "feature")
    await story.settle()
    [run] = await story.runs()
    assert (run.state, run.reason) == ("waiting", "rate_limited")
    story.clock.move(seconds=61)
    await assert_reviewed(story, repository, pull, head)


@ONE
async def test_g2_primary_limit(story: Story) -> None:
    repository, alice, head = await push_branch(story)
    [installation] = story.github.world.installations.values()
    installation.rate_limit = 4
    pull = await alice.open_pull_request(repository, "feature")
    await story.settle()
    [run] = await story.runs()
    assert (run.state, run.reason) == ("waiting", "rate_limited")
    await assert_quiet(story)

    installation.rate_limit = 5000
    story.clock.move(minutes=61)
    await assert_reviewed(story, repository, pull, head)


@ONE
async def test_g2_limited_when_it_wants_to_say_that_it_failed(story: Story) -> None:
    repository, alice, head = await push_branch(story)
    story.github.faults.add(kind="before", path="/contents/", status=403, message="Resource not accessible")
    story.github.faults.add(
        kind="before", method="PATCH", path=UPDATE_CHECK, skip=1, status=429, headers={"retry-after": "3600"}
    )
    await alice.open_pull_request(repository, "feature")
    await story.settle()
    [run] = await story.runs()
    assert (run.state, run.reason) == ("failed", "access_lost")
    assert story.check(repository, head).status == "in_progress"

    story.clock.move(minutes=61)
    await story.settle()
    assert story.check(repository, head).conclusion == "action_required"


@ONE
async def test_g2_a_push_while_a_run_waits(story: Story) -> None:
    repository, alice, head = await push_branch(story)
    story.github.faults.add(kind="before", method="POST", path=REVIEW, status=429, headers={"retry-after": "3600"})
    pull = await alice.open_pull_request(repository, "feature")
    await story.settle()
    newer = await alice.push(repository, "feature", {"app.py": BROKEN_AGAIN})
    await story.settle()
    await assert_quiet(story)

    story.clock.move(minutes=61)
    await story.settle()
    assert story.check(repository, newer).conclusion == "failure"
    assert story.check(repository, head).conclusion in {"failure", "cancelled"}
    assert story.comments(pull)


@ONE
async def test_g2_limited_while_pull_requests_with_questions_are_closed(story: Story) -> None:
    """What waited for a person has no workflow that would take its question back later."""
    scene = await open_scene(story)
    limit_requests(story, "PATCH", UPDATE_CHECK)
    await scene.alice.close(scene.pull)
    await story.settle()
    assert (await scene.run()).reason == "closed"

    story.clock.move(minutes=61)
    await story.settle()
    assert scene.gate("protected_paths").conclusion == "cancelled"
    assert story.gates(scene.pull) == []
    assert story.gate_outcomes(scene.pull) == [f"protected_paths: {VOID}"]


@ONE
async def test_g2_limited_again_and_again_while_a_question_is_closed(story: Story) -> None:
    """Only what is not shown yet is written after each wait: else many such would write the same for ever."""
    scene = await open_scene(story)
    gate = f"/check-runs/{scene.gate('protected_paths').id}"
    before = len(story.github.requests)
    limit_requests(story, "POST", "/graphql$", times=4)  # which folds the comment
    await scene.alice.close(scene.pull)
    for _ in range(5):
        await story.settle()
        story.clock.move(minutes=61)
    await story.settle()
    closed = [each for each in story.github.requests[before:] if each.write and each.path.endswith(gate)]
    assert len(closed) <= 2
    assert story.gate_outcomes(scene.pull) == [f"protected_paths: {VOID}"]
    [comment] = [each for each in story.github.comments(scene.pull) if "forge:gate:" in each.body]
    assert comment.minimized is not None


@ONE
async def test_g2_limited_while_a_push_overtakes_a_question(story: Story) -> None:
    scene = await open_scene(story)
    asked, head = scene.gate("protected_paths"), scene.head
    limit_requests(story, "PATCH", UPDATE_CHECK)
    await scene.push({"notes.md": "# Notes\n", CI: WORKFLOW})
    assert asked.conclusion == "action_required"

    story.clock.move(minutes=61)
    await story.settle()
    assert asked.conclusion == "cancelled"
    assert story.check(scene.repository, head).conclusion in {"action_required", "cancelled"}
    assert story.gates(scene.pull) == []
    assert story.gate_outcomes(scene.pull) == [f"protected_paths: {VOID}"]


@ONE
async def test_g2_limited_while_it_tells_who_is_named_that_nobody_answered(story: Story) -> None:
    scene = await open_scene(story, configuration='gates: {protected_paths: {timeout: 3h, escalate: ["@dora"]}}\n')
    limit_requests(story, "POST", r"/issues/\d+/comments$", times=2)
    story.clock.move(hours=3, minutes=1)
    await story.settle()
    for _ in range(2):
        story.clock.move(minutes=61)
        await story.settle()
    assert [answer.body.count("@dora") for answer in story.answers(scene.pull)] == [1]
    assert (await scene.run()).reason == "gate_timeout"
    assert story.gate_outcomes(scene.pull) == snapshot(["protected_paths: Expired: nobody answered in 3 hours"])


def limit_requests(story: Story, method: str, path: str, times: int = 1) -> None:
    """GitHub's secondary limit answers the next such requests, and holds for an hour each."""
    wait = {"retry-after": "3600"}
    story.github.faults.add(kind="before", method=method, path=path, status=403, headers=wait, times=times)


async def assert_quiet(story: Story) -> None:
    """Nothing is sent to GitHub for the installation for a while; its log of deliveries has a limit of its own."""
    before = len(story.github.requests)
    await asyncio.sleep(1.5)
    assert {each.path for each in story.github.requests[before:]} <= {"/app/hook/deliveries"}


@ONE
@pytest.mark.parametrize("kind", ["before", "reset", "truncated"])
async def test_g3_the_second_page_fails_while_an_effect_is_looked_for(story: Story, kind: Kind) -> None:
    """Half a list must not be taken for the whole: the check would be created a second time."""
    repository, alice, head = await push_branch(story)
    actor = Actor(story.github.app.bot, story.github.app)
    for number in range(120):
        body = {"name": f"Other {number}", "head_sha": head, "external_id": str(number), "status": "completed"}
        create(story.github.world, repository, actor, {**body, "conclusion": "success"})
    story.github.faults.add(kind="reset", method="POST", path=CREATE_CHECK)
    page = story.github.faults.add(
        kind=kind, method="GET", path=r"/commits/\w+/check-runs$", skip=0 if kind == "truncated" else 1, times=2
    )
    pull = await alice.open_pull_request(repository, "feature")
    await assert_reviewed(story, repository, pull, head)
    assert page.fired == 2


@ONE
async def test_g3_a_comparison_that_cannot_be_had_is_no_approval(story: Story) -> None:
    repository, alice, head = await push_branch(story, APP + "\n\nNAME = os.name\n")
    story.github.faults.add(kind="before", status=502, path="/dependency-graph/", times=None)
    await alice.open_pull_request(repository, "feature")
    await story.settle()
    assert story.check(repository, head).conclusion == "action_required"


@ONE
async def test_g4_the_token_expires_in_the_middle(story: Story) -> None:
    repository, alice, head = await push_branch(story)

    async def expire() -> None:
        story.clock.move(minutes=70)

    act_after_write(story, expire, said="in_progress")
    pull = await alice.open_pull_request(repository, "feature")
    await assert_reviewed(story, repository, pull, head)
    assert count_tokens(story) == 2


@ONE
async def test_g4_the_token_is_refused_in_the_middle(story: Story) -> None:
    repository, alice, head = await push_branch(story)

    async def revoke() -> None:
        story.github.world.tokens.clear()

    act_after_write(story, revoke, said="in_progress")
    pull = await alice.open_pull_request(repository, "feature")
    await assert_reviewed(story, repository, pull, head)
    assert count_tokens(story) == 2


def count_tokens(story: Story) -> int:
    return sum(request.path.endswith("/access_tokens") for request in story.github.requests)


@ONE
@pytest.mark.parametrize("when", ["queued", "in_progress", "failure"])
@pytest.mark.parametrize("how", ["push", "force push", "base change", "close"])
async def test_g7_the_pull_request_changes_under_a_run(story: Story, when: str, how: str) -> None:
    repository, alice, head = await push_branch(story)
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
    act_after_write(story, change, said=when)
    pull = await alice.open_pull_request(repository, "feature")
    await story.settle()
    await story.settle()

    story.pass_over(pull)
    runs = await story.runs()
    checks = story.github.check_runs(repository, head, review_texts.CHECK_NAME)
    if how == "close":
        assert [check.conclusion for check in checks] == [
            "cancelled" if runs[0].state == "cancelled" and when != "failure" else "failure"
        ]
        return
    assert [run.state for run in runs] in (["completed", "cancelled"], ["completed", "completed"])
    assert (runs[0].head_sha, runs[0].base_sha) == (pull.head_sha, pull.base_sha)
    newest = max(story.github.check_runs(repository, pull.head_sha), key=lambda check: check.id)
    base = "Forge / review: release" if how == "base change" else review_texts.CHECK_NAME
    assert (newest.name, newest.conclusion) == (base, "failure")
    is_left = how == "base change" or runs[1].state == "cancelled"
    assert checks[0].conclusion == ("cancelled" if is_left else "failure")


@ONE
async def test_g7_a_run_that_is_busy_ends_soon_after_the_close(story: Story) -> None:
    repository, alice, head = await push_branch(story)
    story.github.faults.add(kind="slow", path="git-upload-pack", delay=60)
    pull = await alice.open_pull_request(repository, "feature")
    check = await wait_for_progress(story, repository, head)
    began = time.monotonic()
    await alice.close(pull)
    await story.settle()
    assert time.monotonic() - began < 10
    assert check.conclusion == "cancelled"
    [run] = await story.runs()
    assert (run.state, run.reason) == ("cancelled", "closed")


async def wait_for_progress(story: Story, repository: Repository, head: str) -> CheckRun:
    """The head's check, once it is in progress."""
    while True:
        for check in story.github.check_runs(repository, head, review_texts.CHECK_NAME):
            if check.status == "in_progress":
                return check
        await asyncio.sleep(0.05)


@ONE
async def test_o4_a_pull_request_with_three_hundred_findings(story: Story) -> None:
    """T-O4: more than 50 annotations and more than 65,535 characters."""
    name = "/".join(["a_folder_with_a_rather_long_name"] * 20) + "/app.py"
    lines = "".join(f"VALUE_{number} = {'missing_' * 12}{number}\n" for number in range(300))
    unused = "".join(f"import json as json_{number}\n" for number in range(150))
    few = "review: {max_comments: 1}\n"
    repository, alice = story.repository({"app.py": APP, ".github/forge.yml": few})
    pull, head = await story.propose(repository, alice, {name: lines, "z.py": unused})

    check = story.check(repository, head)
    assert check.conclusion == "failure"
    marked = [(each["path"], each["start_line"]) for each in check.annotations]
    assert sorted(marked) == [("z.py", line) for line in range(1, 101)]  # the others have the comment
    assert len(check.summary or "") <= 65_535
    assert 60_000 < len(check.text or "") <= 65_535
    assert (check.text or "").endswith("*Shortened: GitHub shows no more than 65,535 characters here.*")
    cut = "100 more findings left out: Forge keeps so many of a file or tool, the gravest first"
    assert cut in (check.summary or "")
    assert "a_rather_long_name/app.py:1` 💬 | Undefined name" in (check.summary or "")
    [comment] = story.comments(pull)
    assert "and 170 more, listed in the check `Forge / review`" in comment.body
    [review] = story.reviews(pull)
    assert review.body.startswith("**Changes requested: 200 findings to fix.**")
