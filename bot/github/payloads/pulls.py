"""Pull requests, their branches and their reviews, as GitHub shows them."""

from datetime import datetime
from typing import Literal

from pydantic import AwareDatetime, BaseModel

from bot.github.payloads.accounts import GHOST_ID, GHOST_LOGIN, AccountShown, RepositoryShown
from domain.github.pull_requests import Branch, PullRequest
from domain.github.pushes import Commit, Push, Pusher
from domain.text.redaction import redact_outgoing


class BranchTip(BaseModel):
    """A branch and the commit it points to."""

    class _Commit(BaseModel):
        sha: str

    name: str
    commit: _Commit

    def to_domain(self) -> Branch:
        return Branch(name=self.name, head_sha=self.commit.sha)


class _HeadRepository(RepositoryShown):
    owner: AccountShown | None = None


class _Head(BaseModel):
    sha: str
    ref: str
    repo: _HeadRepository | None


class _Base(BaseModel):
    sha: str
    ref: str
    repo: RepositoryShown


class ListedPull(BaseModel):
    """A pull request as lists show it: without the number of its files."""

    number: int
    state: Literal["open", "closed"]
    head: _Head
    title: str = ""
    merged_at: datetime | None = None
    merge_commit_sha: str | None = None

    def comes_from(self, repository_id: int, branch: str) -> bool:
        return self.head.repo is not None and (self.head.repo.id, self.head.ref) == (repository_id, branch)


class PullShown(BaseModel):
    number: int
    node_id: str = ""
    title: str
    state: Literal["open", "closed"]
    draft: bool | None = None  # GitHub may leave it out: see DraftShown
    head: _Head
    base: _Base
    user: AccountShown | None
    author_association: str = "NONE"
    changed_files: int
    merged: bool = False
    merge_commit_sha: str | None = None  # of an open pull request: GitHub's trial merge
    updated_at: AwareDatetime | None = None
    merged_at: AwareDatetime | None = None
    mergeable: bool | None = None  # None until GitHub worked it out, in the background

    def to_domain(self) -> PullRequest:
        author = self.user or AccountShown(id=GHOST_ID, login=GHOST_LOGIN)
        return PullRequest(
            number=self.number,
            title=redact_outgoing(self.title),
            is_open=self.state == "open",
            is_draft=self.draft is not False,
            head_sha=self.head.sha,
            head_ref=self.head.ref,
            head_repository_id=self.head.repo.id if self.head.repo else None,
            head_owner_id=self.head.repo.owner.id if self.head.repo and self.head.repo.owner else None,
            base_sha=self.base.sha,
            base_ref=self.base.ref,
            author_id=author.id,
            author_login=author.login,
            author_is_bot=author.type == "Bot",
            author_association=self.author_association,
            changed_files=self.changed_files,
            is_merged=self.merged,
            default_branch=self.base.repo.default_branch,
            updated_at=self.updated_at,
            merge_sha=(self.merge_commit_sha or "") if self.merged else "",
            merged_at=self.merged_at,
            has_conflicts=self.mergeable is False,
        )


class DraftShown(BaseModel):
    """Whether a pull request is a draft, as GraphQL always says."""

    class _Repository(BaseModel):
        class _Pull(BaseModel):
            draft: bool

        pull: _Pull

    repository: _Repository


class CommitShown(BaseModel):
    """A commit of a pull request; the accounts are None where GitHub links none with the addresses."""

    class _Parent(BaseModel):
        sha: str

    sha: str
    parents: list[_Parent]
    author: AccountShown | None = None
    committer: AccountShown | None = None

    def to_domain(self) -> Commit:
        accounts = frozenset(one.id for one in (self.author, self.committer) if one is not None)
        author = 0 if self.author is None else self.author.id
        return Commit(self.sha, tuple(parent.sha for parent in self.parents), accounts, author=author)


class ActivityShown(BaseModel):
    """A move of a branch; the actor is None if the account was deleted."""

    before: str
    after: str
    timestamp: AwareDatetime
    activity_type: str
    actor: AccountShown | None = None

    def to_domain(self) -> Push | None:
        """None if it tells nothing about who pushed."""
        if self.actor is None or not self.after.strip("0"):
            return None
        is_new = not self.before.strip("0")
        pusher = Pusher.app if self.actor.type == "Bot" else Pusher.person
        return Push(self.after, "" if is_new else self.before, self.actor.id, pusher, self.timestamp)


class ReviewShown(BaseModel):
    id: int
    node_id: str
    user: AccountShown | None
    body: str | None
    state: str = ""
    commit_id: str | None = None


class LineShown(BaseModel):
    """An inline comment of a review. That endpoint may leave the newer fields out."""

    node_id: str
    path: str
    body: str | None
    line: int | None = None
    original_line: int | None = None
