"""What people do on GitHub, as verbs that change the state and send webhooks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simulator import (
    branches,
    check_runs,
    conversation,
    pull_requests,
    repository_json,
    reviews,
    webhooks,
)
from simulator.gitstore import Commit, FileContent, GitStore
from simulator.state import (
    Account,
    CheckRun,
    CheckSuite,
    Installation,
    Issue,
    IssueComment,
    Json,
    PullRequest,
    Repository,
    Review,
    ReviewComment,
    Role,
    Thread,
    World,
)
from simulator.webhooks import Actor

_SUGGESTION = re.compile(r"^(`{3,}|~{3,})suggestion[^\n]*\n(.*?)^\1", re.DOTALL | re.MULTILINE)


def create_repository(
    world: World, full_name: str, history: Sequence[Commit], private: bool, default_branch: str
) -> Repository:
    login, _, name = full_name.partition("/")
    owner = world.account(login, "Organization")
    identifier = next(world.small_ids)
    git = GitStore.create(world.data_dir / "repositories" / f"{identifier}.git", default_branch)
    repository = Repository(identifier, owner, name, private, default_branch, git, world.now())
    world.repositories[identifier] = repository
    dated = [Commit(c.message, c.files, c.author, c.date or world.now()) for c in history]
    git.write(default_branch, dated, None, owner.signature)
    return repository


def install(
    world: World, repositories: Sequence[Repository], permissions: Mapping[str, str] | None, has_all: bool = False
) -> Installation:
    owner = repositories[0].owner
    found = next((item for item in world.installations.values() if item.account is owner), None)
    if found is not None:
        added = [repository for repository in repositories if not found.covers(repository)]
        found.repositories |= {repository.id: repository for repository in added}
        webhooks.emit_selection(world, found, owner, added, [])
        return found
    granted = dict(permissions or world.app.permissions)
    installation = Installation(world.next_id(), world.app, owner, world.now(), granted)
    installation.repositories = {repository.id: repository for repository in repositories}
    installation.has_all = has_all
    world.installations[installation.id] = installation
    webhooks.emit_installation(world, "created", installation, owner)
    return installation


def transfer(world: World, repository: Repository, login: str) -> None:
    """The App follows only if the new owner has installed it too."""
    before, old_owner = repository.full_name, repository.owner
    installation = world.installation_of(repository)
    repository.owner = world.account(login, "Organization")
    world.old_names[before.lower()] = repository.id
    theirs = next((item for item in world.installations.values() if item.account is repository.owner), None)
    changes = {"owner": {"from": {old_owner.type.lower(): repository_json.account(world, old_owner)}}}
    if installation is not None:
        del installation.repositories[repository.id]
    if theirs is not None:
        theirs.repositories[repository.id] = repository
    webhooks.emit(world, "repository", "transferred", repository, old_owner, changes=changes)


def delete_repository(world: World, repository: Repository) -> None:
    webhooks.emit(world, "repository", "deleted", repository, repository.owner)
    repository.deleted = True
    for pull in world.all_pulls():
        if pull.head_repository is repository and pull.repository is not repository:
            _lose_head(world, pull, repository.owner)


def _lose_head(world: World, pull: PullRequest, who: Account) -> None:
    """With its fork gone a pull request has no head repository, and is closed."""
    pull.head_repository = None
    pull_requests.close(world, pull, Actor(who))


@dataclass(eq=False)
class User:
    """A person at GitHub's web site."""

    world: World
    account: Account

    @property
    def id(self) -> int:
        return self.account.id

    @property
    def login(self) -> str:
        return self.account.login

    @property
    def actor(self) -> Actor:
        return Actor(self.account)

    def _must(self, repository: Repository, role: Role) -> None:
        if not repository.allows(self.account, role):
            raise PermissionError(f"Permission to {repository.full_name} denied to {self.login}: {role} is needed")

    async def fork(self, repository: Repository) -> Repository:
        self._must(repository, "read")
        identifier = next(self.world.small_ids)
        path = self.world.data_dir / "repositories" / f"{identifier}.git"
        git = GitStore.create(path, repository.default_branch, repository.git)
        now, private = self.world.now(), repository.private
        copy = Repository(
            identifier, self.account, repository.name, private, repository.default_branch, git, now, parent=repository
        )
        self.world.repositories[identifier] = copy
        forkee = repository_json.repository(self.world, copy)
        webhooks.emit(self.world, "fork", None, repository, self.account, forkee=forkee)
        return copy

    async def push(
        self,
        repository: Repository,
        branch: str,
        files: Mapping[str, FileContent],
        message: str = "Change",
        base: str | None = None,
        force: bool = False,
    ) -> str:
        """Commit onto a branch, made from `base` if it is new; with force the branch starts again from `base`."""
        return await self.push_commits(repository, branch, [Commit(message, files)], base, force)

    async def push_commits(
        self,
        repository: Repository,
        branch: str,
        commits: Sequence[Commit],
        base: str | None = None,
        force: bool = False,
    ) -> str:
        self._must(repository, "write")
        return branches.commit_files(self.world, repository, self.actor, branch, commits, base, force)

    async def reset_branch(self, repository: Repository, branch: str, sha: str) -> None:
        """Force push an existing commit."""
        self._must(repository, "write")
        branches.move_branch(self.world, repository, self.actor, branch, sha)

    async def delete_branch(self, repository: Repository, branch: str) -> None:
        self._must(repository, "write")
        branches.move_branch(self.world, repository, self.actor, branch, None)

    async def open_pull_request(
        self,
        repository: Repository,
        head: str,
        base: str | None = None,
        title: str = "A change",
        body: str | None = None,
        draft: bool = False,
        head_repo: Repository | None = None,
    ) -> PullRequest:
        self._must(repository, "read")
        return pull_requests.open_pull(
            self.world,
            repository,
            self.actor,
            head_repository=head_repo or repository,
            head=head,
            base=base or repository.default_branch,
            title=title,
            body=body,
            draft=draft,
        )

    async def open_issue(
        self, repository: Repository, title: str, body: str | None = None, labels: Sequence[str] = ()
    ) -> Issue:
        self._must(repository, "read")
        issue = conversation.open_issue(self.world, repository, self.actor, title, body)
        for name in labels:
            await self.label(issue, name)
        return issue

    async def edit(self, issue: Issue, title: str | None = None, body: str | None = None) -> None:
        if issue.user is not self.account:
            self._must(issue.repository, "write")
        conversation.edit_issue(self.world, issue, self.actor, title, body)

    async def edit_base(self, pull: PullRequest, base: str) -> None:
        pull_requests.edit_base(self.world, pull, self.actor, base)

    async def close(self, issue: Issue) -> None:
        if issue.user is not self.account:
            self._must(issue.repository, "triage")
        if isinstance(issue, PullRequest):
            pull_requests.close(self.world, issue, self.actor)
        else:
            conversation.set_issue_state(self.world, issue, self.actor, "closed")

    async def reopen(self, issue: Issue) -> None:
        if issue.user is not self.account:
            self._must(issue.repository, "triage")
        if isinstance(issue, PullRequest):
            pull_requests.reopen(self.world, issue, self.actor)
        else:
            conversation.set_issue_state(self.world, issue, self.actor, "open")

    async def update_branch(self, pull: PullRequest) -> str:
        """The button *Update branch*; returns the merge."""
        if pull.head_repository is not None:
            self._must(pull.head_repository, "write")
        return branches.update_pull(self.world, pull, self.actor)

    async def merge(self, pull: PullRequest, method: str = "merge") -> str:
        self._must(pull.repository, "write")
        return branches.merge_pull(self.world, pull, self.actor, method)

    async def convert_to_draft(self, pull: PullRequest) -> None:
        pull_requests.set_draft(self.world, pull, self.actor, True)

    async def mark_ready(self, pull: PullRequest) -> None:
        pull_requests.set_draft(self.world, pull, self.actor, False)

    async def lock(self, issue: Issue) -> None:
        self._must(issue.repository, "write")
        conversation.set_locked(self.world, issue, self.actor, True)

    async def comment(self, issue: Issue, body: str) -> IssueComment:
        self._must(issue.repository, "read")
        return conversation.add_comment(self.world, issue, self.actor, body)

    async def edit_comment(self, comment: IssueComment | ReviewComment, body: str) -> None:
        if isinstance(comment, IssueComment):
            conversation.edit_comment(self.world, comment, self.actor, body)
        else:
            reviews.edit_comment(self.world, comment, self.actor, body)

    async def delete_comment(self, comment: IssueComment | ReviewComment) -> None:
        if isinstance(comment, IssueComment):
            conversation.delete_comment(self.world, comment, self.actor)
        else:
            reviews.delete_comment(self.world, comment, self.actor)

    async def react(self, subject: IssueComment | ReviewComment | Review | Issue, content: str) -> None:
        conversation.react(self.world, subject, self.actor, content)

    async def label(self, issue: Issue, name: str) -> None:
        self._must(issue.repository, "triage")
        conversation.add_label(self.world, issue, self.actor, name)

    async def unlabel(self, issue: Issue, name: str) -> None:
        self._must(issue.repository, "triage")
        conversation.remove_label(self.world, issue, self.actor, name)

    async def review(self, pull: PullRequest, event: str, body: str = "", comments: Sequence[Json] = ()) -> Review:
        """Submit a review: event is APPROVE, REQUEST_CHANGES or COMMENT."""
        self._must(pull.repository, "read")
        request: Json = {"event": event, "body": body, "comments": list(comments)}
        return reviews.create_review(self.world, pull, self.actor, request)

    async def comment_on_line(self, pull: PullRequest, path: str, line: int, body: str, **more: Any) -> ReviewComment:
        request = {"commit_id": pull.head_sha, "path": path, "line": line, "body": body, **more}
        return reviews.add_comment(self.world, pull, self.actor, request)

    async def reply(self, comment: ReviewComment, body: str) -> ReviewComment:
        return reviews.reply(self.world, comment.pull, self.actor, comment.id, body)

    async def resolve(self, thread: Thread) -> None:
        reviews.set_resolved(self.world, thread, self.actor, True)

    async def unresolve(self, thread: Thread) -> None:
        reviews.set_resolved(self.world, thread, self.actor, False)

    async def dismiss_review(self, review: Review, message: str) -> None:
        self._must(review.pull.repository, "write")
        reviews.dismiss(self.world, review, self.actor, message)

    async def press(self, run: CheckRun, identifier: str) -> None:
        """Press a button of a check run. No role is asked: the App must ask for itself."""
        check_runs.press(self.world, run, self.account, identifier)

    async def rerequest(self, check: CheckRun | CheckSuite) -> None:
        if isinstance(check, CheckSuite):
            check_runs.rerequest_suite(self.world, check, self.account)
        else:
            check_runs.rerequest(self.world, check, self.account)

    async def apply_suggestion(self, comment: ReviewComment) -> str:
        """Commit a suggestion block onto the head branch: it replaces exactly the commented lines."""
        found = _SUGGESTION.search(comment.body.replace("\r\n", "\n"))  # browsers send the former
        pull, head = comment.pull, comment.pull.head_repository
        if found is None or comment.line is None or comment.side != "RIGHT" or head is None:
            raise LookupError("This comment has no suggestion that can be applied")
        if head is pull.repository or self.account is not head.owner:
            self._must(head, "write")
        content = (head.git.read(pull.head_sha, comment.path) or b"").decode()
        lines = content.splitlines(keepends=True)
        first = comment.start_line or comment.line
        lines[first - 1 : comment.line] = [found[2]]
        change = Commit(f"Update {comment.path}", {comment.path: "".join(lines)})
        return branches.commit_files(self.world, head, self.actor, pull.head_ref, [change])
