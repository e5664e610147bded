"""The simulator's own rules of deployments and dispatched workflows, and that it answers them as GitHub publishes."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest

from tests.contract.published import find_differences
from tests.contract.stage import Stage

REPO = "/repos/acme/shelf"
PUBLISHED = "/repos/{owner}/{repo}"
DEPLOYMENTS = f"{REPO}/deployments"
RUNS = f"{REPO}/actions/runs"
WORKFLOW = f"{REPO}/actions/workflows/deploy.yml"
FILE = """\
name: Deploy
on:
  workflow_dispatch:
    inputs:
      deployment:
jobs:
  deploy: {name: Deploy it}
  check:
"""


class Caller:
    """A client with an installation's token; whatever has a published shape is held to it."""

    def __init__(self, stage: Stage) -> None:
        self._headers = {"Authorization": f"token {stage.sim.token(stage.installation)}"}
        self._url = stage.sim.api_url

    async def ask(self, method: str, path: str, body: object = None, published: str = "") -> httpx2.Response:
        async with httpx2.AsyncClient(base_url=self._url, headers=self._headers) as github:
            answer = await github.request(method, path, json=body)
        if published:
            named = f"{method} {PUBLISHED}{published} {answer.status_code}"
            assert find_differences(named, answer.json()) == []
        return answer

    async def deploy(self, **more: Any) -> httpx2.Response:
        return await self.ask("POST", DEPLOYMENTS, {"ref": "topic", "auto_merge": False, **more})

    async def say(self, deployment: int, state: str, **more: Any) -> httpx2.Response:
        return await self.ask("POST", f"{DEPLOYMENTS}/{deployment}/statuses", {"state": state, **more})

    async def dispatch(self, **more: Any) -> httpx2.Response:
        return await self.ask("POST", f"{WORKFLOW}/dispatches", {"ref": "main", **more})


@pytest.fixture
async def caller(stage: Stage) -> Caller:
    await stage.ann.push(stage.shelf, "main", {".github/workflows/deploy.yml": FILE})
    return Caller(stage)


def _list_events(stage: Stage) -> list[tuple[str, str]]:
    return [(one.event, one.payload.get("action", "")) for one in stage.sim.deliveries]


# --- shapes ------------------------------------------------------------------------------------------------


async def test_answers_about_deployments_are_as_published(caller: Caller) -> None:
    wanted = {"ref": "topic", "auto_merge": False, "payload": {"forge": "d1"}, "description": "Deploy"}
    made = (await caller.ask("POST", DEPLOYMENTS, wanted, "/deployments")).json()
    at = f"{DEPLOYMENTS}/{made['id']}"
    ways = "/deployments/{deployment_id}"
    status = (await caller.ask("POST", f"{at}/statuses", {"state": "success"}, f"{ways}/statuses")).json()
    assert (made["payload"], status["state"]) == ({"forge": "d1"}, "success")
    for path, published in (
        (DEPLOYMENTS, "/deployments"),
        (at, ways),
        (f"{at}/statuses", f"{ways}/statuses"),
        (f"{at}/statuses/{status['id']}", f"{ways}/statuses/{{status_id}}"),
        (f"{REPO}/environments", "/environments"),
    ):
        assert (await caller.ask("GET", path, None, published)).status_code == 200


async def test_answers_about_workflows_are_as_published(stage: Stage, caller: Caller) -> None:
    ways = "/actions/runs/{run_id}"
    body = {"ref": "main", "inputs": {"deployment": "d1"}, "return_run_details": True}
    told = await caller.ask("POST", f"{WORKFLOW}/dispatches", body, "/actions/workflows/{workflow_id}/dispatches")
    assert told.status_code == 200
    at = f"{RUNS}/{told.json()['workflow_run_id']}"
    assert told.json()["run_url"] == stage.sim.api_url + at
    assert told.json()["html_url"] == f"{stage.sim.url}/acme/shelf/actions/runs/{told.json()['workflow_run_id']}"
    stage.sim.finish_run(stage.shelf.workflow_runs[-1], "success")
    for path, published in (
        (RUNS, "/actions/runs"),
        (f"{WORKFLOW}/runs", "/actions/workflows/{workflow_id}/runs"),
        (at, ways),
        (f"{at}/jobs", f"{ways}/jobs"),
    ):
        assert (await caller.ask("GET", path, None, published)).status_code == 200
    assert (await caller.ask("POST", f"{at}/cancel", {}, f"{ways}/cancel")).status_code == 409
    await caller.dispatch()
    latest = stage.shelf.workflow_runs[-1].id
    assert (await caller.ask("POST", f"{RUNS}/{latest}/cancel", {}, f"{ways}/cancel")).status_code == 202


# --- deployments -------------------------------------------------------------------------------------------


async def test_without_a_list_every_check_and_status_counts(stage: Stage, caller: Caller) -> None:
    assert (await caller.deploy()).status_code == 201
    stage.sim.report_check(stage.shelf, stage.head, "build", "skipped")
    stage.sim.report_status(stage.shelf, stage.head, "ci/old", "success")
    assert (await caller.deploy()).status_code == 201
    stage.sim.report_check(stage.shelf, stage.head, "slow", None)
    refused = await caller.deploy()
    assert (refused.status_code, refused.json()["message"]) == (
        409,
        "Conflict: Commit status checks failed for topic.",
    )
    [error] = refused.json()["errors"]
    assert {one["context"]: one["state"] for one in error["contexts"]} == {
        "build": "skipped",
        "ci/old": "success",
        "slow": "pending",
    }
    assert (await caller.deploy(required_contexts=["build"])).status_code == 201
    assert (await caller.deploy(required_contexts=[])).status_code == 201
    assert (await caller.deploy(required_contexts="build")).status_code == 422


async def test_of_a_check_only_the_newest_run_counts_but_every_apps(stage: Stage, caller: Caller) -> None:
    stage.sim.report_check(stage.shelf, stage.head, "build", "failure")
    assert (await caller.deploy(required_contexts=["build"])).status_code == 409
    stage.sim.report_check(stage.shelf, stage.head, "build", "success")
    assert (await caller.deploy(required_contexts=["build"])).status_code == 201
    stage.sim.report_check(stage.shelf, stage.head, "build", "failure", app="other")
    stage.sim.report_check(stage.shelf, stage.head, "build", "success")
    assert (await caller.deploy(required_contexts=["build"])).status_code == 409


async def test_a_branch_that_is_behind_is_merged_first(stage: Stage, caller: Caller) -> None:
    merged = await caller.ask("POST", DEPLOYMENTS, {"ref": "topic"}, "/deployments")
    assert (merged.status_code, merged.json()) == (202, {"message": "Auto-merged main into topic on deployment."})
    assert not stage.shelf.deployments
    main = stage.shelf.git.branch("main") or ""
    assert stage.shelf.git.is_ancestor(main, stage.head)
    assert (await caller.deploy(auto_merge=True)).status_code == 201
    assert (await caller.deploy(auto_merge=True, ref=main)).status_code == 201
    await stage.ann.push(stage.shelf, "main", {"a.py": "otherwise\n"})
    refused = await caller.deploy(auto_merge=True)
    assert (refused.status_code, refused.json()["message"]) == (409, "Conflict merging main into topic.")
    assert (await caller.deploy(auto_merge=True, ref=stage.head)).status_code == 201  # there is nothing to merge into


async def test_what_an_environment_is_unless_told(caller: Caller) -> None:
    told = [
        await caller.deploy(),
        await caller.deploy(environment="staging"),
        await caller.deploy(environment="live", production_environment=True),
        await caller.deploy(environment="pr-1", transient_environment=True),
        await caller.deploy(environment="production", production_environment=False),
    ]
    kinds = [
        (one["environment"], one["production_environment"], one["transient_environment"])
        for one in (each.json() for each in told)
    ]
    assert kinds == [
        ("production", True, False),
        ("staging", False, False),
        ("live", True, False),
        ("pr-1", False, True),
        ("production", False, False),
    ]
    listed = (await caller.ask("GET", f"{REPO}/environments")).json()
    names = [one["name"] for one in listed["environments"]]
    assert (listed["total_count"], names) == (4, ["production", "staging", "live", "pr-1"])


async def test_deployments_are_listed_by_what_is_asked(stage: Stage, caller: Caller) -> None:
    first = (await caller.deploy(environment="staging")).json()["id"]
    second = (await caller.deploy(environment="live", ref=stage.head, task="migrate")).json()["id"]

    async def find(query: str) -> list[int]:
        return [one["id"] for one in (await caller.ask("GET", f"{DEPLOYMENTS}?{query}")).json()]

    assert await find("") == [second, first]
    assert await find(f"sha={stage.head}") == [second, first]
    assert await find("environment=staging") == await find("ref=topic") == await find("task=deploy") == [first]
    assert await find("environment=staging&task=migrate") == []


async def test_a_description_has_a_length(caller: Caller) -> None:
    made = (await caller.deploy(description="x" * 140)).json()["id"]
    assert (await caller.deploy(description="x" * 141)).status_code == 422
    assert (await caller.say(made, "success", description="x" * 140)).status_code == 201
    refused = await caller.say(made, "success", description="x" * 141)
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "description")
    assert (await caller.say(made, "done")).status_code == 422
    assert (await caller.say(1, "success")).status_code == 404


async def test_both_events_are_told_but_not_what_became_inactive_by_itself(stage: Stage, caller: Caller) -> None:
    before = len(stage.sim.deliveries)
    first = (await caller.deploy(environment="staging")).json()["id"]
    second = (await caller.deploy(environment="staging")).json()["id"]
    await caller.say(first, "success")
    await caller.say(second, "success")
    told = [one.event for one in stage.sim.deliveries[before:]]
    assert told == ["deployment"] * 2 + ["deployment_status"] * 2
    states = (await caller.ask("GET", f"{DEPLOYMENTS}/{first}/statuses")).json()
    assert [one["state"] for one in states] == ["inactive", "success"]
    await caller.say(second, "inactive")
    assert len(stage.sim.deliveries) == before + 5


# --- workflows ---------------------------------------------------------------------------------------------


async def test_a_dispatch_answers_nothing_unless_asked(stage: Stage, caller: Caller) -> None:
    answer = await caller.dispatch()
    assert (answer.status_code, answer.content) == (204, b"")
    stage.sim.hide_dispatched_runs()
    assert (await caller.dispatch(return_run_details=True)).status_code == 204
    assert len(stage.shelf.workflow_runs) == 2


async def test_a_play_does_what_the_workflow_would_do(stage: Stage, caller: Caller) -> None:
    done: list[tuple[Mapping[str, str], str]] = []
    go = asyncio.Event()

    async def play(inputs: Mapping[str, str], sha: str) -> str | None:
        await go.wait()
        done.append((inputs, sha))
        return "success"

    stage.sim.on_dispatch(stage.shelf, "deploy.yml", play)
    before = len(stage.sim.deliveries)
    await caller.dispatch(inputs={"deployment": "d1"})
    run = stage.shelf.workflow_runs[-1]
    assert not done
    go.set()
    await stage.sim.finish_plays()
    assert done == [({"deployment": "d1"}, stage.shelf.git.branch("main"))]
    assert (run.status, run.conclusion) == ("completed", "success")
    assert {job.check.name: job.check.conclusion for job in run.jobs} == {"Deploy it": "success", "check": "success"}
    runs = [one for one in _list_events(stage)[before:] if one[0] == "workflow_run"]
    assert runs == [("workflow_run", action) for action in ("requested", "in_progress", "completed")]


async def test_a_play_that_raises_has_failed(stage: Stage, caller: Caller) -> None:
    async def play(inputs: Mapping[str, str], sha: str) -> str | None:
        raise ValueError("No disk")

    stage.sim.on_dispatch(stage.shelf, "deploy.yml", play)
    await caller.dispatch()
    await stage.sim.finish_plays()
    run = stage.shelf.workflow_runs[-1]
    assert run.conclusion == "failure"
    assert {job.log for job in run.jobs} == {"ValueError: No disk\n"}


async def test_a_play_may_leave_its_run_open(stage: Stage, caller: Caller) -> None:
    async def play(inputs: Mapping[str, str], sha: str) -> str | None:
        return None

    stage.sim.on_dispatch(stage.shelf, "deploy.yml", play)
    await caller.dispatch()
    await stage.sim.finish_plays()
    run = stage.shelf.workflow_runs[-1]
    assert (run.status, run.conclusion) == ("in_progress", None)
    stage.sim.finish_run(run, "timed_out")
    stage.sim.finish_run(run, "success")
    assert (run.status, run.conclusion) == ("completed", "timed_out")
    stage.sim.on_dispatch(stage.shelf, "deploy.yml", None)
    await caller.dispatch()
    assert stage.shelf.workflow_runs[-1].status == "queued"


async def test_a_queued_run_is_cancelled(stage: Stage, caller: Caller) -> None:
    await caller.dispatch()
    run = stage.shelf.workflow_runs[-1]
    assert (await caller.ask("POST", f"{RUNS}/{run.id}/cancel")).status_code == 202
    assert (run.status, run.conclusion, run.jobs) == ("completed", "cancelled", [])
    assert _list_events(stage)[-1] == ("workflow_run", "completed")


async def test_runs_are_found_by_when_they_were_created(stage: Stage, caller: Caller) -> None:
    await caller.dispatch()
    stage.clock.advance(minutes=45)
    await caller.dispatch()
    first, second = (run.id for run in stage.shelf.workflow_runs)

    async def find(query: str) -> list[int]:
        found = await caller.ask("GET", f"{WORKFLOW}/runs?{query}")
        return [one["id"] for one in found.json()["workflow_runs"]]

    assert await find("") == await find("created=2026-03-01") == [second, first]
    assert await find("created=>=2026-03-01T12:30:00Z") == await find("created=2026-03-01T12:30:00Z..*") == [second]
    assert await find("created=<=2026-03-01T12:30:00Z") == [first]
    assert await find("created=2026-03-01T12:00:00Z..2026-03-01T12:45:00Z") == [second, first]
    stage.sim.finish_run(stage.shelf.workflow_runs[0], "success")
    assert await find("status=completed") == await find("status=success") == [first]
    assert await find("event=push") == []


async def test_a_workflow_that_left_the_default_branch_is_still_known(stage: Stage, caller: Caller) -> None:
    await caller.dispatch()
    await stage.ann.push(stage.shelf, "main", {".github/workflows/deploy.yml": None})
    assert (await caller.ask("GET", f"{WORKFLOW}/runs")).json()["total_count"] == 1
    assert (await caller.dispatch()).status_code == 422
    assert (await caller.ask("GET", f"{REPO}/actions/workflows/other.yml/runs")).status_code == 404
