"""Decides whether branch protection and rulesets allow a merge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator import check_runs
from simulator.errors import Refusal, malformed
from simulator.events import Actor, emit
from simulator.json import protection as protection_json
from simulator.state import BranchRules, CommitStatus, Json, PullRequest, Repository, Review, World

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
    emit(world, "status", None, repository, by.account, **protection_json.status_event(world, repository, status))
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
