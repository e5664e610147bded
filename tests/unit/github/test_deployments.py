"""What the adapter makes of answers about deployments that the simulator does not give, and what exactly it sends."""

import json
from datetime import datetime, timedelta, timezone

import httpx
import pytest
import respx

from domain.errors import Forbidden, NotFound, Unauthorized, Unavailable, Unprocessable
from domain.github.checks import HostDeploymentState
from tests.unit.github.kit import API, BEGAN, HEAD, REPO, Kit, in_turn

AT = "/repos/acme/app"
DEPLOYMENTS = f"{AT}/deployments"
WORKFLOW = f"{AT}/actions/workflows/deploy.yml"
OWN = {"id": 41, "login": "forge[bot]", "type": "Bot"}
ALL_KINDS = [
    (401, Unauthorized),
    (403, Forbidden),
    (404, NotFound),
    (409, Unprocessable),
    (422, Unprocessable),
    (502, Unavailable),
]


def _deployment(number: int = 1, **changes: object) -> dict[str, object]:
    return {
        "id": number,
        "sha": HEAD,
        "ref": HEAD,
        "environment": "staging",
        "task": "deploy",
        "created_at": "2026-03-01T12:00:00Z",
        "payload": {"forge": "d1"},
        "creator": OWN,
        **changes,
    }


def _run(number: int = 1, **changes: object) -> dict[str, object]:
    return {
        "id": number,
        "name": "Deploy",
        "head_sha": HEAD,
        "path": ".github/workflows/deploy.yml",
        "event": "workflow_dispatch",
        "status": "queued",
        "conclusion": None,
        "html_url": "https://github.com/acme/app/actions/runs/1",
        "display_title": "Deploy d1",
        **changes,
    }


def _know_ourselves(kit: Kit) -> None:
    kit.github.get(path="/app").mock(return_value=httpx.Response(200, json={"slug": "forge"}))
    kit.github.get(path__regex=r"/users/forge.*").mock(return_value=httpx.Response(200, json=OWN))


def _mock(kit: Kit, method: str, path: str, *answers: httpx.Response | Exception) -> respx.Route:
    return kit.github.request(method, path=path).mock(side_effect=in_turn(*answers))


async def _create(kit: Kit, description: str = "Deploy") -> int:
    return await kit.host.create_deployment(
        REPO,
        sha=HEAD,
        environment="staging",
        is_production=False,
        description=description,
        payload={"forge": "d1"},
        required_contexts=["build"],
    )


async def _say(kit: Kit, **changes: str) -> int:
    texts = {"description": "", "log_url": "", "environment_url": "", **changes}
    return await kit.host.add_deployment_status(REPO, 1, HostDeploymentState.success, auto_inactive=True, **texts)


async def _dispatch(kit: Kit) -> int | None:
    return await kit.host.dispatch_workflow(REPO, "deploy.yml", "main", {"deployment": "d1"})


# --- deployments -------------------------------------------------------------------------------------------


async def test_what_a_deployment_asks_for(kit: Kit) -> None:
    _know_ourselves(kit)
    route = _mock(kit, "POST", DEPLOYMENTS, httpx.Response(201, json=_deployment(creator={"id": 5, "login": "ann"})))
    assert await _create(kit, "x" * 141) == 1
    [request] = kit.list_requests(route)
    assert json.loads(request.content) == {
        "ref": HEAD,
        "task": "deploy",
        "auto_merge": False,
        "required_contexts": ["build"],
        "payload": {"forge": "d1"},
        "environment": "staging",
        "description": "x" * 139 + "…",
        "transient_environment": False,
        "production_environment": False,
    }


@pytest.mark.parametrize(
    ("errors", "told"),
    [
        (
            [{"contexts": [{"context": "build", "state": "failure"}, {"context": "lint", "state": "success"}]}],
            "build is",
        ),
        ([{"contexts": "build", "resource": "HostDeployment", "code": "invalid"}], "HostDeployment invalid"),
        ([{"contexts": ["build", {"context": "ci"}]}], "ci is"),
        ([{"contexts": None}], "Commit status checks failed for main"),
    ],
)
async def test_github_names_what_a_deployment_lacks(kit: Kit, errors: object, told: str) -> None:
    _know_ourselves(kit)
    body = {"message": "Conflict: Commit status checks failed for main", "errors": errors}
    _mock(kit, "POST", DEPLOYMENTS, httpx.Response(409, json=body))
    with pytest.raises(Unprocessable) as refused:
        await _create(kit)
    assert told in refused.value.message
    assert "lint" not in refused.value.message


async def test_a_merge_is_no_deployment(kit: Kit) -> None:
    """GitHub answers so where it merges instead, which Forge never asks for."""
    _know_ourselves(kit)
    _mock(kit, "POST", DEPLOYMENTS, httpx.Response(202, json={"message": "Auto-merged main into topic."}))
    with pytest.raises(Unavailable, match="something unexpected"):
        await _create(kit)


async def test_a_filter_is_not_taken_at_its_word(kit: Kit) -> None:
    _know_ourselves(kit)
    others = [
        _deployment(1, sha="b" * 40),
        _deployment(2, environment="Staging"),
        _deployment(3, creator=None),
        _deployment(4, payload=None),
        _deployment(7),
        _deployment(6),
    ]
    route = _mock(kit, "GET", DEPLOYMENTS, httpx.Response(200, json=others))
    found = await kit.host.find_deployment(REPO, HEAD, "staging", "d1")
    assert found == 6
    asked = kit.list_requests(route)[0].url.params
    assert (asked["sha"], asked["environment"]) == (HEAD, "staging")


@pytest.mark.parametrize("missing", ["id", "sha", "environment", "creator"])
async def test_a_deployment_of_another_shape_spoils_the_list(kit: Kit, missing: str) -> None:
    _know_ourselves(kit)
    shown = _deployment(2)
    del shown[missing]
    _mock(kit, "GET", DEPLOYMENTS, httpx.Response(200, json=[_deployment(1), shown]))
    with pytest.raises(Unavailable, match=missing):
        await kit.host.find_deployment(REPO, HEAD, "staging", "d1")


# --- dispatched workflows ----------------------------------------------------------------------------------


async def test_an_answer_without_a_body_tells_no_run(kit: Kit) -> None:
    route = _mock(kit, "POST", f"{WORKFLOW}/dispatches", httpx.Response(204))
    assert await _dispatch(kit) is None
    wanted = {"ref": "main", "inputs": {"deployment": "d1"}, "return_run_details": True}
    assert json.loads(kit.list_requests(route)[0].content) == wanted


async def test_an_answer_of_another_shape_may_have_started_something(kit: Kit) -> None:
    route = _mock(kit, "POST", f"{WORKFLOW}/dispatches", httpx.Response(200, json={"id": 5}))
    with pytest.raises(Unavailable, match="workflow_run_id"):
        await _dispatch(kit)
    assert len(kit.list_requests(route)) == 1


async def test_only_a_refusal_of_the_question_is_answered_with_another_request(kit: Kit) -> None:
    refusal = {"message": 'Invalid request.\n\n"return_run_details" is not a permitted key.'}
    route = _mock(kit, "POST", f"{WORKFLOW}/dispatches", httpx.Response(422, json=refusal), httpx.Response(204))
    assert await _dispatch(kit) is None
    assert [json.loads(one.content) for one in kit.list_requests(route)][1:] == [
        {"ref": "main", "inputs": {"deployment": "d1"}}
    ]


async def test_a_run_is_looked_for_from_a_little_before(kit: Kit) -> None:
    listed = [
        _run(1, event="push"),
        _run(2, display_title=None),
        _run(5, run_attempt=1, status="completed", conclusion="failure"),
        _run(5, run_attempt=2),
        _run(6),
    ]
    answer = httpx.Response(200, json={"total_count": len(listed), "workflow_runs": listed})
    route = _mock(kit, "GET", f"{WORKFLOW}/runs", answer)
    since = datetime(2026, 3, 1, 14, 30, 1, 999, tzinfo=timezone(timedelta(hours=2)))
    found = await kit.host.find_dispatched_run(REPO, "deploy.yml", "d1", since)
    assert found is not None
    assert (found.id, found.attempt, found.is_completed) == (5, 2, False)
    asked = kit.list_requests(route)[0].url.params
    assert (asked["event"], asked["created"]) == ("workflow_dispatch", ">=2026-03-01T12:25:01Z")


async def test_a_list_that_is_cut_is_no_answer(kit: Kit) -> None:
    """Of a search GitHub lists at most 1,000 runs, whatever it counts."""
    answer = httpx.Response(200, json={"total_count": 1001, "workflow_runs": [_run(1, display_title="other")]})
    _mock(kit, "GET", f"{WORKFLOW}/runs", answer)
    with pytest.raises(Unavailable, match="1 items of 1001"):
        await kit.host.find_dispatched_run(REPO, "deploy.yml", "d1", BEGAN)


@pytest.mark.parametrize("workflow", ["", ".", ".."])
async def test_a_name_that_is_none_is_not_asked_for(kit: Kit, workflow: str) -> None:
    with pytest.raises(ValueError, match="cannot be part of an address"):
        await kit.host.dispatch_workflow(REPO, workflow, "main", {})
    assert kit.count_requests() == 0


@pytest.mark.parametrize("body", [None, {}])
async def test_a_cancellation_is_taken_note_of(kit: Kit, body: object) -> None:
    content = b"" if body is None else json.dumps(body).encode()
    route = _mock(kit, "POST", f"{AT}/actions/runs/1/cancel", httpx.Response(202, content=content))
    await kit.host.cancel_workflow_run(REPO, 1)
    assert len(kit.list_requests(route)) == 1


# --- errors ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "error"), ALL_KINDS)
async def test_refusals_are_errors_of_the_domain(kit: Kit, status: int, error: type[Exception]) -> None:
    _know_ourselves(kit)
    refusals = kit.github.route(url__startswith=f"{API}{AT}/")
    refusals.mock(return_value=httpx.Response(status, json={"message": "No"}))
    for call in (
        _create(kit),
        kit.host.find_deployment(REPO, HEAD, "staging", "d1"),
        _say(kit),
        _dispatch(kit),
        kit.host.find_dispatched_run(REPO, "deploy.yml", "d1", BEGAN),
        kit.host.workflow_run(REPO, 1),
        kit.host.cancel_workflow_run(REPO, 1),
    ):
        with pytest.raises(error, match=f"{status} .No"):
            await call
    sent = [request for request in kit.list_requests(refusals) if request.method == "POST"]
    assert len(sent) == (8 if status == 401 else 4)  # after a 401, which had no effect, with a new token
