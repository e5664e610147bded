"""Checks, statuses, what protects a branch, workflow runs and deployments, over REST."""

from __future__ import annotations

from simulator import branch_protection, check_json, check_runs, deployments, workflows
from simulator import branch_protection as protection_json
from simulator.errors import Refusal, not_found
from simulator.http import Answer, Call, Route
from simulator.state import CheckRun, CheckSuite, Deployment, Repository, WorkflowJob, WorkflowRun, timestamp


def list_workflow_runs(call: Call) -> Answer:
    return _page_of_workflow_runs(call, call.repository("actions:read").workflow_runs)


def list_runs_of_workflow(call: Call) -> Answer:
    repository, workflow = call.repository("actions:read"), call.params["workflow"]
    workflows.require_known(repository, workflow)
    path = f"{workflows.FOLDER}/{workflow}"
    return _page_of_workflow_runs(call, [run for run in repository.workflow_runs if run.path == path])


def dispatch(call: Call) -> Answer:
    """Whoever asks for it is told which run it is, unless this is an older GitHub."""
    repository = call.repository("actions:write")
    made = workflows.dispatch(call.world, repository, call.params["workflow"], call.body)
    if not call.body.get("return_run_details") or not call.world.stage.tells_run:
        return Answer(204)
    shape = check_json.workflow_run(call.world, made)
    return Answer(200, {"workflow_run_id": made.id, "run_url": shape["url"], "html_url": shape["html_url"]})


def cancel_run(call: Call) -> Answer:
    workflows.cancel(call.world, _find_run(call, "actions:write"))
    return Answer(202, {})


def rerun_failed_jobs(call: Call) -> Answer:
    workflows.rerun_failed(call.world, _find_run(call, "actions:write"))
    return Answer(201, {})


def show_workflow_run(call: Call) -> Answer:
    return Answer(200, check_json.workflow_run(call.world, _find_run(call)))


def list_jobs(call: Call) -> Answer:
    run = _find_run(call)
    every = call.query.get("filter", "latest") == "all"
    found = [job for job in run.jobs if every or job.attempt == run.run_attempt]
    return call.page(found, lambda job: check_json.workflow_job(call.world, run, job), "jobs")


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


def create_run(call: Call) -> Answer:
    repository = call.repository("checks:write")
    if call.caller.kind != "installation":
        raise Refusal(403, "You must authenticate via a GitHub App.")
    run = check_runs.create(call.world, repository, call.actor, call.body)
    return Answer(201, check_json.check_run(call.world, run))


def _run(call: Call, needs: str) -> CheckRun:
    repository = call.repository(needs)
    run = call.world.check_runs.get(call.number("check"))
    if run is None or run.repository is not repository:
        raise not_found()
    check_runs.expire(call.world, [run])
    return run


def show_run(call: Call) -> Answer:
    return Answer(200, check_json.check_run(call.world, _run(call, "checks:read")))


def update_run(call: Call) -> Answer:
    run = check_runs.update(call.world, _run(call, "checks:write"), call.actor, call.body)
    return Answer(200, check_json.check_run(call.world, run))


def list_annotations(call: Call) -> Answer:
    return call.page(_run(call, "checks:read").annotations, dict)


def rerequest_run(call: Call) -> Answer:
    check_runs.rerequest(call.world, _run(call, "checks:write"), call.actor.account)
    return Answer(201, {})


def list_runs(call: Call) -> Answer:
    repository = call.repository("checks:read")
    sha = repository.git.resolve(call.params["ref"])
    if sha is None:
        raise Refusal(422, f"No commit found for SHA: {call.params['ref']}")
    return _page_of_runs(call, check_runs.runs_on(call.world, repository, sha))


def _page_of_runs(call: Call, runs: list[CheckRun]) -> Answer:
    name, app_id, status = (call.query.get(key) for key in ("check_name", "app_id", "status"))
    found = [
        run
        for run in runs
        if name in (None, run.name) and app_id in (None, str(run.app.id)) and status in (None, run.status)
    ]
    if call.query.get("filter", "latest") == "latest":
        found = list({(run.app.id, run.name): run for run in found}.values())
    found.sort(key=lambda run: run.id, reverse=True)
    return call.page(found, lambda run: check_json.check_run(call.world, run), "check_runs")


def list_suites(call: Call) -> Answer:
    repository = call.repository("checks:read")
    sha, app_id = repository.git.resolve(call.params["ref"]), call.query.get("app_id")
    suites = [suite for suite in repository.suites if suite.head_sha == sha and app_id in (None, str(suite.app.id))]
    return call.page(suites, lambda suite: check_json.check_suite(call.world, suite), "check_suites")


def _suite(call: Call, needs: str) -> CheckSuite:
    suites = call.repository(needs).suites
    found = next((suite for suite in suites if suite.id == call.number("id")), None)
    if found is None:
        raise not_found()
    return found


def show_suite(call: Call) -> Answer:
    return Answer(200, check_json.check_suite(call.world, _suite(call, "checks:read")))


def list_runs_of_suite(call: Call) -> Answer:
    return _page_of_runs(call, list(_suite(call, "checks:read").runs))


def rerequest_suite(call: Call) -> Answer:
    check_runs.rerequest_suite(call.world, _suite(call, "checks:write"), call.actor.account)
    return Answer(201, {})


def show_branch(call: Call) -> Answer:
    repository = call.repository("contents:read")
    name = call.params["branch"]
    sha = repository.git.branch(name)
    if sha is None:
        raise Refusal(404, "Branch not found")
    return Answer(200, protection_json.branch(call.world, repository, name, sha))


def list_branches(call: Call) -> Answer:
    repository = call.repository("contents:read")
    refs = repository.git.refs().items()
    branches = [(name.removeprefix("refs/heads/"), sha) for name, sha in refs]
    if (wanted := call.query.get("protected")) is not None:
        branches = [(name, sha) for name, sha in branches if bool(repository.rules.get(name)) is (wanted == "true")]
    return call.page(
        branches,
        lambda item: {"name": item[0], "commit": {"sha": item[1]}, "protected": bool(repository.rules.get(item[0]))},
    )


def list_rules(call: Call) -> Answer:
    """The branch need not exist."""
    repository = call.repository("metadata:read")
    return call.page(protection_json.rules(repository, call.params["branch"]), dict)


def show_ruleset(call: Call) -> Answer:
    repository = call.repository("metadata:read")
    rulesets = ((pattern, rule) for pattern, rules in repository.rules.items() for rule in rules if rule.ruleset)
    found = next(((pattern, rule) for pattern, rule in rulesets if rule.id == call.number("id")), None)
    if found is None:
        raise not_found()
    return Answer(200, protection_json.ruleset(repository, *found))


def create_status(call: Call) -> Answer:
    repository = call.repository("statuses:write")
    made = branch_protection.report_status(call.world, repository, call.actor, call.params["sha"], call.body)
    return Answer(201, protection_json.status(call.world, repository, made))


def _resolve_ref(call: Call, repository: Repository) -> str:
    sha = repository.git.resolve(call.params["ref"])
    if sha is None:
        raise Refusal(404, "Not Found")
    return sha


def list_statuses(call: Call) -> Answer:
    repository = call.repository("statuses:read")
    sha = _resolve_ref(call, repository)
    newest_first = [status for status in reversed(repository.statuses) if status.sha == sha]
    return call.page(newest_first, lambda status: protection_json.status(call.world, repository, status))


def show_combined_status(call: Call) -> Answer:
    repository = call.repository("statuses:read")
    sha = _resolve_ref(call, repository)
    found = branch_protection.newest_statuses(repository, sha)
    answer = call.page(found, lambda status: protection_json.simple_status(call.world, repository, status), "statuses")
    answer.body |= protection_json.combined_status(call.world, repository, sha, found)
    return answer


_REPO = "/repos/{owner}/{repo}"


def _page_of_workflow_runs(call: Call, runs: list[WorkflowRun]) -> Answer:
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


def _find_run(call: Call, needs: str = "actions:read") -> WorkflowRun:
    runs = call.repository(needs).workflow_runs
    found = next((run for run in runs if run.id == call.number("id")), None)
    if found is None:
        raise not_found()
    return found


def _job(call: Call) -> tuple[WorkflowRun, WorkflowJob]:
    runs = call.repository("actions:read").workflow_runs
    pairs = ((run, job) for run in runs for job in run.jobs)
    found = next(((run, job) for run, job in pairs if job.check.id == call.number("id")), None)
    if found is None:
        raise not_found()
    return found


def _deployment(call: Call, needs: str) -> Deployment:
    deployments = call.repository(needs).deployments
    found = next((item for item in deployments if item.id == call.number("id")), None)
    if found is None:
        raise not_found()
    return found


ROUTES = [
    Route("POST", f"{_REPO}/check-runs", create_run),
    Route("GET", f"{_REPO}/check-runs/{{check}}", show_run),
    Route("PATCH", f"{_REPO}/check-runs/{{check}}", update_run),
    Route("GET", f"{_REPO}/check-runs/{{check}}/annotations", list_annotations),
    Route("POST", f"{_REPO}/check-runs/{{check}}/rerequest", rerequest_run),
    Route("GET", f"{_REPO}/commits/{{ref+}}/check-runs", list_runs),
    Route("GET", f"{_REPO}/commits/{{ref+}}/check-suites", list_suites),
    Route("GET", f"{_REPO}/check-suites/{{id}}", show_suite),
    Route("GET", f"{_REPO}/check-suites/{{id}}/check-runs", list_runs_of_suite),
    Route("POST", f"{_REPO}/check-suites/{{id}}/rerequest", rerequest_suite),
    Route("GET", f"{_REPO}/branches", list_branches),
    Route("GET", f"{_REPO}/branches/{{branch+}}", show_branch),
    Route("GET", f"{_REPO}/rules/branches/{{branch+}}", list_rules),
    Route("GET", f"{_REPO}/rulesets/{{id}}", show_ruleset),
    Route("POST", f"{_REPO}/statuses/{{sha}}", create_status),
    Route("GET", f"{_REPO}/commits/{{ref+}}/statuses", list_statuses),
    Route("GET", f"{_REPO}/commits/{{ref+}}/status", show_combined_status),
    Route("GET", f"{_REPO}/actions/runs", list_workflow_runs),
    Route("GET", f"{_REPO}/actions/runs/{{id}}", show_workflow_run),
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
