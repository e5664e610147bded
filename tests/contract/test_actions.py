"""Workflow runs, jobs and logs over real HTTP, end to end against the simulator."""

from datetime import timedelta

import httpx2
import pytest

from domain.errors import Forbidden, NotFound, RateLimited, Unavailable
from domain.github.checks import Job, WorkflowRun
from simulator.errors import Kind
from simulator.state import WorkflowRun as SimulatedRun
from tests.contract.stage import Stage

MEGABYTE = 1_000_000
MOST = 64_000


def _ran(stage: Stage, conclusion: str | None = "failure", log: str = "1 failed\n", **more: str) -> SimulatedRun:
    return stage.sim.run_workflow(stage.shelf, stage.head, "CI", {"test": (conclusion, log)}, **more)


async def _runs(stage: Stage) -> list[WorkflowRun]:
    return [*await stage.host.workflow_runs(stage.repository, stage.head)]


async def _jobs(stage: Stage, run: SimulatedRun) -> list[Job]:
    return [*await stage.host.jobs(stage.repository, run.id)]


async def _log(stage: Stage, run: SimulatedRun, most: int = MOST) -> str | None:
    return await stage.host.job_log(stage.repository, run.jobs[-1].check.id, most)


def _list_fetches(stage: Stage) -> list[str]:
    """The requests to the host that keeps the logs."""
    return [request.path for request in stage.sim.requests if request.path.startswith("/storage/")]


# --- runs and jobs -----------------------------------------------------------------------------------------


async def test_what_ran_on_a_head_newest_first(stage: Stage) -> None:
    failed = _ran(stage)
    pushed = _ran(stage, None, event="push")
    await stage.ann.push(stage.shelf, "other", {"b.py": "x\n"}, base="main")
    other = stage.shelf.git.branch("other") or ""
    stage.sim.run_workflow(stage.shelf, other, "CI", {"test": ("success", "")})
    assert await _runs(stage) == [
        WorkflowRun(
            id=run.id,
            name="CI",
            status=status,
            conclusion=conclusion,
            attempt=1,
            event=event,
            url=f"{stage.sim.url}/acme/shelf/actions/runs/{run.id}",
            path=".github/workflows/ci.yml",
        )
        for run, status, conclusion, event in (
            (pushed, "in_progress", None, "push"),
            (failed, "completed", "failure", "pull_request"),
        )
    ]
    assert await stage.host.workflow_runs(stage.repository, "0" * 40) == []


async def test_a_job_tells_when_it_ran_and_which_step_failed(stage: Stage) -> None:
    run = _ran(stage, None)
    began = stage.clock.at
    [running] = await _jobs(stage, run)
    assert (running.status, running.conclusion, running.failed_step) == ("in_progress", None, "")
    stage.clock.advance(seconds=90)
    stage.sim.advance_workflow(run, {"test": ("failure", "")})
    assert await _jobs(stage, run) == [
        Job(
            id=run.jobs[0].check.id,
            name="test",
            status="completed",
            conclusion="failure",
            started_at=began,
            completed_at=began + timedelta(seconds=90),
            failed_step="Run test",
        )
    ]


async def test_only_the_newest_attempt_counts(stage: Stage) -> None:
    run = _ran(stage)
    stage.sim.rerun_workflow(run, {"test": ("success", "")})
    [found] = await _runs(stage)
    assert (found.attempt, found.conclusion) == (2, "success")
    assert [job.conclusion for job in await _jobs(stage, run)] == ["success"]


async def test_all_pages_are_read_or_nothing(stage: Stage) -> None:
    for number in range(120):
        stage.sim.run_workflow(stage.shelf, stage.head, f"CI {number}", {"test": ("success", "")})
    many = stage.sim.run_workflow(stage.shelf, stage.head, "Matrix", {f"job {n}": ("success", "") for n in range(130)})
    assert len({run.id for run in await _runs(stage)}) == 121
    assert len({job.id for job in await _jobs(stage, many)}) == 130
    stage.sim.faults.add(kind="before", path="/actions/runs", skip=1, times=None)
    with pytest.raises(Unavailable):
        await _runs(stage)


async def test_a_run_that_is_gone_has_no_jobs(stage: Stage) -> None:
    with pytest.raises(NotFound):
        await stage.host.jobs(stage.repository, 1)


@pytest.mark.parametrize(("status", "error"), [(403, Forbidden), (404, NotFound), (500, Unavailable)])
async def test_refusals_are_errors_of_the_domain(stage: Stage, status: int, error: type[Exception]) -> None:
    run = _ran(stage)
    stage.sim.faults.add(kind="before", path="/actions/", times=None, status=status, message="No")
    with pytest.raises(error):
        await _runs(stage)
    with pytest.raises(error):
        await _jobs(stage, run)


async def test_without_the_permission_nothing_is_read(stage: Stage) -> None:
    run = _ran(stage)
    await stage.host.pull_request(stage.repository, 1)
    stage.take_permissions(actions=None)
    for read in (_runs(stage), _jobs(stage, run), _log(stage, run)):
        with pytest.raises(Forbidden):
            await read


# --- logs --------------------------------------------------------------------------------------------------


async def test_a_log_is_fetched_where_github_leads_without_its_token(stage: Stage) -> None:
    run = _ran(stage, log="collected 3 items\n1 failed – é\n")
    assert await _log(stage, run) == "collected 3 items\n1 failed – é\n"
    assert [request.status for request in stage.sim.requests[-2:]] == [302, 200]
    assert stage.sim.requests[-1].path.startswith("/storage/")


async def test_the_storage_refuses_a_token_and_an_old_address(stage: Stage) -> None:
    """What the test before rests on."""
    run = _ran(stage)
    await _log(stage, run)
    address = stage.sim.url + stage.sim.requests[-1].path
    async with httpx2.AsyncClient() as anybody:
        assert (await anybody.get(address)).text == "1 failed\n"
        assert (await anybody.get(address, headers={"Authorization": "token x"})).status_code == 400
        stage.clock.advance(seconds=61)
        assert (await anybody.get(address)).status_code == 403


async def test_the_end_of_a_long_log(stage: Stage) -> None:
    lines = [f"{number:09} passed" for number in range(10 * MEGABYTE // 17)]
    run = _ran(stage, log="".join(f"{line}\n" for line in lines))
    end = await _log(stage, run)
    assert end is not None
    assert MOST - 20 < len(end.encode()) <= MOST
    assert end.splitlines() == lines[-len(end.splitlines()) :]


async def test_a_long_line_is_cut_between_characters(stage: Stage) -> None:
    run = _ran(stage, log="é" * 100)
    assert await _log(stage, run, 33) == "é" * 16
    assert await _log(stage, run, 200) == "é" * 100


async def test_logs_that_are_gone(stage: Stage) -> None:
    run, running = _ran(stage), _ran(stage, None)
    assert await _log(stage, running) is None
    assert await stage.host.job_log(stage.repository, 1, MOST) is None
    for status in (404, 410):
        stage.sim.faults.add(kind="before", path="^/storage/", status=status)
        assert await _log(stage, run) is None
    run.jobs[0].log_expired = True
    assert await _log(stage, run) is None


async def test_no_log_of_a_repository_out_of_sight_is_not_an_absent_one(stage: Stage) -> None:
    run, repository = _ran(stage), stage.repository
    stage.sim.remove_from_installation(stage.shelf)
    with pytest.raises(NotFound, match="see the repository acme/shelf"):
        await stage.host.job_log(repository, run.jobs[0].check.id, MOST)


async def test_a_renamed_repository_is_followed_with_the_token(stage: Stage) -> None:
    run, old = _ran(stage), stage.repository
    stage.sim.rename(stage.shelf, "cupboard")
    assert await stage.host.job_log(old, run.jobs[0].check.id, MOST) == "1 failed\n"


@pytest.mark.parametrize(("kind", "status"), [("before", 503), ("before", 403), ("reset", 0)])
async def test_another_address_is_asked_for_where_the_first_failed(stage: Stage, kind: Kind, status: int) -> None:
    run = _ran(stage)
    fault = stage.sim.faults.add(kind=kind, path="^/storage/", status=status)
    assert await _log(stage, run) == "1 failed\n"
    assert len(set(_list_fetches(stage))) == 2
    fault.times = None
    with pytest.raises(Unavailable, match="host that GitHub pointed to"):
        await _log(stage, run)


@pytest.mark.parametrize(("status", "error"), [(403, Forbidden), (500, Unavailable)])
async def test_a_log_that_github_refuses(stage: Stage, status: int, error: type[Exception]) -> None:
    run = _ran(stage)
    stage.sim.faults.add(kind="before", path="/logs$", times=None, status=status, message="No")
    with pytest.raises(error):
        await _log(stage, run)
    assert _list_fetches(stage) == []


async def test_limits_hold_for_all_of_it(stage: Stage) -> None:
    run = _ran(stage)
    stage.installation.rate_limit = 3
    await _runs(stage)
    await _jobs(stage, run)
    assert await _log(stage, run) == "1 failed\n"  # the storage has no limit
    for read in (_runs(stage), _jobs(stage, run), _log(stage, run)):
        with pytest.raises(RateLimited) as caught:
            await read
        assert caught.value.until == stage.clock.now() + timedelta(hours=1)


# --- what the simulator tells ------------------------------------------------------------------------------


def _list_events(stage: Stage) -> list[tuple[str, str | None]]:
    named = {"workflow_run", "check_suite"}
    return [(one.event, one.payload["action"]) for one in stage.sim.deliveries if one.event in named]


async def test_a_workflow_tells_how_it_goes_on(stage: Stage) -> None:
    before = len(_list_events(stage))
    run = stage.sim.run_workflow(stage.shelf, stage.head, "CI", {"lint": ("success", ""), "test": (None, "")})
    assert _list_events(stage)[before:] == [("workflow_run", "requested"), ("workflow_run", "in_progress")]
    stage.sim.advance_workflow(run, {"test": ("failure", "1 failed\n")})
    assert _list_events(stage)[before + 2 :] == [("check_suite", "completed"), ("workflow_run", "completed")]
    suite, ended = (one.payload for one in stage.sim.deliveries[-2:])
    assert suite["check_suite"]["app"]["slug"] == "github-actions"
    assert suite["check_suite"]["conclusion"] == ended["workflow_run"]["conclusion"] == "failure"
    assert suite["check_suite"]["head_sha"] == ended["workflow_run"]["head_sha"] == stage.head
    assert suite["check_suite"]["id"] == ended["workflow_run"]["check_suite_id"]


async def test_a_workflow_that_could_not_start_has_no_jobs(stage: Stage) -> None:
    run = stage.sim.run_workflow(stage.shelf, stage.head, "CI", {}, conclusion="startup_failure")
    assert [found.conclusion for found in await _runs(stage)] == ["startup_failure"]
    assert await _jobs(stage, run) == []
    assert _list_events(stage)[-1] == ("workflow_run", "completed")


async def test_the_jobs_of_a_workflow_are_checks_of_its_head(stage: Stage) -> None:
    _ran(stage, "success")
    _ran(stage, "failure", event="push")
    results = await stage.host.check_results(stage.repository, stage.head)
    assert {result.name for result in results} == {"test"}
    assert {result.app_id for result in results} == {stage.sim.world.other_app("github-actions").id}


# --- once more ---------------------------------------------------------------------------------------------


async def test_failed_jobs_run_once_more(stage: Stage) -> None:
    jobs = {"lint": ("success", ""), "test": ("failure", "1 failed\n")}
    run = stage.sim.run_workflow(stage.shelf, stage.head, "CI", jobs)
    await stage.host.rerun_failed_jobs(stage.repository, run.id)
    assert [(each.attempt, each.is_completed) for each in await _runs(stage)] == [(2, False)]
    with pytest.raises(Forbidden, match="already running"):
        await stage.host.rerun_failed_jobs(stage.repository, run.id)
    stage.sim.advance_workflow(run, {"test": ("success", "")})
    assert {(job.name, job.conclusion) for job in await _jobs(stage, run)} == {("lint", "success"), ("test", "success")}
    every = await stage.host.jobs(stage.repository, run.id, every=True)
    assert [job.conclusion for job in every if job.name == "test"] == ["failure", "success"]
    with pytest.raises(Forbidden, match="cannot be retried"):
        await stage.host.rerun_failed_jobs(stage.repository, run.id)


async def test_what_is_too_old_runs_no_more(stage: Stage) -> None:
    run = _ran(stage)
    stage.clock.advance(days=31)
    with pytest.raises(Forbidden, match="over a month ago"):
        await stage.host.rerun_failed_jobs(stage.repository, run.id)
