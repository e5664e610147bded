"""Workflow runs, deployments and environments over REST."""

from __future__ import annotations

from simulator import deployments, workflows
from simulator.errors import Refusal, not_found
from simulator.http import Answer, Call, Route
from simulator.json import checks as check_json
from simulator.state import Deployment, WorkflowJob, WorkflowRun, timestamp


def list_runs(call: Call) -> Answer:
    return _page_of_runs(call, call.repository("actions:read").workflow_runs)


def list_runs_of_workflow(call: Call) -> Answer:
    repository, workflow = call.repository("actions:read"), call.params["workflow"]
    workflows.require_known(repository, workflow)
    path = f"{workflows.FOLDER}/{workflow}"
    return _page_of_runs(call, [run for run in repository.workflow_runs if run.path == path])


def _page_of_runs(call: Call, runs: list[WorkflowRun]) -> Answer:
    sha, branch, event, status = (call.query.get(key) for key in ("head_sha", "branch", "event", "status"))
    first, last = _parse_range(call.query.get("created", ""))
    found = [
        run
        for run in reversed(runs)
        if sha in (None, run.head_sha)
        and branch in (None, run.head_branch)
        and event in (None, run.event)
        and status in (None, run.status, run.conclusion)
        and first <= (timestamp(run.created_at) or "") <= last
    ]
    return call.page(found, lambda run: check_json.workflow_run(call.world, run), "workflow_runs")


def _parse_range(created: str) -> tuple[str, str]:
    """The first and last moment of a search, `>=2026-03-01T12:00:00Z` and the like; one without an end goes on."""
    if created.startswith(">="):
        return created[2:], "~"
    if created.startswith("<="):
        return "", created[2:] + "~"
    first, dots, last = created.partition("..")
    if dots:
        return first.replace("*", ""), last.replace("*", "") + "~"
    return first, first + "~"


def _run(call: Call, needs: str = "actions:read") -> WorkflowRun:
    runs = call.repository(needs).workflow_runs
    found = next((run for run in runs if run.id == call.number("id")), None)
    if found is None:
        raise not_found()
    return found


def dispatch(call: Call) -> Answer:
    """Whoever asks for it is told which run it is, unless this is an older GitHub."""
    repository = call.repository("actions:write")
    made = workflows.dispatch(call.world, repository, call.params["workflow"], call.body)
    if not call.body.get("return_run_details") or not call.world.stage.tells_run:
        return Answer(204)
    shape = check_json.workflow_run(call.world, made)
    return Answer(200, {"workflow_run_id": made.id, "run_url": shape["url"], "html_url": shape["html_url"]})


def cancel_run(call: Call) -> Answer:
    workflows.cancel(call.world, _run(call, "actions:write"))
    return Answer(202, {})


def rerun_failed_jobs(call: Call) -> Answer:
    workflows.rerun_failed(call.world, _run(call, "actions:write"))
    return Answer(201, {})


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


def create_deployment(call: Call) -> Answer:
    repository = call.repository("deployments:write")
    made = deployments.create(call.world, repository, call.actor, call.body)
    if isinstance(made, str):
        return Answer(202, {"message": made})
    return Answer(201, check_json.deployment(call.world, made))


def list_deployments(call: Call) -> Answer:
    repository = call.repository("deployments:read")
    asked = {name: call.query[name] for name in ("environment", "sha", "ref", "task") if name in call.query}
    found = [
        item
        for item in reversed(repository.deployments)
        if all(getattr(item, name) == value for name, value in asked.items())
    ]
    return call.page(found, lambda item: check_json.deployment(call.world, item))


def _deployment(call: Call, needs: str) -> Deployment:
    deployments = call.repository(needs).deployments
    found = next((item for item in deployments if item.id == call.number("id")), None)
    if found is None:
        raise not_found()
    return found


def show_deployment(call: Call) -> Answer:
    return Answer(200, check_json.deployment(call.world, _deployment(call, "deployments:read")))


def create_deployment_status(call: Call) -> Answer:
    deployment = _deployment(call, "deployments:write")
    status = deployments.add_status(call.world, deployment, call.actor, call.body)
    return Answer(201, check_json.deployment_status(call.world, deployment, status))


def list_deployment_statuses(call: Call) -> Answer:
    deployment = _deployment(call, "deployments:read")
    newest_first = list(reversed(deployment.statuses))
    return call.page(newest_first, lambda item: check_json.deployment_status(call.world, deployment, item))


def show_deployment_status(call: Call) -> Answer:
    deployment = _deployment(call, "deployments:read")
    found = next((item for item in deployment.statuses if item.id == call.number("number")), None)
    if found is None:
        raise not_found()
    return Answer(200, check_json.deployment_status(call.world, deployment, found))


def list_environments(call: Call) -> Answer:
    """Each is made by the first deployment to it."""
    repository = call.repository("actions:read")
    first = {item.environment: item for item in reversed(repository.deployments)}
    found = sorted(first.values(), key=lambda item: item.id)
    return call.page(found, lambda item: check_json.environment(call.world, item), "environments")


_REPO = "/repos/{owner}/{repo}"
ROUTES = [
    Route("GET", f"{_REPO}/actions/runs", list_runs),
    Route("GET", f"{_REPO}/actions/runs/{{id}}", show_run),
    Route("GET", f"{_REPO}/actions/runs/{{id}}/jobs", list_jobs),
    Route("POST", f"{_REPO}/actions/runs/{{id}}/cancel", cancel_run),
    Route("POST", f"{_REPO}/actions/runs/{{id}}/rerun-failed-jobs", rerun_failed_jobs),
    Route("GET", f"{_REPO}/actions/workflows/{{workflow}}/runs", list_runs_of_workflow),
    Route("POST", f"{_REPO}/actions/workflows/{{workflow}}/dispatches", dispatch),
    Route("GET", f"{_REPO}/actions/jobs/{{id}}", show_job),
    Route("GET", f"{_REPO}/actions/jobs/{{id}}/logs", show_log),
    Route("POST", f"{_REPO}/deployments", create_deployment),
    Route("GET", f"{_REPO}/deployments", list_deployments),
    Route("GET", f"{_REPO}/deployments/{{id}}", show_deployment),
    Route("POST", f"{_REPO}/deployments/{{id}}/statuses", create_deployment_status),
    Route("GET", f"{_REPO}/deployments/{{id}}/statuses", list_deployment_statuses),
    Route("GET", f"{_REPO}/deployments/{{id}}/statuses/{{number}}", show_deployment_status),
    Route("GET", f"{_REPO}/environments", list_environments),
]
