"""Branch protection and rulesets: how GitHub shows them, and whether they allow a merge."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from typing import Any

from simulator import check_runs, pull_json, repository_json
from simulator.errors import Refusal, malformed
from simulator.state import BranchRules, CommitStatus, Json, PullRequest, Repository, Review, World, copy, timestamp
from simulator.webhooks import Actor, emit

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


STATES = ("error", "failure", "pending", "success")
GREEN = ("success", "neutral", "skipped")
_METHODS = {"merge": "Merge commits", "squash": "Squash merges", "rebase": "Rebase merges"}


def report_status(world: World, repository: Repository, by: Actor, sha: str, body: Json) -> CommitStatus:
    """A commit status: of each context the newest counts."""
    state, context = body.get("state"), body.get("context") or "default"
    if state not in STATES:
        raise malformed(f"{state} is not a member of {', '.join(STATES)}.")
    if len(sha) != 40 or repository.git.resolve(sha) != sha:
        raise Refusal(422, f"No commit found for SHA: {sha}")
    described, target = body.get("description"), body.get("target_url")
    status = CommitStatus(world.next_id(), sha, str(context), state, by.account, world.now(), described, target)
    repository.statuses.append(status)
    emit(world, "status", None, repository, by.account, **status_event(world, repository, status))
    return status


def newest_statuses(repository: Repository, sha: str) -> list[CommitStatus]:
    return list({status.context: status for status in repository.statuses if status.sha == sha}.values())


def refuse_unless_allowed(world: World, pull: PullRequest, method: str) -> None:
    """:raises Refusal: a setting or a rule forbids this merge, in GitHub's words."""
    rules = pull.repository.rules.get(pull.base_ref, [])
    ways = [pull.repository.merge_methods, *(rule.methods for rule in rules if rule.methods)]
    if any(method not in allowed for allowed in ways):
        raise Refusal(405, f"{_METHODS.get(method, method)} are not allowed on this repository.")
    if method == "merge" and any(rule.linear for rule in rules):
        raise Refusal(405, "This branch must not contain merge commits.")
    for rule in rules:
        missing = list_missing_for(world, pull, rule)
        if rule.queue:
            missing.append("Changes must be made through the merge queue")
        if missing:
            heading = "Repository rule violations found\n\n" if rule.ruleset else ""
            raise Refusal(405, heading + "\n\n".join(missing))


def list_missing_for(world: World, pull: PullRequest, rule: BranchRules) -> list[str]:
    """What the pull request lacks, in GitHub's words."""
    missing = _list_missing_checks(world, pull, rule.checks)
    if rule.approvals and _approvals(pull) < rule.approvals:
        reviews = "review is" if rule.approvals == 1 else "reviews are"
        missing.append(f"At least {rule.approvals} approving {reviews} required by reviewers with write access.")
    return missing


def list_latest_reviews(pull: PullRequest) -> list[Review]:
    """Of each reviewer the last word: an approval, or changes requested. Comments change nothing."""
    decided = [one for one in pull.reviews if one.state in ("APPROVED", "CHANGES_REQUESTED", "DISMISSED")]
    last = {one.user.id: one for one in decided}
    return [one for one in last.values() if one.state != "DISMISSED"]


def dismiss_stale(pull: PullRequest) -> None:
    """A push makes approvals void where the branch asks for that. Otherwise they count for whatever comes."""
    if any(rule.dismisses_stale for rule in pull.repository.rules.get(pull.base_ref, [])):
        for review in pull.reviews:
            if review.state == "APPROVED":
                review.state = "DISMISSED"


def _approvals(pull: PullRequest) -> int:
    """Approvals that count, none as long as somebody who counts requests changes."""
    counting = [one for one in list_latest_reviews(pull) if _counts(pull, one)]
    if any(one.state == "CHANGES_REQUESTED" for one in counting):
        return 0
    return len(counting)


def _counts(pull: PullRequest, review: Review) -> bool:
    return review.user.type == "Bot" or pull.repository.allows(review.user, "write")


def _list_missing_checks(world: World, pull: PullRequest, required: Mapping[str, int | None]) -> list[str]:
    states = {name: _state(world, pull, name, app_id) for name, app_id in required.items()}
    unmet = {name: state for name, state in states.items() if state != "successful"}
    if len(unmet) > 1:
        return [f"{len(unmet)} of {len(required)} required status checks are expected."]
    return [f'Required status check "{name}" is {state}.' for name, state in unmet.items()]


def _state(world: World, pull: PullRequest, name: str, app_id: int | None) -> str:
    runs = check_runs.runs_on(world, pull.repository, pull.head_sha)
    latest: dict[int, Any] = {run.app.id: run.conclusion for run in runs if run.name == name}
    told = [conclusion for app, conclusion in latest.items() if app_id in (None, app)]
    told += [
        None if status.state == "pending" else status.state
        for status in newest_statuses(pull.repository, pull.head_sha)
        if status.context == name
    ]
    if not told:
        return "expected"
    if None in told:
        return "pending"
    return "successful" if all(conclusion in GREEN for conclusion in told) else "failing"


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
