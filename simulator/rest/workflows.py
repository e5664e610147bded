"""Workflow runs, their jobs and the logs of these over REST."""

from __future__ import annotations

from simulator import workflows
from simulator.errors import Refusal, not_found
from simulator.http import Answer, Call, Route
from simulator.json import checks as check_json
from simulator.state import WorkflowJob, WorkflowRun


def list_runs(call: Call) -> Answer:
    runs = call.repository("actions:read").workflow_runs
    sha, branch, event = (call.query.get(key) for key in ("head_sha", "branch", "event"))
    found = [
        run
        for run in reversed(runs)
        if sha in (None, run.head_sha) and branch in (None, run.head_branch) and event in (None, run.event)
    ]
    return call.page(found, lambda run: check_json.workflow_run(call.world, run), "workflow_runs")


def _run(call: Call) -> WorkflowRun:
    runs = call.repository("actions:read").workflow_runs
    found = next((run for run in runs if run.id == call.number("id")), None)
    if found is None:
        raise not_found()
    return found


def show_run(call: Call) -> Answer:
    return Answer(200, check_json.workflow_run(call.world, _run(call)))


def list_jobs(call: Call) -> Answer:
    run = _run(call)
    every = call.query.get("filter", "latest") == "all"
    found = [job for job in run.jobs if every or job.attempt == run.run_attempt]
    return call.page(found, lambda job: check_json.workflow_job(call.world, run, job), "jobs")


def _job(call: Call) -> tuple[WorkflowRun, WorkflowJob]:
    runs = call.repository("actions:read").workflow_runs
    pairs = ((run, job) for run in runs for job in run.jobs)
    found = next(((run, job) for run, job in pairs if job.check.id == call.number("id")), None)
    if found is None:
        raise not_found()
    return found


def show_job(call: Call) -> Answer:
    return Answer(200, check_json.workflow_job(call.world, *_job(call)))


def show_log(call: Call) -> Answer:
    """The address of the log, which holds for a minute. There is no log before the job is over."""
    _, job = _job(call)
    if job.log_expired:
        raise Refusal(410, "Server Error")
    if job.check.status != "completed":
        raise not_found()
    return Answer(302, headers={"Location": workflows.address_of_log(call.world, job)})


_REPO = "/repos/{owner}/{repo}"
ROUTES = [
    Route("GET", f"{_REPO}/actions/runs", list_runs),
    Route("GET", f"{_REPO}/actions/runs/{{id}}", show_run),
    Route("GET", f"{_REPO}/actions/runs/{{id}}/jobs", list_jobs),
    Route("GET", f"{_REPO}/actions/jobs/{{id}}", show_job),
    Route("GET", f"{_REPO}/actions/jobs/{{id}}/logs", show_log),
]
