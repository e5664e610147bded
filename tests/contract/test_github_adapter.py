"""The GitHub adapter over real HTTP, end to end against the simulator."""

import base64
from datetime import timedelta

import pytest

from domain.errors import Forbidden, NotFound, RateLimited, Unavailable, Unprocessable
from domain.github.checks import Annotation, Button, CheckRun
from domain.github.commits import AN_APP, Pusher
from domain.github.pull_requests import DraftReview, InlineComment
from domain.review.review import Conclusion
from safety.github_limits import look_on
from simulator import branch_protection
from simulator.errors import Kind
from tests.contract.stage import CODE, Stage

MARKER = "<!-- forge:run-1:0123abcd -->"


def _check(head: str, annotations: int = 0, **changes: object) -> CheckRun:
    plain: dict[str, object] = {
        "name": "Forge / review",
        "head_sha": head,
        "external_id": "run-1",
        "status": "completed",
        "conclusion": Conclusion.action_required,
        "title": "A person is needed",
        "summary": "Why",
        "annotations": tuple(
            Annotation(path="a.py", start_line=1, end_line=2, level="warning", title=f"T{n}", message=f"M{n}")
            for n in range(annotations)
        ),
        "buttons": (Button(label="Approve", description="Approve this head", identifier="approve"),),
    }
    return CheckRun.model_validate({**plain, **changes})


def _review(head: str, *comments: InlineComment) -> DraftReview:
    return DraftReview(head_sha=head, body=f"Two remarks\n{MARKER}", comments=comments)


async def test_a_pull_request_is_read(stage: Stage) -> None:
    shown = await stage.host.pull_request(stage.repository, stage.pull.number)
    assert (shown.title, shown.is_open, shown.head_sha) == ("Add lines", True, stage.head)
    assert (shown.author_id, shown.author_is_bot) == (stage.ann.id, False)
    assert not shown.is_from_fork(stage.shelf.id)


async def test_asking_again_is_free(stage: Stage) -> None:
    for _ in range(3):  # the first question makes GitHub work out whether it merges, which changes the answer
        await stage.host.pull_request(stage.repository, stage.pull.number)
    assert [request.status for request in stage.sim.requests if "/pulls/" in request.path] == [200, 200, 304]


async def test_open_pulls_of_a_head_from_here_and_from_a_fork(stage: Stage) -> None:
    assert [one.number for one in await stage.host.open_pull_requests(stage.repository, stage.head)] == [1]
    fork = await stage.ann.fork(stage.shelf)
    head = await stage.ann.push(fork, "other", {"b.py": "x = 1\n"}, base="main")
    pull = await stage.ann.open_pull_request(stage.shelf, "other", head_repo=fork)
    (found,) = await stage.host.open_pull_requests(stage.repository, head)
    assert (found.number, found.is_from_fork(stage.shelf.id)) == (pull.number, True)
    await stage.ann.close(pull)
    assert await stage.host.open_pull_requests(stage.repository, head) == []


async def test_files(stage: Stage) -> None:
    host, repository = stage.host, stage.repository
    assert await host.file_content(repository, ".github/forge.yml") == b"preset: standard\n"
    assert await host.file_content(repository, "a.py", stage.head) == CODE.encode()
    assert await host.file_content(repository, "missing.py") is None
    assert await host.file_content(repository, ".github") is None


async def test_dependency_changes(stage: Stage) -> None:
    advisory = {
        "severity": "critical",
        "advisory_ghsa_id": "GHSA-x",
        "advisory_summary": "Bad",
        "advisory_url": "https://github.com/advisories/GHSA-x",
    }
    change = {"change_type": "added", "manifest": "r.txt", "ecosystem": "pip", "name": "p", "version": "1"}
    stage.shelf.dependency_changes.append({**change, "license": "MIT", "vulnerabilities": [advisory]})
    base = stage.pull.base_sha
    (found,) = await stage.host.dependency_changes(stage.repository, base, stage.head) or []
    assert found.vulnerabilities[0].severity == "critical"
    stage.shelf.dependency_graph = False
    assert await stage.host.dependency_changes(stage.repository, base, stage.head) is None


async def test_a_check_run_from_its_first_sign_to_its_end(stage: Stage) -> None:
    queued = _check(stage.head, status="queued", conclusion=None, buttons=())
    assert await stage.host.find_check_run(stage.repository, stage.head, "run-1") is None
    created = await stage.host.create_check_run(stage.repository, queued)
    assert await stage.host.find_check_run(stage.repository, stage.head, "run-1") == created
    done = await stage.host.update_check_run(stage.repository, created.id, _check(stage.head, annotations=120))
    (run,) = stage.sim.check_runs(stage.shelf, stage.head)
    assert (done.is_completed, run.conclusion, run.external_id) == (True, "action_required", "run-1")
    assert [one["title"] for one in run.annotations] == [f"T{n}" for n in range(120)]
    assert run.actions == [{"label": "Approve", "description": "Approve this head", "identifier": "approve"}]


@pytest.mark.parametrize("kind", ["before", "after", "reset"])
@pytest.mark.parametrize("lost", [0, 1, 2])
async def test_whatever_request_is_lost_no_annotation_is_doubled(stage: Stage, kind: Kind, lost: int) -> None:
    check = _check(stage.head, annotations=120)
    stage.sim.faults.add(kind=kind, path="/check-runs", skip=lost)
    with pytest.raises(Unavailable):
        await stage.host.create_check_run(stage.repository, check)
    found = await stage.host.find_check_run(stage.repository, stage.head, "run-1")
    if found is None:
        await stage.host.create_check_run(stage.repository, check)
    else:
        await stage.host.update_check_run(stage.repository, found.id, check)
    (run,) = stage.sim.check_runs(stage.shelf, stage.head)
    assert [one["title"] for one in run.annotations] == [f"T{n}" for n in range(120)]


async def test_a_half_list_of_annotations_stops_the_update(stage: Stage) -> None:
    ref = await stage.host.create_check_run(stage.repository, _check(stage.head, annotations=10))
    stage.sim.faults.add(kind="truncated", path="/annotations")
    with pytest.raises(Unavailable, match="5 items of 10"):
        await stage.host.update_check_run(stage.repository, ref.id, _check(stage.head, annotations=12))
    assert len(stage.sim.check_runs(stage.shelf, stage.head)[0].annotations) == 10


async def test_texts_that_are_too_long_are_accepted(stage: Stage) -> None:
    long = "<details>\n\n```\n" + "ä😀 text\n" * 20_000
    await stage.host.create_check_run(stage.repository, _check(stage.head, summary=long, text=long, title=long))
    (run,) = stage.sim.check_runs(stage.shelf, stage.head)
    assert "```\n\n</details>" in (run.summary or "")


async def test_a_review_is_posted_and_found_again(stage: Stage) -> None:
    forged = await stage.ann.review(stage.pull, "COMMENT", f"me too {MARKER}")
    assert await stage.host.find_review(stage.repository, 1, MARKER) is None
    comments = (
        InlineComment(path="a.py", start_line=3, line=3, body="one line"),
        InlineComment(path="a.py", start_line=5, line=8, body="a range"),
    )
    made = await stage.host.create_review(stage.repository, 1, _review(stage.head, *comments))
    assert made != forged.id
    assert await stage.host.find_review(stage.repository, 1, MARKER) == made
    shown = [(one.start_line, one.line, one.side) for one in stage.sim.review_comments(stage.pull)]
    assert shown == [(None, 3, "RIGHT"), (5, 8, "RIGHT")]


async def test_a_position_outside_the_diff_refuses_the_whole_review(stage: Stage) -> None:
    outside = InlineComment(path="a.py", start_line=900, line=900, body="nowhere")
    with pytest.raises(Unprocessable):
        await stage.host.create_review(stage.repository, 1, _review(stage.head, outside))
    assert stage.sim.reviews(stage.pull) == []


async def test_a_review_whose_answer_was_lost_is_not_sent_twice_by_the_adapter(stage: Stage) -> None:
    stage.sim.faults.add(kind="reset", method="POST", path="/reviews")
    with pytest.raises(Unavailable):
        await stage.host.create_review(stage.repository, 1, _review(stage.head))
    assert len(stage.sim.reviews(stage.pull)) == 1
    assert await stage.host.find_review(stage.repository, 1, MARKER) is not None


async def test_live_roles(stage: Stage) -> None:
    host, repository, ann = stage.host, stage.repository, stage.ann
    for role in ("read", "triage", "write", "maintain", "admin"):
        stage.sim.grant(stage.shelf, ann, role)
        assert await host.permission(repository, "ann", ann.id) == role
    stage.sim.grant(stage.shelf, ann, "write", "release engineer")
    assert await host.permission(repository, "ann", ann.id) == "write"
    assert await host.permission(repository, "ann", ann.id + 1) == "none"
    assert await host.permission(repository, "nobody-there", 1) == "none"
    stage.sim.revoke(stage.shelf, ann)
    assert await host.permission(repository, "ann", ann.id) == "none"
    stage.sim.faults.add(kind="before", path="/permission", times=None)
    with pytest.raises(Unavailable):
        await host.permission(repository, "ann", ann.id)


async def test_who_has_a_role_is_listed_over_all_pages_and_bots_are_left_out(stage: Stage) -> None:
    sim, shelf = stage.sim, stage.shelf
    readers = {sim.user(f"reader-{number}") for number in range(120)}
    for reader in readers:
        sim.grant(shelf, reader, "read")
    lead, robot = sim.user("lead"), sim.user("robot")
    robot.account.type = "Bot"
    sim.grant(shelf, lead, "maintain", "release engineer")
    sim.grant(shelf, robot, "admin")
    boss, member = sim.user("boss"), sim.user("member")
    sim.organization("acme", owners=[boss], members=[member])
    sim.user("stranger")

    async def list_accounts(role: str) -> set[int]:
        return set(await stage.host.accounts_with(stage.repository, role))

    assert await list_accounts("admin") == {boss.id}
    assert await list_accounts("maintain") == {boss.id, lead.id}
    assert await list_accounts("write") == await list_accounts("triage") == {boss.id, lead.id, stage.ann.id}
    assert await list_accounts("read") == {boss.id, lead.id, stage.ann.id, member.id, *(one.id for one in readers)}
    sim.revoke(shelf, lead)
    assert await list_accounts("maintain") == {boss.id}


async def test_who_has_a_role_is_never_a_part_of_a_list(stage: Stage) -> None:
    for number in range(120):
        stage.sim.grant(stage.shelf, stage.sim.user(f"reader-{number}"), "read")
    stage.sim.faults.add(kind="before", path="/collaborators", skip=1, times=None)
    with pytest.raises(Unavailable):
        await stage.host.accounts_with(stage.repository, "read")
    with pytest.raises(ValueError, match="owner"):
        await stage.host.accounts_with(stage.repository, "owner")


async def test_git_accepts_the_credentials(stage: Stage) -> None:
    header = await stage.host.git_credentials(stage.repository)
    token = base64.b64decode(header.removeprefix("Basic ")).decode().removeprefix("x-access-token:")
    assert token in stage.sim.world.tokens
    assert stage.host.clone_url(stage.repository) == f"{stage.sim.url}/acme/shelf.git"


async def test_tokens_are_renewed_in_time_and_after_a_refusal(stage: Stage) -> None:
    for minutes in (0, 54, 2, 56):
        stage.clock.advance(minutes=minutes)
        await stage.host.pull_request(stage.repository, 1)
    assert stage.count_requests("/access_tokens") == 3
    stage.sim.world.tokens.clear()
    await stage.host.pull_request(stage.repository, 1)
    assert stage.count_requests("/access_tokens") == 4


async def test_a_renamed_repository_is_followed_by_reads_and_writes(stage: Stage) -> None:
    old = stage.repository
    stage.sim.rename(stage.shelf, "cupboard")
    assert (await stage.host.pull_request(old, 1)).number == 1
    await stage.host.create_check_run(old, _check(stage.head))
    assert len(stage.sim.check_runs(stage.shelf, stage.head)) == 1


async def test_a_suspended_then_removed_installation(stage: Stage) -> None:
    repository = stage.repository
    await stage.host.pull_request(repository, 1)
    stage.sim.suspend(stage.installation)
    with pytest.raises(Forbidden, match="suspended"):
        await stage.host.dependency_changes(repository, stage.pull.base_sha, stage.head)
    stage.sim.unsuspend(stage.installation)
    stage.sim.uninstall(stage.installation)
    with pytest.raises(NotFound, match="not installed any more"):
        await stage.host.file_content(repository, ".github/forge.yml")


async def test_a_repository_taken_away_is_not_one_without_files(stage: Stage) -> None:
    repository = stage.repository
    stage.sim.remove_from_installation(stage.shelf)
    with pytest.raises(NotFound, match="acme/shelf"):
        await stage.host.file_content(repository, ".github/forge.yml")


async def test_a_spent_budget_waits_for_its_reset(stage: Stage) -> None:
    stage.installation.rate_limit = 2
    await stage.host.pull_request(stage.repository, 1)
    await stage.host.file_content(stage.repository, "a.py")
    with pytest.raises(RateLimited) as caught:
        await stage.host.pull_request(stage.repository, 1)
    assert caught.value.until == stage.clock.now() + timedelta(hours=1)
    before = len(stage.sim.requests)
    with pytest.raises(RateLimited):
        await stage.host.create_check_run(stage.repository, _check(stage.head))
    assert len(stage.sim.requests) == before
    stage.clock.advance(hours=1, seconds=1)
    assert (await stage.host.pull_request(stage.repository, 1)).number == 1


async def test_who_looks_on_leaves_a_quarter_of_the_requests_to_the_work(stage: Stage) -> None:
    stage.installation.rate_limit = 20

    async def read_on() -> None:
        with look_on():
            for number in range(20):
                assert await stage.host.file_content(stage.repository, f"missing-{number}.py") is None

    with pytest.raises(RateLimited, match="needs them for its work") as caught:
        await read_on()
    assert caught.value.until == stage.clock.now() + timedelta(hours=1)
    assert await stage.host.file_content(stage.repository, "a.py") is not None
    stage.clock.advance(hours=1, seconds=1)
    with look_on():
        assert await stage.host.file_content(stage.repository, "a.py") is not None


@pytest.mark.parametrize(("status", "retry_after", "wait"), [(403, 90, 90), (429, None, 60), (422, None, 60)])
async def test_a_secondary_limit_is_waited_out(stage: Stage, status: int, retry_after: int | None, wait: int) -> None:
    limits = stage.sim.api.limits
    limits.content_writes_per_minute, limits.secondary_status, limits.retry_after = 1, status, retry_after
    await stage.host.create_check_run(stage.repository, _check(stage.head))
    with pytest.raises(RateLimited) as caught:
        await stage.host.create_check_run(stage.repository, _check(stage.head, external_id="run-2"))
    assert caught.value.until == stage.clock.now() + timedelta(seconds=wait)
    stage.clock.advance(seconds=wait + 1)
    await stage.host.create_check_run(stage.repository, _check(stage.head, external_id="run-2"))
    assert len(stage.sim.check_runs(stage.shelf, stage.head)) == 2


async def test_reads_survive_a_cut_connection(stage: Stage) -> None:
    stage.sim.faults.add(kind="reset", path="/pulls/1", times=2)
    assert (await stage.host.pull_request(stage.repository, 1)).number == 1


async def test_who_pushed_what_a_pull_request_consists_of(stage: Stage) -> None:
    """GitHub names who moved the branch; of a commit only whom it links with its addresses, and its parents."""
    bob = stage.sim.user("bob")
    stage.sim.grant(stage.shelf, bob, "write")
    first = stage.head
    second = await bob.push(stage.shelf, "topic", {"b.py": "x = 1\n"})
    await bob.push(stage.shelf, "main", {"c.py": "y = 1\n"})
    base = stage.shelf.git.branch("main") or ""
    merge = await bob.update_branch(stage.pull)
    listed = await stage.host.pull_commits(stage.repository, stage.pull.number)
    assert [(commit.sha, commit.parents[-1]) for commit in listed][1:] == [(second, first), (merge, base)]
    assert listed[-1].parents == (second, base)
    assert stage.ann.id in listed[0].accounts
    told = await stage.host.pushes_to(stage.repository, "topic")
    assert [(push.after, push.before, push.by_id, push.by) for push in told] == [
        (merge, second, bob.id, Pusher.person),
        (second, first, bob.id, Pusher.person),
        (first, "", stage.ann.id, Pusher.person),
    ]
    assert await stage.host.pushes_to(stage.repository, "other") == []


async def test_a_forced_push_names_what_it_overwrote(stage: Stage) -> None:
    overwritten = stage.shelf.git.branch("topic")
    await stage.ann.reset_branch(stage.shelf, "topic", stage.shelf.git.branch("main") or "")
    assert (await stage.host.pushes_to(stage.repository, "topic"))[0].before == overwritten


async def test_a_github_that_keeps_no_list_of_pushes_tells_none(stage: Stage) -> None:
    stage.shelf.lists_activities = False
    assert await stage.host.pushes_to(stage.repository, "topic") == ()


async def test_what_is_said_of_a_commit_by_others_is_not_forges_own(stage: Stage) -> None:
    """A check of Forge's own that goes on, or failed, is neither awaited nor red."""
    await stage.host.create_check_run(
        stage.repository, _check(stage.head, status="queued", conclusion=None, buttons=())
    )
    assert not await stage.host.awaits_checks(stage.repository, stage.head)
    stage.sim.report_check(stage.shelf, stage.head, "slow", None, "others-ci")
    assert await stage.host.awaits_checks(stage.repository, stage.head)
    stage.sim.report_check(stage.shelf, stage.head, "red", "failure", "others-ci", {"title": "1 error", "summary": "x"})
    stage.sim.report_status(stage.shelf, stage.head, "old", "error")
    found = await stage.host.failures(stage.repository, stage.head)
    assert [(each.name, each.app, each.said) for each in found] == [("red", "others-ci", "1 error\nx"), ("old", "", "")]
    stage.sim.report_status(stage.shelf, stage.head, "new", "failure")
    stage.sim.report_status(stage.shelf, stage.head, "new", "success")  # the last one counts
    branch_protection.report_status(
        stage.sim.world, stage.shelf, stage.ann.actor, stage.head, {"context": "hers", "state": "failure"}
    )
    found = await stage.host.failures(stage.repository, stage.head)
    assert {each.name: each.by for each in found} == {"red": AN_APP, "old": AN_APP, "hers": stage.ann.id}
