"""GitHub's JSON shapes of pull requests, their files, commits and reviews."""

from __future__ import annotations

from simulator import repository_json
from simulator.diff import FileDiff
from simulator.gitstore import CommitInfo
from simulator.state import (
    Account,
    Json,
    PullRequest,
    Repository,
    Review,
    ReviewComment,
    Thread,
    World,
    copy,
    timestamp,
)

PATCH_LINES = 20_000
PATCH_BYTES = 500_000
_SIGNED = {"verified": True, "reason": "valid", "signature": "simulated", "payload": "", "verified_at": None}
_UNSIGNED = {"verified": False, "reason": "unsigned", "signature": None, "payload": None, "verified_at": None}


def pull_files(pull: PullRequest) -> list[FileDiff]:
    """The files the pull request changes since its merge base."""
    return files_at(pull, pull.head_sha)


def files_at(pull: PullRequest, head: str) -> list[FileDiff]:
    git = pull.repository.git
    base = git.merge_base(pull.base_tip, head)
    return [] if base is None else git.diff(base, head)


def _end(world: World, repository: Repository | None, owner: str, ref: str, sha: str) -> Json:
    return {
        "label": f"{owner}:{ref}",
        "ref": ref,
        "sha": sha,
        "user": repository_json.account(world, world.account(owner)),
        "repo": None if repository is None else repository_json.repository(world, repository),
    }


def brief_pull(world: World, pull: PullRequest) -> Json:
    """As in lists: without counts and mergeability."""
    url = f"{world.api_url}/repos/{pull.repository.full_name}/pulls/{pull.number}"
    issue = repository_json.issue(world, pull)
    same = ("id", "node_id", "html_url", "number", "state", "locked", "title", "user", "body", "labels", "milestone")
    dates = ("created_at", "updated_at", "closed_at", "assignee", "assignees", "active_lock_reason", "draft")
    return {
        "url": url,
        **{key: issue[key] for key in (*same, *dates)},
        "diff_url": f"{issue['html_url']}.diff",
        "patch_url": f"{issue['html_url']}.patch",
        "issue_url": issue["url"],
        "commits_url": f"{url}/commits",
        "review_comments_url": f"{url}/comments",
        "comments_url": f"{issue['url']}/comments",
        "statuses_url": f"{world.api_url}/repos/{pull.repository.full_name}/statuses/{pull.head_sha}",
        "merged_at": timestamp(pull.merged_at),
        "merge_commit_sha": pull.merge_commit_sha,
        "requested_reviewers": [repository_json.account(world, who) for who in pull.reviewers],
        "requested_teams": [],
        "head": _end(world, pull.head_repository, pull.head_owner.login, pull.head_ref, pull.head_sha),
        "base": _end(world, pull.repository, pull.repository.owner.login, pull.base_ref, pull.base_sha),
        "author_association": repository_json.association(world, pull.repository, pull.user, pull=True),
        "auto_merge": None,
    }


def full_pull(world: World, pull: PullRequest, mergeable: bool | None = None) -> Json:
    files = pull_files(pull)
    state = {None: "unknown", True: "clean", False: "dirty"}[mergeable]
    return {
        **brief_pull(world, pull),
        "merged": pull.merged_at is not None,
        "mergeable": mergeable,
        "rebaseable": False if mergeable is False else None,
        "mergeable_state": "draft" if pull.draft and mergeable else state,
        "merged_by": repository_json.account(world, pull.merged_by) if pull.merged_by else None,
        "comments": len(pull.comments),
        "review_comments": len(pull.review_comments()),
        "maintainer_can_modify": pull.from_fork,
        "commits": len(pull.repository.git.commits_between(pull.base_tip, pull.head_sha)),
        "additions": sum(file.additions for file in files),
        "deletions": sum(file.deletions for file in files),
        "changed_files": len(files),
    }


def file(world: World, repository: Repository, sha: str, found: FileDiff) -> Json:
    html = f"{world.url}/{repository.full_name}"
    shape: Json = {
        **copy(found, "sha status additions deletions"),
        "filename": found.path,
        "changes": found.additions + found.deletions,
        "blob_url": f"{html}/blob/{sha}/{found.path}",
        "raw_url": f"{html}/raw/{sha}/{found.path}",
        "contents_url": f"{world.api_url}/repos/{repository.full_name}/contents/{found.path}?ref={sha}",
    }
    if found.status in ("renamed", "copied"):
        shape["previous_filename"] = found.old_path
    # Binary and very large files come without a patch.
    if found.patch and len(found.patch) <= PATCH_BYTES and len(found.lines) <= PATCH_LINES:
        shape["patch"] = found.patch
    return shape


def _person(name: str, email: str, date: str | None) -> Json:
    return {"name": name, "email": email, "date": date}


def _account(world: World, email: str) -> Account | None:
    """Whose address for commits it is; the simulation's host does not matter."""
    name, _, host = email.partition("@")
    known = host.startswith("users.noreply.")
    return next((who for who in world.accounts.values() if known and who.email.partition("@")[0] == name), None)


def commit(world: World, repository: Repository, found: CommitInfo) -> Json:
    url = f"{world.api_url}/repos/{repository.full_name}"
    author, committer = _account(world, found.author_email), _account(world, found.committer_email)
    return {
        "sha": found.sha,
        "node_id": f"C_{found.sha}",
        "commit": {
            "author": _person(found.author_name, found.author_email, timestamp(found.author_date)),
            "committer": _person(found.committer_name, found.committer_email, timestamp(found.committer_date)),
            "message": found.message,
            "tree": {"sha": found.tree, "url": f"{url}/git/trees/{found.tree}"},
            "url": f"{url}/git/commits/{found.sha}",
            "comment_count": 0,
            "verification": dict(_SIGNED if repository.git.is_signed(found.sha) else _UNSIGNED),
        },
        "url": f"{url}/commits/{found.sha}",
        "html_url": f"{world.url}/{repository.full_name}/commit/{found.sha}",
        "author": repository_json.account(world, author) if author else None,
        "committer": repository_json.account(world, committer) if committer else None,
        "parents": [{"sha": sha, "url": f"{url}/commits/{sha}"} for sha in found.parents],
    }


def review(world: World, found: Review) -> Json:
    pull = found.pull
    html = f"{world.url}/{pull.repository.full_name}/pull/{pull.number}#pullrequestreview-{found.id}"
    pull_url = f"{world.api_url}/repos/{pull.repository.full_name}/pulls/{pull.number}"
    return {
        **copy(found, "id body state commit_id"),
        "node_id": f"PRR_{found.id}",
        "user": repository_json.account(world, found.user),
        "html_url": html,
        "pull_request_url": pull_url,
        "author_association": repository_json.association(world, pull.repository, found.user),
        "_links": {"html": {"href": html}, "pull_request": {"href": pull_url}},
        **({"submitted_at": timestamp(found.submitted_at)} if found.submitted_at else {}),
    }


def review_comment(world: World, found: ReviewComment) -> Json:
    pull = found.pull
    repository_url = f"{world.api_url}/repos/{pull.repository.full_name}"
    url = f"{repository_url}/pulls/comments/{found.id}"
    pull_url = f"{repository_url}/pulls/{pull.number}"
    html = f"{world.url}/{pull.repository.full_name}/pull/{pull.number}#discussion_r{found.id}"
    shape: Json = {
        "url": url,
        "pull_request_review_id": found.review.id,
        **copy(found, "id diff_hunk path commit_id original_commit_id body created_at updated_at"),
        **copy(found, "start_line original_start_line start_side line original_line side"),
        **copy(found, "original_position position subject_type"),
        "node_id": f"PRRC_{found.id}",
        "user": repository_json.account(world, found.user),
        "html_url": html,
        "pull_request_url": pull_url,
        "author_association": repository_json.association(world, pull.repository, found.user),
        "_links": {"self": {"href": url}, "html": {"href": html}, "pull_request": {"href": pull_url}},
        "reactions": repository_json.reactions(url, found.reactions),
        "performed_via_github_app": repository_json.app(world, found.app) if found.app else None,
    }
    if found.in_reply_to is not None:
        shape["in_reply_to_id"] = found.in_reply_to
    return shape


def thread(world: World, found: Thread) -> Json:
    return {
        "node_id": found.node_id,
        "comments": [review_comment(world, comment) for comment in found.comments],
    }
