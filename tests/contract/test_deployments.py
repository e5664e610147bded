"""Deployments and dispatched workflows over real HTTP, end to end against the simulator."""

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from domain.errors import Behind, Forbidden, NotFound, Unavailable, Unprocessable
from domain.github.checks import HostDeploymentState, WorkflowRun
from simulator.state import Deployment
from simulator.state import WorkflowRun as SimulatedRun
from tests.contract.stage import Stage

WORKFLOW = """\
name: Deploy
run-name: Deploy ${{ inputs.deployment }} to ${{ github.event.inputs.stage }}
on:
  workflow_dispatch:
    inputs:
      deployment: {required: true}
      stage: {type: choice, options: [staging, production], default: staging}
jobs:
  deploy:
    runs-on: ubuntu-latest
    steps: [{run: ./deploy}]
"""
FILE = "deploy.yml"


async def _deploy(
    stage: Stage,
    environment: str = "staging",
    *,
    sha: str = "",
    key: str = "d1",
    required: Sequence[str] = (),
    is_production: bool = False,
    is_transient: bool = False,
) -> int:
    made = await stage.host.create_deployment(
        stage.repository,
        sha=sha or stage.head,
        environment=environment,
        is_production=is_production,
        description="Deploy #1",
        payload={"forge": key},
        required_contexts=required,
    )
    _get(stage, made).transient = is_transient
    return made


def _get(stage: Stage, deployment: int) -> Deployment:
    return next(each for each in stage.shelf.deployments if each.id == deployment)


async def _say(
    stage: Stage,
    deployment: int,
    state: HostDeploymentState,
    description: str = "",
    *,
    auto_inactive: bool = True,
) -> int:
    return await stage.host.add_deployment_status(
        stage.repository,
        deployment,
        state,
        description=description,
        log_url="https://ci.example.org/1",
        environment_url="https://staging.example.org",
        auto_inactive=auto_inactive,
    )


def _states(stage: Stage, *deployments: int) -> list[str]:
    return [_get(stage, each).state for each in deployments]


async def _add_workflow(stage: Stage, text: str = WORKFLOW) -> None:
    await stage.ann.push(stage.shelf, "main", {f".github/workflows/{FILE}": text})


async def _dispatch(stage: Stage, ref: str = "main", inputs: Mapping[str, str] | None = None) -> int | None:
    return await stage.host.dispatch_workflow(stage.repository, FILE, ref, inputs or {"deployment": "d1"})


def _newest(stage: Stage) -> SimulatedRun:
    return stage.shelf.workflow_runs[-1]


async def _find(stage: Stage, key: str = "d1") -> WorkflowRun | None:
    return await stage.host.find_dispatched_run(stage.repository, FILE, key, stage.clock.now())


# --- deployments -------------------------------------------------------------------------------------------


async def test_a_deployment_is_of_exactly_the_commit(stage: Stage) -> None:
    await stage.ann.push(stage.shelf, "main", {"b.py": "ahead of topic\n"})
    made = await _deploy(stage)
    [shown] = stage.shelf.deployments
    assert (shown.id, shown.sha, shown.ref, shown.environment) == (made, stage.head, stage.head, "staging")
    assert (shown.task, shown.payload, shown.creator) == ("deploy", {"forge": "d1"}, stage.sim.app.bot)
    [request] = [one for one in stage.sim.writes() if one.path.endswith("/deployments")]
    assert request.body["auto_merge"] is False
    assert stage.sim.deliveries[-1].event == "deployment"
    assert stage.shelf.git.branch("topic") == stage.head


async def test_one_that_was_not_recorded_is_found_by_its_key(stage: Stage) -> None:
    first, _ = await _deploy(stage, key="d1"), await _deploy(stage, key="d2")
    await _deploy(stage, key="d1")
    find = stage.host.find_deployment
    assert await find(stage.repository, stage.head, "staging", "d1") == first
    assert await find(stage.repository, stage.head, "production", "d1") is None
    assert await find(stage.repository, "0" * 40, "staging", "d1") is None
    assert await find(stage.repository, stage.head, "staging", "d") is None


async def test_one_of_another_app_is_not_taken_for_ours(stage: Stage) -> None:
    await _deploy(stage)
    stage.shelf.deployments[0].creator = stage.ann.account
    assert await stage.host.find_deployment(stage.repository, stage.head, "staging", "d1") is None


@pytest.mark.parametrize("payload", ['{"forge": "d1"}', {"forge": "d1", "more": [1]}])
async def test_a_payload_may_come_back_as_text(stage: Stage, payload: object) -> None:
    made = await _deploy(stage)
    stage.shelf.deployments[0].payload = payload
    found = await stage.host.find_deployment(stage.repository, stage.head, "staging", "d1")
    assert found == made


@pytest.mark.parametrize("payload", ["d1", '["forge"]', "", None, {"forge": 1}, {}])
async def test_a_payload_that_names_nothing(stage: Stage, payload: object) -> None:
    await _deploy(stage)
    stage.shelf.deployments[0].payload = payload
    assert await stage.host.find_deployment(stage.repository, stage.head, "staging", "d1") is None


async def test_a_required_check_that_failed_or_is_missing_is_named(stage: Stage) -> None:
    stage.sim.report_check(stage.shelf, stage.head, "build", "failure")
    stage.sim.report_check(stage.shelf, stage.head, "lint", "success")
    stage.sim.report_status(stage.shelf, stage.head, "ci/old", "success")
    await _deploy(stage, required=["lint", "ci/old"])
    await _deploy(stage, required=[])
    with pytest.raises(Unprocessable) as refused:
        await _deploy(stage, required=["lint", "build", "smoke"])
    assert f"Conflict: Commit status checks failed for {stage.head}" in refused.value.message
    assert "build is failure, smoke is pending" in refused.value.message
    assert "lint is" not in refused.value.message
    assert len(stage.shelf.deployments) == 2


async def test_no_deployment_of_an_unknown_commit(stage: Stage) -> None:
    with pytest.raises(Unprocessable, match="No ref found for: 0000"):
        await _deploy(stage, sha="0" * 40)


async def test_what_is_said_of_it(stage: Stage) -> None:
    made = await _deploy(stage)
    await _say(stage, made, HostDeploymentState.in_progress, "é" * 200)
    done = await _say(stage, made, HostDeploymentState.success, "Deployed")
    oldest, newest = _get(stage, made).statuses
    assert vars(newest) == {
        "id": done,
        "state": "success",
        "creator": stage.sim.app.bot,
        "created_at": stage.clock.at,
        "description": "Deployed",
        "environment_url": "https://staging.example.org",
        "log_url": "https://ci.example.org/1",
    }
    assert oldest.description == "é" * 139 + "…"


@pytest.mark.parametrize("state", HostDeploymentState)
async def test_every_state_is_taken(stage: Stage, state: HostDeploymentState) -> None:
    made = await _deploy(stage)
    await _say(stage, made, state)
    assert _states(stage, made) == [state]


async def test_a_success_makes_earlier_ones_inactive(stage: Stage) -> None:
    kinds = [("staging", False, False), ("production", True, False), ("preview", False, True)]
    before = [
        await _deploy(stage, name, is_production=production, is_transient=transient)
        for name, production, transient in kinds
    ]
    failed = await _deploy(stage)
    for each in before:
        await _say(stage, each, HostDeploymentState.success)
    await _say(stage, failed, HostDeploymentState.failure)
    kept = await _deploy(stage)
    await _say(stage, kept, HostDeploymentState.success, auto_inactive=False)
    assert _states(stage, *before, failed) == ["success", "success", "success", "failure"]
    for name, production, transient in kinds:
        newest = await _deploy(stage, name, is_production=production, is_transient=transient)
        await _say(stage, newest, HostDeploymentState.success)
    assert _states(stage, *before, failed, kept) == ["inactive", "success", "success", "failure", "inactive"]


async def test_nothing_is_said_of_a_deployment_that_is_gone(stage: Stage) -> None:
    made = await _deploy(stage)
    stage.shelf.deployments.clear()
    with pytest.raises(NotFound):
        await _say(stage, made, HostDeploymentState.success)


# --- dispatched workflows ----------------------------------------------------------------------------------


async def test_a_workflow_is_started_and_its_run_known(stage: Stage) -> None:
    await _add_workflow(stage)
    run_id = await _dispatch(stage)
    run = _newest(stage)
    assert run_id == run.id
    assert run.title == "Deploy d1 to staging"
    assert await stage.host.workflow_run(stage.repository, run.id) == WorkflowRun(
        id=run.id,
        name="Deploy",
        status="queued",
        conclusion=None,
        attempt=1,
        event="workflow_dispatch",
        url=f"{stage.sim.url}/acme/shelf/actions/runs/{run.id}",
        path=f".github/workflows/{FILE}",
    )
    stage.sim.finish_run(run, "failure", "No disk\n")
    ended = await stage.host.workflow_run(stage.repository, run.id)
    assert (ended.status, ended.conclusion) == ("completed", "failure")
    [job] = await stage.host.jobs(stage.repository, run.id)
    assert (job.name, job.conclusion) == ("deploy", "failure")
    assert await stage.host.job_log(stage.repository, job.id, 1000) == "No disk\n"


async def test_an_older_github_does_not_tell_the_run(stage: Stage) -> None:
    await _add_workflow(stage)
    stage.sim.hide_dispatched_runs()
    assert await _dispatch(stage) is None
    found = await _find(stage)
    assert found is not None
    assert found.id == _newest(stage).id


async def test_a_run_is_found_by_the_key_in_its_title(stage: Stage) -> None:
    await _add_workflow(stage)
    assert await _find(stage) is None
    await _dispatch(stage)
    first = _newest(stage)
    await _dispatch(stage, inputs={"deployment": "d2"})
    await _dispatch(stage)
    found = await _find(stage)
    assert found is not None
    assert found.id == first.id
    assert await _find(stage, "d3") is None
    first.event = "push"
    stage.shelf.workflow_runs.pop()
    assert await _find(stage) is None


async def test_what_was_started_long_before_is_not_found(stage: Stage) -> None:
    await _add_workflow(stage)
    await _dispatch(stage)
    stage.clock.advance(minutes=4)  # the clocks may differ
    assert await _find(stage) is not None
    stage.clock.advance(minutes=2)
    assert await _find(stage) is None


async def test_a_run_may_appear_late(stage: Stage) -> None:
    await _add_workflow(stage)
    go = asyncio.Event()

    async def play(inputs: Mapping[str, str], sha: str) -> str | None:
        await go.wait()
        return "success"

    stage.sim.on_dispatch(stage.shelf, FILE, play)
    await _dispatch(stage, inputs={"deployment": "d0"})
    stage.sim.lag(3600)
    run_id = await _dispatch(stage)
    assert run_id is not None
    assert await _find(stage, "d0") is not None
    assert await _find(stage) is None
    with pytest.raises((NotFound, Behind)):
        await stage.host.workflow_run(stage.repository, run_id)
    go.set()
    await stage.sim.finish_plays()
    stage.sim.lag(0)
    found = await _find(stage)
    assert found is not None
    assert found.conclusion == "success"


@pytest.mark.parametrize(
    ("text", "inputs", "told"),
    [
        (WORKFLOW, {"deployment": "d1", "when": "now"}, r'Unexpected inputs provided: \["when"\]'),
        (WORKFLOW, {"stage": "staging"}, "Required input 'deployment' not provided"),
        (WORKFLOW, {"deployment": "d1", "stage": "moon"}, "'moon' for input 'stage' not in the list"),
        ("name: CI\non: [push]\n", {}, "does not have 'workflow_dispatch' trigger"),
        ("name: CI\non: {push: }\n", {}, "does not have 'workflow_dispatch' trigger"),
        ("name: [\n", {}, "does not have 'workflow_dispatch' trigger"),
        ("on: workflow_dispatch\n", {f"i{number}": "" for number in range(26)}, "No more than 25"),
    ],
)
async def test_a_dispatch_that_the_file_does_not_allow(
    stage: Stage, text: str, inputs: Mapping[str, str], told: str
) -> None:
    await _add_workflow(stage, text)
    with pytest.raises(Unprocessable, match=told):
        await stage.host.dispatch_workflow(stage.repository, FILE, "main", inputs)
    assert not stage.shelf.workflow_runs


async def test_a_dispatch_of_what_is_not_there(stage: Stage) -> None:
    with pytest.raises(NotFound):
        await _dispatch(stage)
    with pytest.raises(NotFound):
        await _find(stage)
    await _add_workflow(stage)
    with pytest.raises(Unprocessable, match="'workflow_dispatch' trigger"):
        await _dispatch(stage, "topic")
    with pytest.raises(Unprocessable, match="No ref found for: gone"):
        await _dispatch(stage, "gone")
    main = stage.shelf.git.branch("main") or ""
    with pytest.raises(Unprocessable, match="No ref found"):
        await _dispatch(stage, main)
    stage.shelf.git.set_ref("refs/tags/v1", main)
    assert await _dispatch(stage, "v1") == _newest(stage).id


async def test_a_name_cannot_lead_elsewhere(stage: Stage) -> None:
    await _add_workflow(stage)
    with pytest.raises(NotFound):
        await stage.host.dispatch_workflow(stage.repository, f"../workflows/{FILE}", "main", {"deployment": "d1"})


async def test_a_run_is_cancelled_once(stage: Stage) -> None:
    await _add_workflow(stage)
    started, stopped = asyncio.Event(), asyncio.Event()

    async def play(inputs: Mapping[str, str], sha: str) -> str | None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "success"

    stage.sim.on_dispatch(stage.shelf, FILE, play)
    run_id = await _dispatch(stage) or 0
    await started.wait()
    await stage.host.cancel_workflow_run(stage.repository, run_id)
    await stopped.wait()
    run = await stage.host.workflow_run(stage.repository, run_id)
    assert (run.status, run.conclusion) == ("completed", "cancelled")
    assert [job.conclusion for job in await stage.host.jobs(stage.repository, run_id)] == ["cancelled"]
    with pytest.raises(Unprocessable, match="Cannot cancel a workflow run that is completed"):
        await stage.host.cancel_workflow_run(stage.repository, run_id)
    with pytest.raises(NotFound):
        await stage.host.cancel_workflow_run(stage.repository, 1)


# --- what goes wrong ---------------------------------------------------------------------------------------


async def test_a_write_whose_answer_is_lost_is_not_repeated_but_found(stage: Stage) -> None:
    await _add_workflow(stage)
    stage.sim.faults.add(kind="reset", path="/(deployments|dispatches)$", times=2)
    with pytest.raises(Unavailable):
        await _deploy(stage)
    with pytest.raises(Unavailable):
        await _dispatch(stage)
    assert (len(stage.shelf.deployments), len(stage.shelf.workflow_runs)) == (1, 1)
    found = await stage.host.find_deployment(stage.repository, stage.head, "staging", "d1")
    assert found == stage.shelf.deployments[0].id
    assert await _find(stage) is not None


async def test_without_the_permissions_nothing_is_done(stage: Stage) -> None:
    await _add_workflow(stage)
    made = await _deploy(stage)
    run_id = await _dispatch(stage) or 0
    stage.take_permissions(actions="read", deployments="read")
    await stage.host.workflow_run(stage.repository, run_id)
    for write in (
        _deploy(stage),
        _say(stage, made, HostDeploymentState.success),
        _dispatch(stage),
        stage.host.cancel_workflow_run(stage.repository, run_id),
    ):
        with pytest.raises(Forbidden):
            await write
