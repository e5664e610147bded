"""Approvals, required checks and merges over real HTTP, end to end against the simulator."""

import pytest

from domain.errors import NotFound, Unavailable, Unprocessable
from domain.github.pull_requests import (
    Approval,
    Merged,
    MergeMethod,
    MergeObstacle,
    NotMerged,
    Queued,
    ReportedCheck,
    RequiredCheck,
)
from simulator.errors import Kind
from simulator.pull_requests import open_pull
from simulator.webhooks import Actor
from tests.contract.stage import CODE, Stage

MARKER = "<!-- forge:approve:1:0123abcd -->"


async def _merge(stage: Stage, method: MergeMethod | None = None) -> Merged | Queued | NotMerged:
    return await stage.host.merge(stage.repository, stage.pull.number, stage.head, method)


async def _obstacle(stage: Stage, method: MergeMethod | None = None) -> MergeObstacle:
    result = await _merge(stage, method)
    assert isinstance(result, NotMerged)
    assert stage.pull.merged_at is None
    return result.obstacle


def _main(stage: Stage) -> str:
    return stage.shelf.git.branch("main") or ""


# --- approvals ---------------------------------------------------------------------------------------------


async def test_a_head_is_approved_and_the_approval_found(stage: Stage) -> None:
    host, repository = stage.host, stage.repository
    await stage.ann.review(stage.pull, "COMMENT", f"me too {MARKER}")
    assert await host.approvals(repository, 1) == []
    made = await host.approve(repository, 1, stage.head, f"Low risk\n{MARKER}")
    review = stage.pull.reviews[-1]
    assert (review.id, review.state, review.commit_id, review.user) == (
        made,
        "APPROVED",
        stage.head,
        stage.sim.app.bot,
    )
    given = Approval(id=made, head_sha=stage.head, body=f"Low risk\n{MARKER}", is_dismissed=False)
    assert await host.approvals(repository, 1) == [given]
    assert await host.find_review(repository, 1, MARKER) == made


async def test_an_approval_stays_with_its_head_and_can_be_dismissed(stage: Stage) -> None:
    first = stage.head
    await stage.host.approve(stage.repository, 1, first, MARKER)
    await stage.ann.push(stage.shelf, "topic", {"b.py": "x\n"})
    [found] = await stage.host.approvals(stage.repository, 1)
    assert found.head_sha == first != stage.head
    await stage.ann.dismiss_review(stage.pull.reviews[-1], "It changed")
    [found] = await stage.host.approvals(stage.repository, 1)
    assert found.is_dismissed


async def test_a_commit_that_was_never_part_of_it_is_not_approved(stage: Stage) -> None:
    with pytest.raises(Unprocessable, match="commit_id"):
        await stage.host.approve(stage.repository, 1, "0" * 40, MARKER)


async def test_nobody_approves_their_own_pull_request(stage: Stage) -> None:
    await stage.ann.push(stage.shelf, "fix", {"c.py": "x\n"}, base="main")
    app = stage.sim.app
    own = open_pull(
        stage.sim.world,
        stage.shelf,
        Actor(app.bot, app),
        head_repository=stage.shelf,
        head="fix",
        base="main",
        title="A fix",
    )
    with pytest.raises(Unprocessable, match="approve your own pull request"):
        await stage.host.approve(stage.repository, own.number, own.head_sha, MARKER)
    assert own.reviews == []


async def test_the_newest_opinion_of_each_counts(stage: Stage) -> None:
    host, repository, bea = stage.host, stage.repository, stage.sim.user("bea")
    stage.sim.grant(stage.shelf, bea, "read")
    assert (await host.pull_request(repository, 1)).default_branch == "main"
    assert await host.objections(repository, 1) == []
    await bea.review(stage.pull, "REQUEST_CHANGES", "not yet")
    await bea.review(stage.pull, "COMMENT", "and another thing")
    await host.approve(repository, 1, stage.head, MARKER)
    assert await host.objections(repository, 1) == ["bea"]
    await stage.ann.dismiss_review(next(one for one in stage.pull.reviews if one.user.login == "bea"), "done")
    assert await host.objections(repository, 1) == []
    await bea.review(stage.pull, "REQUEST_CHANGES", "still not")
    await bea.review(stage.pull, "APPROVE", "now")
    assert await host.objections(repository, 1) == []


# --- merging -----------------------------------------------------------------------------------------------


async def test_a_merge_tells_its_commit_and_may_be_repeated(stage: Stage) -> None:
    merged = await _merge(stage)
    assert merged == Merged(sha=_main(stage)) == await _merge(stage)
    assert len(stage.shelf.git.commit(_main(stage)).parents) == 2
    assert stage.pull.merged_by is stage.sim.app.bot
    assert (await stage.host.pull_request(stage.repository, 1)).is_merged
    assert stage.count_requests("/merge") == 1


@pytest.mark.parametrize("kind", ["after", "reset"])
async def test_a_merge_whose_answer_was_lost_is_found(stage: Stage, kind: Kind) -> None:
    stage.sim.faults.add(kind=kind, path="/merge")
    with pytest.raises(Unavailable):
        await _merge(stage)
    assert await _merge(stage) == Merged(sha=_main(stage))
    assert stage.count_requests("/merge") == 1


async def test_a_head_that_moved_is_not_merged(stage: Stage) -> None:
    looked_at = stage.head
    await stage.ann.push(stage.shelf, "topic", {"b.py": "x\n"})
    result = await stage.host.merge(stage.repository, 1, looked_at)
    assert isinstance(result, NotMerged)
    assert result.obstacle is MergeObstacle.head_moved
    assert stage.pull.merged_at is None


async def test_a_head_that_moves_while_it_is_merged(stage: Stage) -> None:
    async def push(info: object, moment: str) -> None:
        if moment == "before" and stage.pull.head_sha == looked_at:
            await stage.ann.push(stage.shelf, "topic", {"b.py": "x\n"})

    looked_at = stage.head
    await stage.host.add_label(stage.repository, 1, "warm")
    stage.sim.on_write(push)
    result = await stage.host.merge(stage.repository, 1, looked_at)
    assert result == NotMerged(
        obstacle=MergeObstacle.head_moved, said="Head branch was modified. Review and try the merge again."
    )


async def test_conflicts_drafts_and_closed_pull_requests(stage: Stage) -> None:
    await stage.ann.convert_to_draft(stage.pull)
    assert await _obstacle(stage) is MergeObstacle.not_mergeable
    await stage.ann.mark_ready(stage.pull)
    await stage.ann.push(stage.shelf, "main", {"a.py": "theirs\n"})
    assert await _obstacle(stage) is MergeObstacle.not_mergeable
    await stage.ann.close(stage.pull)
    assert await _obstacle(stage) is MergeObstacle.not_mergeable


async def test_without_the_permission_nothing_is_merged(stage: Stage) -> None:
    await stage.host.pull_request(stage.repository, 1)
    for token in stage.sim.world.tokens.values():
        token.permissions["contents"] = "read"
    assert await _obstacle(stage) is MergeObstacle.not_allowed


@pytest.mark.parametrize("allowed", list(MergeMethod))
async def test_the_way_of_merging_that_the_repository_allows(stage: Stage, allowed: MergeMethod) -> None:
    await stage.ann.push(stage.shelf, "topic", {"b.py": "x\n"})
    await stage.ann.push(stage.shelf, "main", {"c.py": "x\n"})
    stage.shelf.merge_methods = {allowed.value}
    assert isinstance(await _merge(stage), Merged)
    commit = stage.shelf.git.commit(_main(stage))
    assert len(commit.parents) == (2 if allowed is MergeMethod.merge else 1)
    assert stage.shelf.git.read(_main(stage), "a.py") == CODE.encode()
    assert stage.shelf.git.read(_main(stage), "c.py") == b"x\n"
    assert stage.count_requests("/merge") == 1


async def test_a_way_of_merging_that_is_asked_for_is_the_only_one_tried(stage: Stage) -> None:
    stage.shelf.merge_methods = {"squash"}
    assert await _obstacle(stage, MergeMethod.rebase) is MergeObstacle.method
    assert isinstance(await _merge(stage, MergeMethod.squash), Merged)


async def test_a_ruleset_narrows_the_ways_of_merging(stage: Stage) -> None:
    stage.sim.protect(stage.shelf, "main", methods=["squash"], ruleset=True)
    assert isinstance(await _merge(stage), Merged)
    assert len(stage.shelf.git.commit(_main(stage)).parents) == 1
    assert stage.count_requests("/merge") == 1


async def test_no_way_of_merging_is_left(stage: Stage) -> None:
    stage.shelf.merge_methods = {"merge"}
    stage.sim.protect(stage.shelf, "main", methods=["squash"], ruleset=True)
    assert await _obstacle(stage) is MergeObstacle.method
    assert stage.count_requests("/merge") == 0


@pytest.mark.parametrize("ruleset", [False, True])
async def test_a_protected_branch_refuses_until_all_is_there(stage: Stage, ruleset: bool) -> None:
    stage.sim.protect(stage.shelf, "main", ["build"], approvals=1, ruleset=ruleset)
    refused = await _merge(stage)
    assert isinstance(refused, NotMerged)
    assert refused.obstacle is MergeObstacle.protected
    assert 'Required status check "build" is expected.' in refused.said
    stage.sim.report_check(stage.shelf, stage.head, "build", "failure")
    assert await _obstacle(stage) is MergeObstacle.protected
    stage.sim.report_check(stage.shelf, stage.head, "build", "success")
    refused = await _merge(stage)
    assert isinstance(refused, NotMerged)
    assert "approving review" in refused.said
    await stage.host.approve(stage.repository, 1, stage.head, MARKER)
    assert isinstance(await _merge(stage), Merged)


# --- checks ------------------------------------------------------------------------------------------------


async def _green(stage: Stage) -> bool:
    required = await stage.host.required_checks(stage.repository, "main")
    results = await stage.host.check_results(stage.repository, stage.head)
    assert required is not None
    return all(check.is_met_by(results) for check in required)


async def test_required_checks_come_from_protection_and_rulesets(stage: Stage) -> None:
    host, repository, sim = stage.host, stage.repository, stage.sim
    assert await host.required_checks(repository, "main") == []
    sim.protect(stage.shelf, "main", {"build": None, "lint": 15368})
    sim.protect(stage.shelf, "main", ["build", "licences"], ruleset=True)
    sim.protect(stage.shelf, "other", ["never"], ruleset=True)
    assert await host.required_checks(repository, "main") == [
        RequiredCheck(name="build"),
        RequiredCheck(name="lint", app_id=15368),
        RequiredCheck(name="licences"),
    ]


async def test_a_branch_with_a_slash_and_one_that_is_not_there(stage: Stage) -> None:
    await stage.ann.push(stage.shelf, "release/1.x", {"b.py": "x\n"}, base="main")
    stage.sim.protect(stage.shelf, "release/1.x", ["build"], ruleset=True)
    assert await stage.host.required_checks(stage.repository, "release/1.x") == [RequiredCheck(name="build")]
    with pytest.raises(NotFound):
        await stage.host.required_checks(stage.repository, "release/2.x")


async def test_branches_that_anything_protects(stage: Stage) -> None:
    assert await stage.host.list_protected_branches(stage.repository) == []
    for branch in ("release/1.x", "kept", "free"):
        await stage.ann.push(stage.shelf, branch, {"b.py": f"{branch}\n"}, base="main")
    stage.sim.protect(stage.shelf, "release/1.x", ["build"], ruleset=True)
    stage.sim.protect(stage.shelf, "kept", approvals=1)
    assert sorted(await stage.host.list_protected_branches(stage.repository)) == ["kept", "release/1.x"]


async def test_rules_that_github_does_not_tell_are_unknown(stage: Stage) -> None:
    fault = stage.sim.faults.add(kind="before", path="/rules/branches", status=403, message="No", times=None)
    assert await stage.host.required_checks(stage.repository, "main") is None
    fault.message = "Upgrade to GitHub Pro or make this repository public to enable this feature."
    assert await stage.host.required_checks(stage.repository, "main") == []
    fault.status = 500
    with pytest.raises(Unavailable):
        await stage.host.required_checks(stage.repository, "main")


async def test_the_newest_word_of_every_app_and_every_status_counts(stage: Stage) -> None:
    sim, shelf, head = stage.sim, stage.shelf, stage.head
    assert await stage.host.check_results(stage.repository, head) == []
    for conclusion in ("failure", "success"):
        sim.report_check(shelf, head, "build", conclusion)
        sim.report_status(shelf, head, "ci/old", conclusion)
    sim.report_check(shelf, head, "build", None, app="other-ci")
    actions, other = sim.world.other_app("github-actions").id, sim.world.other_app("other-ci").id
    results = await stage.host.check_results(stage.repository, head)
    assert set(map(str, results)) == {
        str(ReportedCheck(name="build", app_id=actions, conclusion="success")),
        str(ReportedCheck(name="build", app_id=other, conclusion="pending")),
        str(ReportedCheck(name="ci/old", app_id=None, conclusion="success")),
    }


async def test_results_are_read_over_all_pages_or_not_at_all(stage: Stage) -> None:
    for number in range(120):
        stage.sim.report_check(stage.shelf, stage.head, f"check {number}", "success")
        stage.sim.report_status(stage.shelf, stage.head, f"status {number}", "success")
    assert len(await stage.host.check_results(stage.repository, stage.head)) == 240
    for path in ("/check-runs", "/status$"):
        fault = stage.sim.faults.add(kind="before", path=path, skip=1, times=None)
        with pytest.raises(Unavailable):
            await stage.host.check_results(stage.repository, stage.head)
        fault.times = 0


async def test_green_is_only_what_is_there_and_good(stage: Stage) -> None:
    sim, shelf, head = stage.sim, stage.shelf, stage.head
    app = sim.world.other_app("github-actions").id
    assert await _green(stage)
    sim.protect(shelf, "main", {"build": app})
    assert not await _green(stage)
    sim.report_check(shelf, head, "build", "success", app="impostor")
    assert not await _green(stage)
    for conclusion, green in (("success", True), (None, False), ("skipped", True), ("cancelled", False)):
        sim.report_check(shelf, head, "build", conclusion)
        assert await _green(stage) is green
    sim.report_check(shelf, head, "build", "neutral")
    sim.report_status(shelf, head, "build", "pending")
    assert not await _green(stage)
    sim.report_status(shelf, head, "build", "success")
    assert await _green(stage)
