"""Branches with their protection, the rules for a branch, and commit statuses over REST."""

from __future__ import annotations

from simulator import branch_protection
from simulator.errors import Refusal, not_found
from simulator.http import Answer, Call, Route
from simulator.json import protection as protection_json
from simulator.state import Repository


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
ROUTES = [
    Route("GET", f"{_REPO}/branches", list_branches),
    Route("GET", f"{_REPO}/branches/{{branch+}}", show_branch),
    Route("GET", f"{_REPO}/rules/branches/{{branch+}}", list_rules),
    Route("GET", f"{_REPO}/rulesets/{{id}}", show_ruleset),
    Route("POST", f"{_REPO}/statuses/{{sha}}", create_status),
    Route("GET", f"{_REPO}/commits/{{ref+}}/statuses", list_statuses),
    Route("GET", f"{_REPO}/commits/{{ref+}}/status", show_combined_status),
]
