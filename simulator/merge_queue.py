"""Merge queues: a pull request is put in, tested as it would be merged, and merged or taken out."""

from __future__ import annotations

from simulator import branch_protection, branches, pull_requests
from simulator.errors import Refusal
from simulator.events import Actor, emit, emit_pull
from simulator.state import Json, PullRequest, World


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
    missing = [line for rule in rules for line in branch_protection.list_missing_for(world, pull, rule)]
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
