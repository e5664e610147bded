"""Records deployments and their statuses."""

from __future__ import annotations

from typing import cast

from simulator import branch_protection, branches, check_json, check_runs
from simulator.branch_protection import GREEN
from simulator.errors import Refusal, invalid, malformed
from simulator.state import Account, Deployment, DeploymentStatus, Json, Repository, WorkflowRun, World
from simulator.webhooks import Actor, emit

STATES = ("error", "failure", "inactive", "in_progress", "queued", "pending", "success")
DESCRIPTION_LIMIT = 140
_UNFINISHED = "pending"


def create(world: World, repository: Repository, by: Actor, body: Json) -> Deployment | str:
    """A deployment, or what GitHub merged instead: then the request is to be sent again.

    https://docs.github.com/rest/deployments/deployments#create-a-deployment
    """
    ref = str(body.get("ref") or "")
    sha = repository.git.resolve(ref) if ref else None
    if sha is None:
        raise Refusal(422, f"No ref found for: {ref}")
    _check_description("Deployment", body)
    if body.get("auto_merge", True):
        merged = _merge_default_branch(world, repository, by, ref, sha)
        if merged:
            return merged
    _refuse_unless_green(world, repository, ref, sha, body.get("required_contexts"))
    environment = str(body.get("environment") or "production")
    deployment = Deployment(
        world.next_id(),
        repository,
        sha,
        ref,
        str(body.get("task") or "deploy"),
        environment,
        body.get("description"),
        body.get("payload", ""),
        by.account,
        world.now(),
        transient=bool(body.get("transient_environment", False)),
        production=bool(body.get("production_environment", environment == "production")),
    )
    repository.deployments.append(deployment)
    emit(world, "deployment", "created", repository, by.account, deployment=check_json.deployment(world, deployment))
    return deployment


def _merge_default_branch(world: World, repository: Repository, by: Actor, ref: str, sha: str) -> str:
    """Merge the default branch into a branch that is behind it."""
    git, default = repository.git, repository.default_branch
    head = git.branch(default)
    if git.branch(ref) is None or head is None or git.is_ancestor(head, sha):
        return ""
    result = git.merge_tree(sha, head)
    if not result.clean:
        raise Refusal(409, f"Conflict merging {default} into {ref}.")
    said = f"Auto-merged {default} into {ref} on deployment."
    merge = git.commit_tree(result.tree, [sha, head], said, by.account.signature, world.now())
    branches.move_branch(world, repository, by, ref, merge)
    return said


def _refuse_unless_green(world: World, repository: Repository, ref: str, sha: str, required: object) -> None:
    """By default every check and status of the commit must have succeeded, and with a list those in it."""
    if required is not None and not isinstance(required, list):
        raise malformed(f"{required} is not an array.")
    states = _states(world, repository, sha)
    names = list(states) if required is None else [str(name) for name in cast(list[object], required)]
    told = [{"context": name, "state": states.get(name, _UNFINISHED)} for name in names]
    if any(one["state"] not in GREEN for one in told):
        error = {"contexts": told, "resource": "Deployment", "field": "required_contexts", "code": "invalid"}
        raise Refusal(409, f"Conflict: Commit status checks failed for {ref}.", [error])


def _states(world: World, repository: Repository, sha: str) -> dict[str, str]:
    """By name, what the newest check run or status says; of several Apps the one that is not well."""
    newest = {(run.app.id, run.name): run for run in check_runs.runs_on(world, repository, sha)}
    told = [(run.name, run.conclusion or _UNFINISHED) for run in newest.values()]
    told += [(status.context, status.state) for status in branch_protection.newest_statuses(repository, sha)]
    return dict(sorted(told, key=lambda one: one[1] not in GREEN))


def _check_description(resource: str, body: Json) -> None:
    if len(str(body.get("description") or "")) > DESCRIPTION_LIMIT:
        said = f"description is too long (maximum is {DESCRIPTION_LIMIT} characters)"
        raise invalid(resource, "description", "custom", said)


def add_status(world: World, deployment: Deployment, by: Actor, body: Json) -> DeploymentStatus:
    """https://docs.github.com/rest/deployments/statuses#create-a-deployment-status"""
    state = body.get("state")
    if state not in STATES:
        raise malformed(f"{state} is not a member of {', '.join(STATES)}.")
    _check_description("DeploymentStatus", body)
    log_url = body.get("log_url") or body.get("target_url")
    texts = [str(text or "") for text in (body.get("description"), body.get("environment_url"), log_url)]
    deployment.environment = str(body.get("environment") or deployment.environment)
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
    if state == "success" and body.get("auto_inactive", True):
        _retire_earlier(world, deployment, by)
    return status


def _retire_earlier(world: World, newest: Deployment, by: Actor) -> None:
    """Those before in the same environment are inactive now, but for what is transient or production."""
    for one in newest.repository.deployments:
        same = one.id < newest.id and one.environment == newest.environment
        if same and one.state == "success" and not one.transient and not one.production:
            one.statuses.append(DeploymentStatus(world.next_id(), "inactive", by.account, world.now(), "", "", ""))


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
