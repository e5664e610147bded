"""Records deployments and their statuses."""

from __future__ import annotations

from simulator.errors import Refusal, malformed
from simulator.events import Actor, emit
from simulator.json import checks as check_json
from simulator.state import Account, Deployment, DeploymentStatus, Json, Repository, WorkflowRun, World

STATES = ("error", "failure", "inactive", "in_progress", "queued", "pending", "success")


def create(world: World, repository: Repository, by: Actor, body: Json) -> Deployment:
    ref = str(body.get("ref") or "")
    sha = repository.git.resolve(ref) if ref else None
    if sha is None:
        raise Refusal(422, f"No ref found for: {ref}")
    deployment = Deployment(
        world.next_id(),
        repository,
        sha,
        ref,
        str(body.get("task", "deploy")),
        str(body.get("environment", "production")),
        body.get("description"),
        body.get("payload", {}),
        by.account,
        world.now(),
    )
    repository.deployments.append(deployment)
    emit(world, "deployment", "created", repository, by.account, deployment=check_json.deployment(world, deployment))
    return deployment


def add_status(world: World, deployment: Deployment, by: Actor, body: Json) -> DeploymentStatus:
    state = body.get("state")
    if state not in STATES:
        raise malformed(f"{state} is not a member of {', '.join(STATES)}.")
    texts = [str(body.get(key) or "") for key in ("description", "environment_url", "log_url")]
    status = DeploymentStatus(world.next_id(), str(state), by.account, world.now(), *texts)
    deployment.statuses.append(status)
    emit(
        world,
        "deployment_status",
        "created",
        deployment.repository,
        by.account,
        deployment=check_json.deployment(world, deployment),
        deployment_status=check_json.deployment_status(world, deployment, status),
    )
    return status


def report_workflow(
    world: World, repository: Repository, who: Account, sha: str, branch: str, name: str, conclusion: str | None
) -> WorkflowRun:
    """A workflow run of the repository's own, completed when it has a conclusion."""
    now, status = world.now(), "completed" if conclusion else "in_progress"
    run = WorkflowRun(world.next_id(), repository, name, sha, branch, "pull_request", status, conclusion, now, now)
    repository.workflow_runs.append(run)
    shape = check_json.workflow_run(world, run)
    workflow = {"id": repository.id, "name": name, "path": shape["path"], "state": "active"}
    action = "completed" if conclusion else "in_progress"
    emit(world, "workflow_run", action, repository, who, workflow_run=shape, workflow=workflow)
    return run
