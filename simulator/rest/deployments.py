"""Deployments, their statuses and the environments of a repository over REST."""

from __future__ import annotations

from simulator import deployments
from simulator.errors import not_found
from simulator.http import Answer, Call, Route
from simulator.json import checks as check_json
from simulator.state import Deployment


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
    Route("POST", f"{_REPO}/deployments", create_deployment),
    Route("GET", f"{_REPO}/deployments", list_deployments),
    Route("GET", f"{_REPO}/deployments/{{id}}", show_deployment),
    Route("POST", f"{_REPO}/deployments/{{id}}/statuses", create_deployment_status),
    Route("GET", f"{_REPO}/deployments/{{id}}/statuses", list_deployment_statuses),
    Route("GET", f"{_REPO}/deployments/{{id}}/statuses/{{number}}", show_deployment_status),
    Route("GET", f"{_REPO}/environments", list_environments),
]
