"""GitHub's JSON shapes of check runs, check suites, deployments and workflow runs."""

from __future__ import annotations

from urllib.parse import quote

from simulator import repository_json
from simulator.state import (
    CheckRun,
    CheckSuite,
    Deployment,
    DeploymentStatus,
    Json,
    Repository,
    WorkflowJob,
    WorkflowRun,
    World,
    copy,
    timestamp,
)


def _pulls(world: World, suite: CheckSuite) -> list[Json]:
    """Open pull requests of this head in the same repository; those from forks are never listed."""
    repository = suite.repository
    brief: Json = {"id": repository.id, "url": f"{world.api_url}/repos/{repository.full_name}", "name": repository.name}
    return [
        {
            "id": pull.id,
            "number": pull.number,
            "url": f"{world.api_url}/repos/{repository.full_name}/pulls/{pull.number}",
            "head": {"ref": pull.head_ref, "sha": pull.head_sha, "repo": brief},
            "base": {"ref": pull.base_ref, "sha": pull.base_sha, "repo": brief},
        }
        for pull in repository.pulls()
        if pull.state == "open" and pull.head_sha == suite.head_sha and not pull.from_fork
    ]


def _output(url: str, run: CheckRun) -> Json:
    return {
        **copy(run, "title summary text"),
        "annotations_count": len(run.annotations),
        "annotations_url": f"{url}/annotations",
    }


def check_run(world: World, run: CheckRun) -> Json:
    url = f"{world.api_url}/repos/{run.repository.full_name}/check-runs/{run.id}"
    html = f"{world.url}/{run.repository.full_name}/runs/{run.id}"
    return {
        **copy(run, "id name head_sha external_id status conclusion started_at completed_at"),
        "node_id": f"CR_{run.id}",
        "url": url,
        "html_url": html,
        "details_url": run.details_url or html,
        "output": _output(url, run),
        "check_suite": {"id": run.suite.id},
        "app": repository_json.app(world, run.app),
        "pull_requests": _pulls(world, run.suite),
    }


def suite_status(suite: CheckSuite) -> tuple[str, str | None]:
    """Status and conclusion of a suite follow from its runs: the worst one wins."""
    if not suite.runs:
        return "queued", None
    if any(run.status != "completed" for run in suite.runs):
        return ("in_progress" if any(run.status != "queued" for run in suite.runs) else "queued"), None
    latest = {run.name: run for run in suite.runs}
    conclusions = {run.conclusion for run in latest.values()}
    worst_first = ("failure", "timed_out", "cancelled", "action_required", "stale", "success", "neutral", "skipped")
    return "completed", next(conclusion for conclusion in worst_first if conclusion in conclusions)


def check_suite(world: World, suite: CheckSuite) -> Json:
    status, conclusion = suite_status(suite)
    url = f"{world.api_url}/repos/{suite.repository.full_name}/check-suites/{suite.id}"
    return {
        **copy(suite, "id head_branch head_sha before created_at updated_at"),
        "node_id": f"CS_{suite.id}",
        "status": status,
        "conclusion": conclusion,
        "url": url,
        "after": suite.head_sha,
        "pull_requests": _pulls(world, suite),
        "app": repository_json.app(world, suite.app),
        "latest_check_runs_count": len(suite.runs),
        "check_runs_url": f"{url}/check-runs",
    }


def deployment(world: World, found: Deployment) -> Json:
    url = f"{world.api_url}/repos/{found.repository.full_name}/deployments/{found.id}"
    return {
        "url": url,
        **copy(found, "id sha ref task payload environment description created_at"),
        "node_id": f"DE_{found.id}",
        "original_environment": found.environment,
        "creator": repository_json.account(world, found.creator),
        "updated_at": timestamp(found.created_at),
        "statuses_url": f"{url}/statuses",
        "repository_url": f"{world.api_url}/repos/{found.repository.full_name}",
        "transient_environment": found.transient,
        "production_environment": found.production,
    }


def deployment_status(world: World, owner: Deployment, found: DeploymentStatus) -> Json:
    url = f"{world.api_url}/repos/{owner.repository.full_name}/deployments/{owner.id}"
    return {
        "url": f"{url}/statuses/{found.id}",
        **copy(found, "id state description created_at environment_url log_url"),
        "node_id": f"DES_{found.id}",
        "creator": repository_json.account(world, found.creator),
        "environment": owner.environment,
        "target_url": found.log_url,
        "updated_at": timestamp(found.created_at),
        "deployment_url": url,
        "repository_url": f"{world.api_url}/repos/{owner.repository.full_name}",
    }


def environment(world: World, first: Deployment) -> Json:
    """The environment of the first deployment to it; rules that protect it are not simulated."""
    name = first.environment
    return {
        "id": first.id,
        "node_id": f"EN_{first.id}",
        "name": name,
        "url": f"{world.api_url}/repos/{first.repository.full_name}/environments/{quote(name, safe='')}",
        "html_url": f"{world.url}/{first.repository.full_name}/deployments?environment={quote(name, safe='')}",
        "created_at": timestamp(first.created_at),
        "updated_at": timestamp(first.created_at),
        "protection_rules": [],
        "deployment_branch_policy": None,
    }


def _head_commit(repository: Repository, sha: str) -> Json | None:
    """None if a force push left no trace of it."""
    if repository.git.resolve(sha) != sha:
        return None
    found = repository.git.commit(sha)
    return {
        "id": found.sha,
        "tree_id": found.tree,
        "message": found.message,
        "timestamp": timestamp(found.committer_date),
        "author": {"name": found.author_name, "email": found.author_email},
        "committer": {"name": found.committer_name, "email": found.committer_email},
    }


def workflow_run(world: World, found: WorkflowRun) -> Json:
    repository = found.repository
    url = f"{world.api_url}/repos/{repository.full_name}/actions/runs/{found.id}"
    return {
        **copy(found, "id name head_branch head_sha event status conclusion created_at updated_at"),
        **copy(found, "run_attempt"),
        "node_id": f"WFR_{found.id}",
        "display_title": found.title or found.name,
        "path": found.path or f".github/workflows/{found.name.lower()}.yml",
        "run_number": 1,
        "workflow_id": repository.id,
        "url": url,
        "html_url": f"{world.url}/{repository.full_name}/actions/runs/{found.id}",
        "check_suite_id": found.suite.id if found.suite else found.id,
        "pull_requests": _pulls(world, found.suite) if found.suite else [],
        "jobs_url": f"{url}/jobs",
        "logs_url": f"{url}/logs",
        "artifacts_url": f"{url}/artifacts",
        "head_commit": _head_commit(repository, found.head_sha),
        "repository": repository_json.repository(world, repository),
        "head_repository": repository_json.repository(world, repository),
    }


def workflow_job(world: World, run: WorkflowRun, found: WorkflowJob) -> Json:
    check = found.check
    url = f"{world.api_url}/repos/{run.repository.full_name}"
    steps = [("Set up job", "success"), (f"Run {check.name}", check.conclusion), ("Complete job", "success")]
    return {
        **copy(check, "id status conclusion created_at started_at completed_at name"),
        "run_id": run.id,
        "workflow_name": run.name,
        "head_branch": run.head_branch,
        "run_url": f"{url}/actions/runs/{run.id}",
        "run_attempt": found.attempt,
        "node_id": f"CR_{check.id}",
        "head_sha": run.head_sha,
        "url": f"{url}/actions/jobs/{check.id}",
        "html_url": f"{world.url}/{run.repository.full_name}/actions/runs/{run.id}/job/{check.id}",
        "steps": [
            {"name": name, "status": "completed", "conclusion": conclusion, "number": number}
            for number, (name, conclusion) in enumerate(steps, 1)
            if check.conclusion is not None
        ],
        "check_run_url": f"{url}/check-runs/{check.id}",
        "labels": ["ubuntu-latest"],
        "runner_id": 1,
        "runner_name": "GitHub Actions 1",
        "runner_group_id": 2,
        "runner_group_name": "GitHub Actions",
    }
