"""Pull requests: opened, brought up to date, edited, closed, merged."""

from __future__ import annotations

import re

from simulator import branch_protection, diff_positions
from simulator.conversation import next_number, set_issue_state
from simulator.errors import Refusal, check_body, check_title, invalid, malformed
from simulator.state import Issue, PullRequest, Repository, World
from simulator.webhooks import Actor, emit_pull

_CLOSING = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+#(\d+)", re.IGNORECASE)


def open_pull(
    world: World,
    repository: Repository,
    by: Actor,
    *,
    head_repository: Repository,
    head: str,
    base: str,
    title: str,
    body: str | None = None,
    draft: bool = False,
) -> PullRequest:
    head_sha, base_sha = _ends(repository, head_repository, head, base)
    check_title("PullRequest", title)
    check_body("PullRequest", body, required=False)
    if draft and not repository.drafts:
        raise Refusal(422, "Draft pull requests are not supported in this repository.")
    _refuse_duplicate(repository, head_repository, head, base)
    now = world.now()
    pull = PullRequest(
        id=world.next_id(),
        number=next_number(repository),
        repository=repository,
        user=by.account,
        title=title,
        body=body,
        created_at=now,
        updated_at=now,
        app=by.app,
        base_ref=base,
        base_sha=base_sha,
        head_repository=head_repository,
        head_owner=head_repository.owner,
        head_ref=head,
        head_sha=head_sha,
        head_history=[head_sha],
        draft=draft,
    )
    repository.issues[pull.number] = pull
    repository.git.set_ref(f"refs/pull/{pull.number}/head", head_sha)
    emit_pull(world, "opened", pull, by.account)
    return pull


def _ends(repository: Repository, head_repository: Repository, head: str, base: str) -> tuple[str, str]:
    head_sha = head_repository.git.branch(head)
    base_sha = repository.git.branch(base)
    if head_sha is None:
        raise invalid("PullRequest", "head", "invalid")
    if base_sha is None:
        raise invalid("PullRequest", "base", "invalid")
    between = f"between {base} and {head}"
    if repository.git.merge_base(base_sha, head_sha) is None:
        raise invalid("PullRequest", "base", "custom", f"The history {between} is entirely different")
    if repository.git.is_ancestor(head_sha, base_sha):
        raise Refusal(
            422,
            "Validation Failed",
            [{"resource": "PullRequest", "code": "custom", "message": f"No commits {between}"}],
        )
    return head_sha, base_sha


def _refuse_duplicate(repository: Repository, head_repository: Repository, head: str, base: str) -> None:
    if any(pull.base_ref == base for pull in repository.open_pulls_from(head_repository, head)):
        label = f"{head_repository.owner.login}:{head}"
        error = {"resource": "PullRequest", "code": "custom", "message": f"A pull request already exists for {label}."}
        raise Refusal(422, "Validation Failed", [error])


def synchronize(world: World, pull: PullRequest, by: Actor, head_sha: str) -> None:
    before, pull.head_sha = pull.head_sha, head_sha
    pull.head_history.append(head_sha)
    pull.updated_at = world.now()
    pull.repository.git.set_ref(f"refs/pull/{pull.number}/head", head_sha)
    diff_positions.follow(pull, before, pull.base_tip)
    branch_protection.dismiss_stale(pull)
    emit_pull(world, "synchronize", pull, by.account, before=before, after=head_sha)


def edit_base(world: World, pull: PullRequest, by: Actor, base: str) -> None:
    sha = pull.repository.git.branch(base)
    if sha is None:
        raise invalid("PullRequest", "base", "invalid")
    changes = {"base": {"ref": {"from": pull.base_ref}, "sha": {"from": pull.base_sha}}}
    old_base, pull.base_ref, pull.base_sha = pull.base_tip, base, sha
    pull.updated_at = world.now()
    diff_positions.follow(pull, pull.head_sha, old_base)
    emit_pull(world, "edited", pull, by.account, changes=changes)


def set_draft(world: World, pull: PullRequest, by: Actor, draft: bool) -> None:
    if pull.draft != draft:
        pull.draft, pull.updated_at = draft, world.now()
        emit_pull(world, "converted_to_draft" if draft else "ready_for_review", pull, by.account)


def close(world: World, pull: PullRequest, by: Actor) -> None:
    if pull.state == "open":
        pull.state, pull.closed_at, pull.updated_at = "closed", world.now(), world.now()
        emit_pull(world, "closed", pull, by.account)


def reopen(world: World, pull: PullRequest, by: Actor) -> None:
    head = pull.head_repository.git.branch(pull.head_ref) if pull.head_repository else None
    if pull.merged_at or head is None:
        raise Refusal(
            422,
            "Validation Failed",
            [{"resource": "PullRequest", "code": "invalid", "field": "state", "message": "state cannot be changed."}],
        )
    if pull.state == "open":
        return
    pull.state, pull.closed_at, pull.updated_at = "open", None, world.now()
    if head != pull.head_sha:
        before, pull.head_sha = pull.head_sha, head
        pull.repository.git.set_ref(f"refs/pull/{pull.number}/head", head)
        pull.head_history.append(head)
        diff_positions.follow(pull, before, pull.base_tip)
    emit_pull(world, "reopened", pull, by.account)


def mergeable(pull: PullRequest) -> bool | None:
    """None when asked for the first time, as GitHub works it out in the background; then the answer."""
    base = pull.repository.git.branch(pull.base_ref)
    if pull.state == "closed" or base is None:
        return None
    if pull.mergeability != (base, pull.head_sha):
        pull.mergeability = (base, pull.head_sha)
        return None
    return pull.repository.git.merge_tree(base, pull.head_sha).clean


def merge(world: World, pull: PullRequest, by: Actor, method: str, sha: str | None, message: str | None) -> str:
    """Merge and return the SHA of the merge; the branch's push event follows by the caller."""
    git = pull.repository.git
    base = git.branch(pull.base_ref)
    if method not in ("merge", "squash", "rebase"):
        raise malformed(f"{method} is not a member of merge, squash, rebase.")
    if pull.state == "closed" or pull.draft or base is None:
        raise Refusal(405, "Pull Request is still a draft" if pull.draft else "Pull Request is not mergeable")
    if sha is not None and sha != pull.head_sha:
        raise Refusal(409, "Head branch was modified. Review and try the merge again.")
    result = git.merge_tree(base, pull.head_sha)
    if not result.clean:
        raise Refusal(405, "Pull Request is not mergeable")
    branch_protection.refuse_unless_allowed(world, pull, method)
    if method == "rebase":
        return _rebase(world, pull, base, by)
    parents = [base, pull.head_sha] if method == "merge" else [base]
    text = message or f"{pull.title} (#{pull.number})\n"
    return git.commit_tree(result.tree, parents, text, by.account.signature, world.now())


def _rebase(world: World, pull: PullRequest, base: str, by: Actor) -> str:
    """The pull request's commits, one by one on top of the base."""
    git, tip = pull.repository.git, base
    for commit in git.commits_between(base, pull.head_sha):
        # A commit that has the tip's tree and this one's parent makes that parent the base of the merge.
        beside = git.commit_tree(git.commit(tip).tree, commit.parents, "", by.account.signature, world.now())
        result = git.merge_tree(beside, commit.sha)
        if not result.clean or len(commit.parents) > 1:
            raise Refusal(405, "This branch can't be rebased")
        tip = git.commit_tree(result.tree, [tip], commit.message, by.account.signature, world.now())
    return tip


def has_brought(pull: PullRequest, sha: str) -> bool:
    """Whether a commit came into the base branch by a pull request."""
    onto, merged = pull.merged_onto, pull.merge_commit_sha
    if not (onto and merged and pull.merged_at):
        return False
    return any(commit.sha == sha for commit in pull.repository.git.commits_between(onto, merged))


def mark_merged(world: World, pull: PullRequest, by: Actor, sha: str, onto: str) -> None:
    """:param onto: the base branch right before."""
    pull.merged_onto = onto
    pull.state, pull.closed_at, pull.merged_at, pull.merged_by = "closed", world.now(), world.now(), by.account
    pull.merge_commit_sha, pull.updated_at = sha, world.now()
    emit_pull(world, "closed", pull, by.account)
    if pull.base_ref == pull.repository.default_branch:
        for issue in _list_closed_issues(pull):
            set_issue_state(world, issue, by, "closed")


def _list_closed_issues(pull: PullRequest) -> list[Issue]:
    """The issues a merged pull request's description closes."""
    numbers = [int(number) for number in _CLOSING.findall(pull.body or "")]
    found = [pull.repository.issues[number] for number in numbers if number in pull.repository.issues]
    return [issue for issue in found if not isinstance(issue, PullRequest)]
