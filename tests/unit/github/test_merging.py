"""Merges and what is required for them: every answer of GitHub has one meaning, and none of them is a guess."""

import json

import httpx
import pytest

from domain.errors import Forbidden, NotFound, RateLimited, Unavailable, Unprocessable
from domain.github.pull_requests import Merged, MergeMethod, MergeObstacle, NotMerged, ReportedCheck, RequiredCheck
from tests.unit.github.kit import HEAD, REPO, Kit, in_turn, pull

PULL = "/repos/acme/app/pulls/1"
MERGE = f"{PULL}/merge"
RULES = "/repos/acme/app/rules/branches/main"
BRANCH = "/repos/acme/app/branches/main"
COMMIT = f"/repos/acme/app/commits/{HEAD}"
DONE = {"sha": "e" * 40, "merged": True, "message": "Pull Request successfully merged"}


@pytest.fixture
def open_pull(kit: Kit) -> Kit:
    """An open pull request in a repository whose settings GitHub hides."""
    kit.github.get(PULL).respond(json=pull())
    kit.github.get("/repos/acme/app").respond(json={"id": 99})
    kit.github.get(path=RULES).respond(json=[])
    kit.github.post("/graphql").respond(json=_queue(enabled=False))
    return kit


def _queue(*, enabled: bool) -> dict[str, object]:
    shown = {"id": "PR_1", "isMergeQueueEnabled": enabled, "isInMergeQueue": False}
    return {"data": {"repository": {"pull": shown}}}


@pytest.mark.parametrize(
    ("status", "said", "obstacle"),
    [
        (409, "Head branch was modified. Review and try the merge again.", MergeObstacle.head_moved),
        (405, "Base branch was modified. Review and try the merge again.", MergeObstacle.base_moved),
        (405, "Pull Request is not mergeable", MergeObstacle.not_mergeable),
        (405, "Pull Request is still a draft", MergeObstacle.not_mergeable),
        (405, 'Required status check "build" is expected.', MergeObstacle.protected),
        (405, "Repository rule violations found\n\n2 of 2 required status checks", MergeObstacle.protected),
        (405, "You're not authorized to push to this branch.", MergeObstacle.protected),
        (405, "Changes must be made through the merge queue", MergeObstacle.protected),
        (405, "Something that was never heard before", MergeObstacle.protected),
        (405, "Merge commits are not allowed on this repository.", MergeObstacle.method),
        (405, "This branch must not contain merge commits.", MergeObstacle.method),
        (403, "Resource not accessible by integration", MergeObstacle.not_allowed),
    ],
)
async def test_what_githubs_refusals_mean(open_pull: Kit, status: int, said: str, obstacle: MergeObstacle) -> None:
    open_pull.github.put(MERGE).respond(status, json={"message": said})
    result = await open_pull.host.merge(REPO, 1, HEAD, MergeMethod.merge)
    assert result == NotMerged(obstacle=obstacle, said=" ".join(said.split()))


async def test_hidden_settings_are_found_out_by_trying(open_pull: Kit) -> None:
    refused = httpx.Response(405, json={"message": "Merge commits are not allowed on this repository."})
    route = open_pull.github.put(MERGE).mock(side_effect=in_turn(refused, httpx.Response(200, json=DONE)))
    assert await open_pull.host.merge(REPO, 1, HEAD) == Merged(sha="e" * 40)
    sent = [json.loads(request.content) for request in open_pull.list_requests(route)]
    assert sent == [{"sha": HEAD, "merge_method": way} for way in ("merge", "squash")]


async def test_linear_history_leaves_no_merge_commit(open_pull: Kit) -> None:
    open_pull.github.get(path=RULES).respond(json=[{"type": "required_linear_history"}])
    route = open_pull.github.put(MERGE).respond(json=DONE)
    await open_pull.host.merge(REPO, 1, HEAD)
    assert [json.loads(request.content)["merge_method"] for request in open_pull.list_requests(route)] == ["squash"]


async def test_what_is_merged_already_is_not_merged_again(kit: Kit) -> None:
    kit.github.get(PULL).respond(json=pull(state="closed", merged=True, merge_commit_sha="e" * 40))
    assert await kit.host.merge(REPO, 1, HEAD) == Merged(sha="e" * 40)
    result = await kit.host.merge(REPO, 1, "f" * 40)
    assert isinstance(result, NotMerged)
    assert result.obstacle is MergeObstacle.head_moved


async def test_a_merge_is_never_repeated_and_never_guessed(open_pull: Kit) -> None:
    for status, body, error in (
        (502, {}, Unavailable),
        (422, {"message": "Validation Failed"}, Unprocessable),
        (404, {"message": "Not Found"}, NotFound),
        (200, {**DONE, "merged": False}, Unavailable),
        (200, {}, Unavailable),
    ):
        route = open_pull.github.put(MERGE).respond(status, json=body)
        before = route.call_count
        with pytest.raises(error):
            await open_pull.host.merge(REPO, 1, HEAD)
        assert route.call_count == before + 1


async def test_a_limit_is_no_refusal_to_merge(open_pull: Kit) -> None:
    open_pull.github.put(MERGE).respond(403, headers={"retry-after": "60"}, json={"message": "secondary rate limit"})
    with pytest.raises(RateLimited):
        await open_pull.host.merge(REPO, 1, HEAD)


async def test_a_suspended_installation_is_an_error_and_no_refusal_to_merge(open_pull: Kit) -> None:
    open_pull.github.put(MERGE).respond(403, json={"message": "This installation has been suspended"})
    with pytest.raises(Forbidden, match="suspended"):
        await open_pull.host.merge(REPO, 1, HEAD)


async def test_an_approval_of_something_else_is_no_approval(kit: Kit) -> None:
    made = {"id": 9, "user": None, "body": "", "state": "APPROVED", "commit_id": HEAD, "node_id": "PRR_9"}
    route = kit.github.post(f"{PULL}/reviews").respond(json=made)
    assert await kit.host.approve(REPO, 1, HEAD, "Fine") == 9
    assert json.loads(kit.list_requests(route)[0].content) == {"commit_id": HEAD, "event": "APPROVE", "body": "Fine"}
    for wrong in ({**made, "state": "PENDING"}, {**made, "commit_id": "f" * 40}):
        kit.github.post(f"{PULL}/reviews").respond(json=wrong)
        with pytest.raises(Unavailable):
            await kit.host.approve(REPO, 1, HEAD, "Fine")


def _protection(**required: object) -> dict[str, object]:
    return {"protected": True, "protection": {"enabled": True, "required_status_checks": required}}


_OFF: dict[str, object] = {"enforcement_level": "off", "contexts": [], "checks": []}
_RULE = {"type": "required_status_checks", "parameters": {"required_status_checks": [{"context": "ruled"}]}}
_RULED = RequiredCheck(name="ruled")


_REQUIRED: list[tuple[dict[str, object], list[object], list[RequiredCheck] | None]] = [
    ({"protected": False}, [], []),
    ({"protected": False, "protection": {"enabled": False, "required_status_checks": _OFF}}, [_RULE], [_RULED]),
    ({"protected": True, "protection": {"enabled": False}}, [_RULE, _RULE], [_RULED]),
    (_protection(**_OFF), [], []),
    (_protection(contexts=["a"], checks=[]), [], [RequiredCheck(name="a")]),
    (_protection(contexts=["a"], checks=[{"context": "a", "app_id": -1}]), [], [RequiredCheck(name="a")]),
    (_protection(contexts=["a"], checks=[{"context": "a", "app_id": 7}]), [], [RequiredCheck(name="a", app_id=7)]),
    ({"protected": True}, [], None),
    ({"protected": True, "protection": {"enabled": True}}, [], None),
    ({"protected": False}, [{"type": "workflows", "parameters": {"workflows": []}}], None),
    ({"protected": False}, [{"type": "required_status_checks"}], None),
    ({"protected": False}, [{"type": "merge_queue", "parameters": {"merge_method": "SQUASH"}}], []),
]


@pytest.mark.parametrize(("branch", "rules", "required"), _REQUIRED)
async def test_what_a_branch_requires(
    kit: Kit, branch: dict[str, object], rules: list[object], required: list[RequiredCheck] | None
) -> None:
    kit.github.get(path=BRANCH).respond(json=branch)
    kit.github.get(path=RULES).respond(json=rules)
    assert await kit.host.required_checks(REPO, "main") == required


async def test_a_branch_that_may_not_be_read_is_an_error(kit: Kit) -> None:
    kit.github.get(path=BRANCH).respond(403, json={"message": "Resource not accessible by integration"})
    with pytest.raises(Forbidden):
        await kit.host.required_checks(REPO, "main")


async def test_a_run_that_is_not_over_is_pending_whatever_it_concluded_before(kit: Kit) -> None:
    runs = [
        {"id": 1, "name": "a", "status": "in_progress", "conclusion": "success", "app": {"id": 7}},
        {"id": 2, "name": "b", "status": "completed", "conclusion": None, "app": None},
    ]
    kit.github.get(path=f"{COMMIT}/check-runs").respond(json={"total_count": 2, "check_runs": runs})
    kit.github.get(path=f"{COMMIT}/status").respond(json={"total_count": 0, "statuses": []})
    assert await kit.host.check_results(REPO, HEAD) == [
        ReportedCheck(name="a", app_id=7, conclusion="pending"),
        ReportedCheck(name="b", app_id=None, conclusion="pending"),
    ]


@pytest.mark.parametrize(
    ("results", "met"),
    [
        ([], False),
        ([("other", 7, "success")], False),
        ([("build", 8, "success")], False),
        ([("build", 7, "success"), ("build", 8, "failure")], True),
        ([("build", None, "success")], True),
        ([("build", 7, "success"), ("build", None, "pending")], False),
        ([("build", 7, "success"), ("build", 7, "failure")], False),
        ([("build", 7, "stale")], False),
        ([("build", 7, "error")], False),
        ([("build", 7, "action_required")], False),
    ],
)
def test_a_check_of_one_app_is_met_by_that_app(results: list[tuple[str, int | None, str]], met: bool) -> None:
    told = [ReportedCheck(name=name, app_id=app, conclusion=conclusion) for name, app, conclusion in results]
    assert RequiredCheck(name="build", app_id=7).is_met_by(told) is met
