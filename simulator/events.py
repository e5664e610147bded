"""Tells the installations of a repository what happened there, in the shape of GitHub's webhooks."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.json import checks as check_json
from simulator.json import pulls as pull_json
from simulator.json import repositories as repository_json
from simulator.state import (
    Account,
    App,
    CheckRun,
    CheckSuite,
    Installation,
    Issue,
    Json,
    PullRequest,
    Repository,
    World,
)


@dataclass(frozen=True)
class Actor:
    """Who does something: a person, or an App through its bot account."""

    account: Account
    app: App | None = None


def emit(
    world: World, event: str, action: str | None, repository: Repository, sender: Account, **fields: object
) -> None:
    installation = world.installation_of(repository)
    if installation is None or installation.suspended_at is not None:
        return
    payload: Json = {**({"action": action} if action else {}), **fields}
    payload["repository"] = repository_json.repository(world, repository)
    if event == "push":  # there it is a number
        payload["repository"]["pushed_at"] = int(world.now().timestamp())
    if repository.owner.type == "Organization":
        payload["organization"] = repository_json.organization(world, repository.owner)
    payload["sender"] = repository_json.account(world, sender)
    payload["installation"] = {"id": installation.id, "node_id": f"MDIz{installation.id}"}
    world.hooks.send(event, payload, installation, repository)


def emit_pull(world: World, action: str, pull: PullRequest, sender: Account, **fields: object) -> None:
    shape = pull_json.full_pull(world, pull)
    emit(world, "pull_request", action, pull.repository, sender, number=pull.number, pull_request=shape, **fields)


def emit_issue(world: World, action: str, issue: Issue, sender: Account, **fields: object) -> None:
    emit(world, "issues", action, issue.repository, sender, issue=repository_json.issue(world, issue), **fields)


def emit_check_run(world: World, action: str, run: CheckRun, sender: Account, **fields: object) -> None:
    shape = check_json.check_run(world, run)
    shape["check_suite"] = check_json.check_suite(world, run.suite)
    emit(world, "check_run", action, run.repository, sender, check_run=shape, **fields)


def emit_check_suite(world: World, action: str, suite: CheckSuite, sender: Account) -> None:
    shape = check_json.check_suite(world, suite)
    emit(world, "check_suite", action, suite.repository, sender, check_suite=shape)


def emit_installation(world: World, action: str, installation: Installation, sender: Account) -> None:
    payload: Json = {
        "action": action,
        "installation": repository_json.installation(world, installation),
        "sender": repository_json.account(world, sender),
    }
    if action in ("created", "deleted", "suspend", "unsuspend"):
        payload["repositories"] = [
            repository_json.brief_repository(item) for item in installation.repositories.values()
        ]
        payload["requester"] = None
    world.hooks.send("installation", payload, installation, None)


def emit_selection(
    world: World, installation: Installation, sender: Account, added: list[Repository], removed: list[Repository]
) -> None:
    payload: Json = {
        "action": "added" if added else "removed",
        "installation": repository_json.installation(world, installation),
        "repository_selection": "all" if installation.has_all else "selected",
        "repositories_added": [repository_json.brief_repository(item) for item in added],
        "repositories_removed": [repository_json.brief_repository(item) for item in removed],
        "requester": None,
        "sender": repository_json.account(world, sender),
    }
    world.hooks.send("installation_repositories", payload, installation, None)
