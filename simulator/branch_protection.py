"""Decides whether branch protection and rulesets allow a merge, and merges what waits in a merge queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simulator import branches, check_runs, pull_requests
from simulator.errors import Refusal, malformed
from simulator.events import Actor, emit, emit_pull
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


def is_enabled(pull: PullRequest) -> bool:
    """Whether the base of a pull request has a merge queue."""
    return any(rule.queue for rule in pull.repository.rules.get(pull.base_ref, []))


def enqueue(world: World, pull: PullRequest, by: Actor, expected: str | None) -> None:
    """Put a pull request into the queue of its base.

    :param expected: its head; None for any.
    :raises Refusal: it may not be put there, in GitHub's words.
    """
    refusal = _find_refusal(world, pull, expected)
    if refusal is not None:
        raise Refusal(422, f"Pull request {refusal}")
    pull.queued_head = try_merge(world, pull)
    emit_pull(world, "enqueued", pull, by.account)


def _find_refusal(world: World, pull: PullRequest, expected: str | None) -> str | None:
    if not is_enabled(pull):
        return "The base branch requires no merge queue"
    if pull.queued_head is not None:
        return "is already in the queue"
    if expected is not None and expected != pull.head_sha:
        return "Head branch was modified. Review and try the merge again."
    if pull.state == "closed" or pull.draft or pull_requests.mergeable(pull) is False:
        return "is not mergeable"
    rules = pull.repository.rules[pull.base_ref]
    missing = [line for rule in rules for line in list_missing_for(world, pull, rule)]
    return "\n\n".join(missing) or None


def try_merge(world: World, pull: PullRequest) -> str:
    """Ask for the checks of what the queue would merge: `merge_group`; the SHA of this merge."""
    git, base = pull.repository.git, pull.repository.git.branch(pull.base_ref)
    if base is None:
        raise LookupError(f"{pull.base_ref} is gone")
    tree = git.merge_tree(base, pull.head_sha).tree
    message = f"Merge pull request #{pull.number}"
    sha = git.commit_tree(tree, [base, pull.head_sha], message, pull.user.signature, world.now())
    ref = f"refs/heads/gh-readonly-queue/{pull.base_ref}/pr-{pull.number}-{base}"
    git.set_ref(ref, sha)
    group: Json = {
        "head_sha": sha,
        "head_ref": ref,
        "base_sha": base,
        "base_ref": f"refs/heads/{pull.base_ref}",
        "head_commit": {"id": sha, "tree_id": tree, "message": message},
    }
    emit(world, "merge_group", "checks_requested", pull.repository, pull.user, merge_group=group)
    return sha


def take_out(world: World, pull: PullRequest, by: Actor, reason: str) -> None:
    """:param reason: GitHub's word, such as ``CI_FAILURE``."""
    pull.queued_head = None
    emit_pull(world, "dequeued", pull, by.account, reason=reason)


def merge(world: World, pull: PullRequest) -> str:
    """Merge what was tested, as the queue does once its checks are green; the merge's SHA."""
    merged = pull.queued_head
    if merged is None:
        raise LookupError(f"#{pull.number} is in no queue")
    queue = Actor(world.account("github-merge-queue[bot]", "Bot"))
    take_out(world, pull, queue, "MERGE")
    pull_requests.mark_merged(world, pull, queue, merged, pull.base_tip)
    branches.move_branch(world, pull.repository, queue, pull.base_ref, merged, "merge_queue_merge")
    return merged
