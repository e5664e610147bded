"""GitHub's JSON shapes of branches, their protection and rules, and of commit statuses."""

from __future__ import annotations

from fnmatch import fnmatchcase

from simulator.json import pulls as pull_json
from simulator.json import repositories as repository_json
from simulator.state import BranchRules, CommitStatus, Json, Repository, World, copy, timestamp

_QUEUE: Json = {
    "check_response_timeout_minutes": 60,
    "grouping_strategy": "ALLGREEN",
    "max_entries_to_build": 5,
    "max_entries_to_merge": 5,
    "merge_method": "MERGE",
    "min_entries_to_merge": 1,
    "min_entries_to_merge_wait_minutes": 5,
}
"""A merge queue's settings as GitHub sets them at first."""


def branch(world: World, repository: Repository, name: str, sha: str) -> Json:
    url = f"{world.api_url}/repos/{repository.full_name}/branches/{name}"
    html = f"{world.url}/{repository.full_name}/tree/{name}"
    return {
        "name": name,
        "commit": pull_json.commit(world, repository, repository.git.commit(sha)),
        "_links": {"self": url, "html": html},
        "protected": bool(repository.rules.get(name)),
        "protection": _protection(repository, name),
        "protection_url": f"{url}/protection",
    }


def _protection(repository: Repository, name: str) -> Json:
    """Branch protection as readers see it, without rulesets."""
    classic = [rule for rule in repository.rules.get(name, []) if not rule.ruleset]
    checks = {check: app for rule in classic for check, app in rule.checks.items()}
    required = {
        "enforcement_level": "everyone" if checks else "off",
        "contexts": list(checks),
        "checks": [{"context": check, "app_id": app} for check, app in checks.items()],
    }
    return {"enabled": bool(classic), "required_status_checks": required}


def rules(repository: Repository, name: str) -> list[Json]:
    """The active rules of all rulesets for the branch."""
    found = [rule for pattern, rules in repository.rules.items() if fnmatchcase(name, pattern) for rule in rules]
    rulesets = [rule for rule in found if rule.ruleset]
    source = {"ruleset_source_type": "Repository", "ruleset_source": repository.full_name}
    return [{**one, **source, "ruleset_id": rule.id} for rule in rulesets for one in _of_ruleset(rule)]


def ruleset(repository: Repository, pattern: str, rule: BranchRules) -> Json:
    """One ruleset, as an App sees it."""
    return {
        "id": rule.id,
        "name": f"rules for {pattern}",
        "target": "branch",
        "source_type": "Repository",
        "source": repository.full_name,
        "enforcement": "active",
        "current_user_can_bypass": "always" if rule.bypassed else "never",
        "conditions": {"ref_name": {"include": [f"refs/heads/{pattern}"], "exclude": []}},
        "rules": _of_ruleset(rule),
    }


def _of_ruleset(rule: BranchRules) -> list[Json]:
    shown: list[Json] = [{"type": "non_fast_forward"}]
    if rule.signed:
        shown.append({"type": "required_signatures"})
    if rule.linear:
        shown.append({"type": "required_linear_history"})
    if rule.checks:
        checks = [
            {"context": check} | ({"integration_id": app} if app is not None else {})
            for check, app in rule.checks.items()
        ]
        parameters = {"required_status_checks": checks, "strict_required_status_checks_policy": False}
        shown.append({"type": "required_status_checks", "parameters": parameters})
    if rule.queue:
        shown.append({"type": "merge_queue", "parameters": _QUEUE})
    if rule.approvals or rule.methods:
        shown.append({"type": "pull_request", "parameters": _pull_parameters(rule)})
    return shown


def _pull_parameters(rule: BranchRules) -> Json:
    return {
        "required_approving_review_count": rule.approvals,
        "dismiss_stale_reviews_on_push": rule.dismisses_stale,
        "require_code_owner_review": False,
        "require_last_push_approval": False,
        "required_review_thread_resolution": False,
        "allowed_merge_methods": sorted(rule.methods or {"merge", "squash", "rebase"}),
    }


def status(world: World, repository: Repository, found: CommitStatus) -> Json:
    return {**simple_status(world, repository, found), "creator": repository_json.account(world, found.creator)}


def status_event(world: World, repository: Repository, found: CommitStatus) -> Json:
    """What the webhook `status` says beside whom it is from."""
    kept = ("id", "target_url", "context", "description", "state", "created_at", "updated_at", "avatar_url")
    shown = simple_status(world, repository, found)
    at = [name.removeprefix("refs/heads/") for name, sha in repository.git.refs().items() if sha == found.sha]
    tip = {"sha": found.sha, "url": shown["url"]}
    return {
        **{name: shown[name] for name in kept},
        "sha": found.sha,
        "name": repository.full_name,
        "commit": pull_json.commit(world, repository, repository.git.commit(found.sha)),
        "branches": [{"name": name, "commit": tip, "protected": False} for name in at],
    }


def combined_status(world: World, repository: Repository, sha: str, found: list[CommitStatus]) -> Json:
    """All but the list itself, which comes in pages."""
    states = {status.state for status in found}
    bad = states & {"error", "failure"}
    state = "failure" if bad else "pending" if not found or "pending" in states else "success"
    url = f"{world.api_url}/repos/{repository.full_name}/commits/{sha}"
    return {
        "state": state,
        "sha": sha,
        "repository": repository_json.repository(world, repository),
        "commit_url": url,
        "url": f"{url}/status",
    }


def simple_status(world: World, repository: Repository, found: CommitStatus) -> Json:
    return {
        "url": f"{world.api_url}/repos/{repository.full_name}/statuses/{found.sha}",
        "avatar_url": f"{world.url}/avatars/u/{found.creator.id}",
        **copy(found, "id state description target_url context created_at"),
        "node_id": f"SC_{found.id}",
        "updated_at": timestamp(found.created_at),
    }
