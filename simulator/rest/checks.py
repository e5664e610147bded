"""Checks, statuses, and what protects a branch, over REST."""

from __future__ import annotations

from simulator import branch_protection, check_runs
from simulator.errors import Refusal, not_found
from simulator.http import Answer, Call, Route
from simulator.json import checks as check_json
from simulator.json import protection as protection_json
from simulator.state import CheckRun, CheckSuite, Repository


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
]
