"""What follows when a branch moves: push events, check suites, and pull requests brought up to date."""

from __future__ import annotations

from collections.abc import Sequence

from simulator import check_runs, pull_requests
from simulator.errors import Refusal
from simulator.events import Actor, emit
from simulator.gitstore import EMPTY_TREE, NO_COMMIT, Commit, CommitInfo
from simulator.json import repositories as repository_json
from simulator.state import Account, Activity, Json, PullRequest, Repository, World

PUSH_COMMITS = 2048


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
    new = [] if deleted or not start else repository.git.commits_between(start, after)
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
