"""Branches and merge queues: what a push moves, and how a pull request is tested as it would be merged, and merged."""

from __future__ import annotations

from collections.abc import Sequence

from simulator import branch_protection, check_runs, pull_requests, repository_json
from simulator.errors import Refusal
from simulator.gitstore import EMPTY_TREE, NO_COMMIT, Commit, CommitInfo
from simulator.state import Account, Activity, Json, PullRequest, Repository, World
from simulator.webhooks import Actor, emit, emit_pull

PUSH_COMMITS = 2048


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
    move_branch(world, pull.repository, queue, pull.base_ref, merged, "merge_queue_merge")
    return merged


def commit_files(
    world: World,
    repository: Repository,
    by: Actor,
    branch: str,
    commits: Sequence[Commit],
    base: str | None = None,
    force: bool = False,
) -> str:
    """Write commits on top of a branch (with force: on top of `base` instead) and return the new head."""
    before = repository.git.branch(branch)
    start = before if before and not force else _find_start(repository, base)
    dated = [Commit(c.message, c.files, c.author, c.date or world.now()) for c in commits]
    repository.git.write(branch, dated, start, by.account.signature)
    after = repository.git.branch(branch) or NO_COMMIT
    follow_branch(world, repository, by.account, branch, before or NO_COMMIT, after)
    return after


def _find_start(repository: Repository, base: str | None) -> str | None:
    start = repository.git.resolve(base or repository.default_branch)
    if start is None and base is not None:
        raise Refusal(422, f"No commit found for {base}")
    return start


def move_branch(
    world: World, repository: Repository, by: Actor, branch: str, sha: str | None, activity: str = "push"
) -> None:
    """Point a branch elsewhere, or delete it."""
    before = repository.git.branch(branch) or NO_COMMIT
    if sha is None:
        repository.git.delete_ref(f"refs/heads/{branch}")
    else:
        repository.git.set_ref(f"refs/heads/{branch}", sha)
    follow_branch(world, repository, by.account, branch, before, sha or NO_COMMIT, activity)


def update_pull(world: World, pull: PullRequest, by: Actor) -> str:
    """The button *Update branch*: merge the base into the head's branch."""
    repository, base = pull.head_repository, pull.repository.git.branch(pull.base_ref)
    if repository is None or base is None:
        raise Refusal(422, "There is no branch to update.")
    merged = pull.repository.git.merge_tree(pull.head_sha, base)
    if not merged.clean:
        raise Refusal(422, "merge conflict between base and head")
    message = f"Merge branch '{pull.base_ref}' into {pull.head_ref}"
    sha = repository.git.commit_tree(merged.tree, [pull.head_sha, base], message, by.account.signature, world.now())
    move_branch(world, repository, by, pull.head_ref, sha)
    return sha


def _note_activity(
    world: World, repository: Repository, who: Account, branch: str, before: str, after: str, activity: str
) -> Activity:
    """What the list of activities of a repository shows."""
    if before == NO_COMMIT:
        kind = "branch_creation"
    elif after == NO_COMMIT:
        kind = "branch_deletion"
    else:
        kind = activity if repository.git.is_ancestor(before, after) else "force_push"
    return Activity(world.next_id(), f"refs/heads/{branch}", before, after, kind, who, world.now())


def follow_branch(
    world: World,
    repository: Repository,
    who: Account,
    branch: str,
    before: str,
    after: str,
    activity: str = "push",
) -> None:
    if before == after:
        return
    repository.activities.append(_note_activity(world, repository, who, branch, before, after, activity))
    _announce_push(world, repository, who, branch, before, after)
    if after != NO_COMMIT and world.installation_of(repository):
        check_runs.open_suite(world, repository, after, branch, before, who)
    for pull in world.all_pulls():
        if pull.state != "open":
            continue
        if pull.head_repository is repository and pull.head_ref == branch:
            _follow_head(world, pull, who, after)
        elif pull.repository is repository and pull.base_ref == branch and after != NO_COMMIT:
            _follow_base(world, pull, who, before, after)


def _follow_head(world: World, pull: PullRequest, who: Account, after: str) -> None:
    if after == NO_COMMIT:
        pull_requests.close(world, pull, Actor(who))
    else:
        pull_requests.synchronize(world, pull, Actor(who), after)


def _follow_base(world: World, pull: PullRequest, who: Account, before: str, after: str) -> None:
    """A head that has become part of the base counts as merged."""
    if pull.repository.git.is_ancestor(pull.head_sha, after):
        pull_requests.mark_merged(world, pull, Actor(who), after, before)


def _announce_push(world: World, repository: Repository, who: Account, branch: str, before: str, after: str) -> None:
    created, deleted = before == NO_COMMIT, after == NO_COMMIT
    start = repository.git.branch(repository.default_branch) if created else before
    new: list[CommitInfo] = [] if deleted or not start else repository.git.commits_between(start, after)
    forced = not created and not deleted and not repository.git.is_ancestor(before, after)
    commits = [_push_commit(world, repository, commit) for commit in new[:PUSH_COMMITS]]
    head = None if deleted else _push_commit(world, repository, repository.git.commit(after))
    emit(
        world,
        "push",
        None,
        repository,
        who,
        ref=f"refs/heads/{branch}",
        before=before,
        after=after,
        created=created,
        deleted=deleted,
        forced=forced,
        base_ref=None,
        compare=f"{world.url}/{repository.full_name}/compare/{before[:12]}...{after[:12]}",
        commits=commits,
        head_commit=head,
        pusher={"name": who.login, "email": who.email},
    )


def _push_commit(world: World, repository: Repository, commit: CommitInfo) -> Json:
    parent = commit.parents[0] if commit.parents else EMPTY_TREE
    changes = repository.git.diff(parent, commit.sha)
    touched = {
        status: [change.path for change in changes if change.status == status] for status in ("added", "removed")
    }
    return {
        "id": commit.sha,
        "tree_id": commit.tree,
        "distinct": True,
        "message": commit.message,
        "timestamp": repository_json.timestamp(commit.committer_date),
        "url": f"{world.url}/{repository.full_name}/commit/{commit.sha}",
        "author": {"name": commit.author_name, "email": commit.author_email},
        "committer": {"name": commit.committer_name, "email": commit.committer_email},
        **touched,
        "modified": [change.path for change in changes if change.status not in ("added", "removed")],
    }


def merge_pull(
    world: World,
    pull: PullRequest,
    by: Actor,
    method: str = "merge",
    sha: str | None = None,
    message: str | None = None,
) -> str:
    merged = pull_requests.merge(world, pull, by, method, sha, message)
    onto = pull.repository.git.branch(pull.base_ref) or pull.base_sha
    pull_requests.mark_merged(world, pull, by, merged, onto)
    move_branch(world, pull.repository, by, pull.base_ref, merged, "pr_merge")
    return merged
