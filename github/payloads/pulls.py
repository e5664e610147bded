"""Pull requests, their branches and reviews, results of merges and what these require, as GitHub shows them."""

from datetime import datetime
from typing import Literal

from pydantic import AwareDatetime, Field

from domain.github.commits import Commit, Push, Pusher
from domain.github.pull_requests import Branch, MergeMethod, PullRequest, RequiredCheck
from domain.text.redaction import redact_outgoing
from domain.value import Value
from github.payloads.parsing import GHOST_ID, GHOST_LOGIN, AccountShown, RepositoryShown


class BranchTip(Value):
    """A branch and the commit it points to."""

    class _Commit(Value):
        sha: str

    name: str
    commit: _Commit

    def to_domain(self) -> Branch:
        return Branch(name=self.name, head_sha=self.commit.sha)


class _HeadRepository(RepositoryShown):
    owner: AccountShown | None = None


class _Head(Value):
    sha: str
    ref: str
    repo: _HeadRepository | None


class _Base(Value):
    sha: str
    ref: str
    repo: RepositoryShown


class ListedPull(Value):
    """A pull request as lists show it, which leave out whether it merges."""

    number: int
    state: Literal["open", "closed"]
    head: _Head
    title: str = ""
    merged_at: datetime | None = None
    merge_commit_sha: str | None = None

    def comes_from(self, repository_id: int, branch: str) -> bool:
        return self.head.repo is not None and (self.head.repo.id, self.head.ref) == (repository_id, branch)


class PullShown(Value):
    number: int
    node_id: str = ""
    title: str
    state: Literal["open", "closed"]
    draft: bool | None = None  # GitHub may leave it out: see DraftShown
    head: _Head
    base: _Base
    user: AccountShown | None
    author_association: str = "NONE"
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
            is_merged=self.merged,
            default_branch=self.base.repo.default_branch,
            updated_at=self.updated_at,
            merge_sha=(self.merge_commit_sha or "") if self.merged else "",
            merged_at=self.merged_at,
            has_conflicts=self.mergeable is False,
        )


class DraftShown(Value):
    """Whether a pull request is a draft, as GraphQL always says."""

    class _Repository(Value):
        class _Pull(Value):
            draft: bool

        pull: _Pull

    repository: _Repository


class CommitShown(Value):
    """A commit of a pull request; the accounts are None where GitHub links none with the addresses."""

    class _Parent(Value):
        sha: str

    sha: str
    parents: list[_Parent]
    author: AccountShown | None = None
    committer: AccountShown | None = None

    def to_domain(self) -> Commit:
        accounts = frozenset(one.id for one in (self.author, self.committer) if one is not None)
        author = 0 if self.author is None else self.author.id
        return Commit(self.sha, tuple(parent.sha for parent in self.parents), accounts, author=author)


class ActivityShown(Value):
    """A move of a branch; the actor is None if the account was deleted."""

    before: str
    after: str
    timestamp: AwareDatetime
    actor: AccountShown | None = None

    def to_domain(self) -> Push | None:
        """None if it tells nothing about who pushed."""
        if self.actor is None or not self.after.strip("0"):
            return None
        is_new = not self.before.strip("0")
        pusher = Pusher.app if self.actor.type == "Bot" else Pusher.person
        return Push(self.after, "" if is_new else self.before, self.actor.id, pusher, self.timestamp)


class ReviewShown(Value):
    id: int
    node_id: str
    user: AccountShown | None
    body: str | None
    state: str = ""
    commit_id: str | None = None


class LineShown(Value):
    """An inline comment of a review. That endpoint may leave the newer fields out."""

    node_id: str
    path: str
    body: str | None
    line: int | None = None
    original_line: int | None = None


class MergeAnswer(Value):
    sha: str
    merged: bool


class QueuedPull(Value):
    """A pull request, and whether its base has a merge queue, by a ruleset or by branch protection."""

    id: str
    is_enabled: bool = Field(alias="isMergeQueueEnabled")
    is_queued: bool = Field(alias="isInMergeQueue")


class QueueShown(Value):
    class _Repository(Value):
        pull: QueuedPull

    repository: _Repository


class QueueAnswer(Value):
    """The answer of GraphQL to a pull request that was put into a merge queue."""

    class _Payload(Value):
        class _Entry(Value):
            id: str

        entry: _Entry | None = Field(alias="mergeQueueEntry")

    enqueued: _Payload = Field(alias="enqueuePullRequest")


class MergeSettings(RepositoryShown):
    """How a repository merges; GitHub leaves the settings out for tokens with few permissions."""

    allow_merge_commit: bool | None = None
    allow_squash_merge: bool | None = None
    allow_rebase_merge: bool | None = None

    def allows(self, way: MergeMethod) -> bool:
        """Whether the method is not known to be off."""
        settings = {
            MergeMethod.merge: self.allow_merge_commit,
            MergeMethod.squash: self.allow_squash_merge,
            MergeMethod.rebase: self.allow_rebase_merge,
        }
        return settings[way] is not False


class _StatusCheck(Value):
    """A required check as branch protection (``app_id``) and rulesets (``integration_id``) name it."""

    context: str
    app_id: int | None = None
    integration_id: int | None = None

    def to_domain(self) -> RequiredCheck:
        source = self.app_id if self.app_id is not None else self.integration_id
        return RequiredCheck(name=self.context, app_id=source if source and source > 0 else None)  # -1: any App


class _RequiredStatusChecks(Value):
    enforcement_level: str = "everyone"
    contexts: tuple[str, ...]
    checks: tuple[_StatusCheck, ...] = ()

    def to_domain(self) -> list[RequiredCheck]:
        if self.enforcement_level == "off":
            return []
        named = {check.context for check in self.checks}
        bare = [RequiredCheck(name=context) for context in self.contexts if context not in named]
        return bare + [check.to_domain() for check in self.checks]


class _Protection(Value):
    enabled: bool | None = None
    required_status_checks: _RequiredStatusChecks | None = None


class ProtectedBranch(Value):
    """A branch. If only rulesets protect it, it is ``protected``, but its ``protection`` is not enabled."""

    protected: bool
    protection: _Protection | None = None

    def list_checks(self) -> list[RequiredCheck] | None:
        """The checks that classic branch protection requires; None if it is on and does not list them."""
        if not self.protected or (self.protection is not None and self.protection.enabled is False):
            return []
        if self.protection is None or self.protection.required_status_checks is None:
            return None
        return self.protection.required_status_checks.to_domain()


class NamedBranch(Value):
    """A branch in a list of branches."""

    name: str


class _RuleParameters(Value):
    required_status_checks: tuple[_StatusCheck, ...] | None = None
    allowed_merge_methods: tuple[str, ...] | None = None


class RuleShown(Value):
    """An active rule of a ruleset, with what concerns checks and merge methods."""

    type: str
    parameters: _RuleParameters | None = None

    def list_checks(self) -> list[RequiredCheck] | None:
        """The checks this rule requires; None if it requires some without naming them."""
        if self.type == "workflows":  # only the workflows name their jobs
            return None
        if self.type != "required_status_checks":
            return []
        if self.parameters is None or self.parameters.required_status_checks is None:
            return None
        return [check.to_domain() for check in self.parameters.required_status_checks]

    def allows(self, way: MergeMethod) -> bool:
        if self.type == "required_linear_history":
            return way is not MergeMethod.merge
        allowed = self.parameters.allowed_merge_methods if self.parameters else None
        return allowed is None or way.value in allowed
