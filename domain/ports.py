"""What a lower layer needs from above: the code host and its log of deliveries, the clock, the journal of steps."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Literal, Protocol

from pydantic import BaseModel, ConfigDict, JsonValue

from domain.actions_port import Actions
from domain.conversation import CommentRef, Reaction, ReviewThread, ThumbGiven
from domain.money import Receipt, Refusal, Reservation
from domain.review import Conclusion
from domain.runs import RepositoryRef


class PullRequest(BaseModel):
    """A pull request as GitHub describes it at this moment."""

    model_config = ConfigDict(frozen=True)

    number: int
    title: str
    is_open: bool
    is_draft: bool
    head_sha: str
    head_ref: str
    head_repository_id: int | None  # None: the fork was deleted
    base_sha: str
    base_ref: str
    author_id: int
    author_login: str
    author_is_bot: bool
    author_association: str
    changed_files: int
    is_merged: bool = False
    default_branch: str = ""  # of the repository it is opened in; empty: not known

    def is_from_fork(self, repository_id: int) -> bool:
        """Whether its head lives in another repository, or in one that is gone."""
        return self.head_repository_id != repository_id


class Issue(BaseModel):
    """An issue as GitHub describes it at this moment. Pull requests are issues, too.

    :param body: empty where there is none.
    :param author_id: None if the account was deleted.
    """

    model_config = ConfigDict(frozen=True)

    number: int
    title: str
    body: str
    is_open: bool
    author_id: int | None
    author_login: str
    author_association: str
    labels: tuple[str, ...]
    is_pull_request: bool


class IssueComment(BaseModel):
    """A comment below an issue or pull request.

    :param author_id: None if the account was deleted.
    :param is_app: an App wrote it, be it in a person's name.
    :param is_edited: it was changed after it was written, and not necessarily by its author.
    """

    model_config = ConfigDict(frozen=True)

    id: int
    author_id: int | None
    author_login: str
    is_app: bool
    author_association: str
    body: str
    created_at: datetime
    is_edited: bool


class Branch(BaseModel):
    """A branch and the commit it points to."""

    model_config = ConfigDict(frozen=True)

    name: str
    head_sha: str


class Vulnerability(BaseModel):
    """A known vulnerability of a dependency, as GitHub's advisory database names it."""

    model_config = ConfigDict(frozen=True)

    severity: Literal["low", "moderate", "high", "critical"]
    advisory: str
    summary: str
    url: str


class DependencyChange(BaseModel):
    """One dependency that a pull request adds or removes."""

    model_config = ConfigDict(frozen=True)

    added: bool
    manifest: str
    ecosystem: str
    name: str
    version: str
    licence: str | None = None
    vulnerabilities: tuple[Vulnerability, ...] = ()


class Annotation(BaseModel):
    """An annotation of a check run. Lines are 1-based at head; ``raw_details`` at most 64 KB."""

    model_config = ConfigDict(frozen=True)

    path: str
    start_line: int
    end_line: int
    level: Literal["notice", "warning", "failure"]
    title: str
    message: str


class Button(BaseModel):
    """A button of a completed check run. GitHub: label ≤ 20, description ≤ 40, identifier ≤ 20 characters."""

    model_config = ConfigDict(frozen=True)

    label: str
    description: str
    identifier: str


class CheckRun(BaseModel):
    """What a check run should show. ``conclusion`` makes it completed.

    Any number of annotations may be given: the adapter sends them 50 at a time.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    head_sha: str
    external_id: str
    status: Literal["queued", "in_progress", "completed"]
    title: str
    summary: str
    text: str = ""
    conclusion: Conclusion | None = None
    annotations: tuple[Annotation, ...] = ()
    buttons: tuple[Button, ...] = ()


class CheckRunRef(BaseModel):
    """A check run of ours that exists on GitHub."""

    model_config = ConfigDict(frozen=True)

    id: int
    external_id: str
    head_sha: str
    is_completed: bool
    conclusion: str | None


class InlineComment(BaseModel):
    """A review comment on lines of the head; ``start_line`` equals ``line`` for a single line."""

    model_config = ConfigDict(frozen=True)

    path: str
    start_line: int
    line: int
    body: str


class ChangeRequest(BaseModel):
    """What a person asks to be changed, in a review of one head.

    :param comments: (path, line or None, text) of each inline comment.
    """

    model_config = ConfigDict(frozen=True)

    login: str
    account_id: int
    body: str
    comments: tuple[tuple[str, int | None, str], ...] = ()


class DraftReview(BaseModel):
    """One pull-request review with its inline comments, to be created at once."""

    model_config = ConfigDict(frozen=True)

    head_sha: str
    body: str
    comments: tuple[InlineComment, ...]


class Approval(BaseModel):
    """An approving review of the App's own. One that somebody dismissed no longer counts, and is not to be repeated."""

    model_config = ConfigDict(frozen=True)

    id: int
    head_sha: str
    is_dismissed: bool


class MergeMethod(StrEnum):
    """How a pull request becomes part of its base branch."""

    merge = "merge"
    squash = "squash"
    rebase = "rebase"


class MergeObstacle(StrEnum):
    """Why GitHub did not merge."""

    head_moved = "head_moved"  # the pull request's head is not the one to be merged (any more)
    base_moved = "base_moved"  # something else was merged at the same moment; the same again may succeed
    not_mergeable = "not_mergeable"  # it conflicts, is a draft or closed
    method = "method"  # neither the repository nor its rules leave a way of merging
    protected = "protected"  # the branch asks for checks, reviews or a merge queue that are missing
    not_allowed = "not_allowed"  # the App may not merge here


class Merged(BaseModel):
    """The pull request is merged, now or already: ``sha`` is what the base branch got."""

    model_config = ConfigDict(frozen=True)

    sha: str


class NotMerged(BaseModel):
    """Nothing happened; ``said`` is GitHub's reason in its own words, one line."""

    model_config = ConfigDict(frozen=True)

    obstacle: MergeObstacle
    said: str


class Signature(BaseModel):
    """Who makes a commit."""

    model_config = ConfigDict(frozen=True)

    name: str
    email: str


class CheckResult(BaseModel):
    """The newest word of a check run or a commit status on a commit.

    :param app_id: the App that made the check run; None for a commit status, of which GitHub does not tell it.
    :param conclusion: a check run's conclusion, or a status's state; ``pending`` as long as there is none.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    app_id: int | None
    conclusion: str

    @property
    def is_green(self) -> bool:
        """Whether it satisfies a required check.

        https://docs.github.com/pull-requests/collaborating-with-pull-requests/collaborating-on-repositories-with-code-quality-features/about-status-checks
        """
        return self.conclusion in {"success", "neutral", "skipped"}


class RequiredCheck(BaseModel):
    """A check without which GitHub does not merge into a branch; ``app_id`` None: whoever reports it."""

    model_config = ConfigDict(frozen=True)

    name: str
    app_id: int | None = None

    def is_met_by(self, results: Iterable[CheckResult]) -> bool:
        """Whether it was reported, and everything that was reported under its name is green."""
        told = [one for one in results if one.name == self.name and (self.app_id is None or self._fits(one))]
        return bool(told) and all(one.is_green for one in told)

    def _fits(self, result: CheckResult) -> bool:
        return result.app_id in (None, self.app_id)


class Conversation(Protocol):
    """What people and Forge say to each other on GitHub. The rules of ``CodeHost`` hold."""

    async def react(self, repository: RepositoryRef, comment: CommentRef, reaction: Reaction) -> None:
        """Give a reaction; giving it again changes nothing."""
        ...

    async def find_comment(self, repository: RepositoryRef, number: int, marker: str) -> int | None:
        """The id of the App's own comment below an issue or pull request whose body holds ``marker``."""
        ...

    async def create_comment(self, repository: RepositoryRef, number: int, body: str) -> int:
        """Comment below an issue or pull request."""
        ...

    async def edit_comment(self, repository: RepositoryRef, comment_id: int, body: str) -> None:
        """Change the App's own comment below an issue or pull request."""
        ...

    async def add_label(self, repository: RepositoryRef, number: int, label: str) -> None:
        """Put a label on an issue or pull request; one it has already stays, and one that is new is created."""
        ...

    async def find_reply(self, repository: RepositoryRef, number: int, root: int, marker: str) -> int | None:
        """The id of the App's own reply with ``marker`` in the review thread that began with comment ``root``."""
        ...

    async def create_reply(self, repository: RepositoryRef, number: int, root: int, body: str) -> int:
        """Reply in the review thread that began with comment ``root``."""
        ...

    async def comments_of_review(self, repository: RepositoryRef, number: int, review_id: int) -> Mapping[int, str]:
        """The inline comments of a review: id → body."""
        ...

    async def thumbs(self, repository: RepositoryRef, number: int, comments: Collection[int]) -> Sequence[ThumbGiven]:
        """The thumbs up and down that stand at this moment at review comments of a pull request.

        :param comments: ids of those that are of interest.
        """
        ...

    async def review_threads(self, repository: RepositoryRef, number: int) -> Sequence[ReviewThread]:
        """All review threads of a pull request, in order."""
        ...

    async def resolve_thread(self, repository: RepositoryRef, thread_id: str) -> None:
        """Resolve a review thread; one that is resolved stays so."""
        ...


class Merging(Protocol):
    """What leads to a merge, as far as Forge has a part in it. The rules of ``CodeHost`` hold."""

    async def approve(self, repository: RepositoryRef, number: int, head_sha: str, body: str) -> int:
        """Approve exactly this head; the review's id. GitHub takes an earlier head of the pull request, too.

        :raises Unprocessable: the pull request is the App's own, or never had this commit.
        """
        ...

    async def find_approval(self, repository: RepositoryRef, number: int, marker: str) -> Approval | None:
        """The App's own newest approval whose body holds ``marker``, also if somebody dismissed it."""
        ...

    async def merge(
        self, repository: RepositoryRef, number: int, head_sha: str, method: MergeMethod | None = None
    ) -> Merged | NotMerged:
        """Merge if the head is still this one. Looks first whether it is merged, so it may be repeated after a crash.

        :param method: by default the first of merge, squash and rebase that the repository allows.
        """
        ...

    async def required_checks(self, repository: RepositoryRef, branch: str) -> Sequence[RequiredCheck] | None:
        """What branch protection and rulesets require of a branch; None if that cannot be known for certain.

        :raises NotFound: there is no such branch.
        """
        ...

    async def objections(self, repository: RepositoryRef, number: int) -> Collection[str]:
        """The logins of those whose newest review with an opinion requests changes and was not dismissed."""
        ...

    async def change_requests(self, repository: RepositoryRef, number: int, head_sha: str) -> Sequence[ChangeRequest]:
        """What those ask for whose newest review with an opinion is about this head and requests changes.

        An App's, and one whose account is gone, is left out.
        """
        ...

    async def check_results(self, repository: RepositoryRef, head_sha: str) -> Sequence[CheckResult]:
        """What every App's check runs and every commit status say about a commit, all of it or an error."""
        ...


class Issues(Protocol):
    """What people ask for in issues. The rules of ``CodeHost`` hold."""

    async def issue(self, repository: RepositoryRef, number: int) -> Issue:
        """An issue or pull request.

        :raises NotFound: there is none, or it was transferred to another repository.
        """
        ...

    async def issue_comments(self, repository: RepositoryRef, number: int) -> Sequence[IssueComment]:
        """All comments below an issue or pull request, oldest first.

        They are read up to 5,000, twice what GitHub lets people write below one.

        :raises NotFound: there is no such issue, or it was transferred to another repository.
        :raises Unavailable: not all of them could be read, or there are more.
        """
        ...


class Edit(BaseModel):
    """A new text for a comment below an issue.

    :param body: at most 65,536 characters.
    """

    model_config = ConfigDict(frozen=True)

    comment_id: int
    body: str


class Proposing(Protocol):
    """What leads to a pull request of Forge's own. The rules of ``CodeHost`` hold."""

    async def default_branch(self, repository: RepositoryRef) -> Branch:
        """The branch that changes are proposed to.

        :raises NotFound: the repository is gone, or has no commit yet.
        """
        ...

    async def find_pull_request(self, repository: RepositoryRef, head_branch: str) -> PullRequest | None:
        """The open pull request from this branch of the repository itself, whoever opened it; of several the oldest."""
        ...

    async def open_pull_request(
        self, repository: RepositoryRef, head_branch: str, base_branch: str, title: str, body: str, draft: bool
    ) -> PullRequest:
        """Propose a branch of the repository itself. Where GitHub offers no drafts it becomes a plain pull request.

        :param title: at most 256 characters.
        :param body: at most 65,536 characters.
        :raises Unprocessable: there is an open one already, a branch is missing, nothing differs, a text is too long.
        """
        ...

    async def mark_ready(
        self, repository: RepositoryRef, number: int, body: str | None = None, said: Edit | None = None
    ) -> bool:
        """Make a draft a plain pull request, describe it anew and edit a comment, all in one write.

        One that is no draft is only described.

        :param body: at most 65,536 characters; None leaves what is there.
        :returns: whether the comment was edited: never one that is gone, and only of a draft.
        """
        ...

    async def update_pull_request(self, repository: RepositoryRef, number: int, title: str, body: str) -> None:
        """Replace the title and description; the limits are those of ``open_pull_request``."""
        ...


class CodeHost(Conversation, Merging, Issues, Proposing, Actions, Protocol):
    """GitHub, as far as Forge needs it. Every method may raise the ``CodeHostError`` family.

    Reads are repeated by the adapter where that is safe; writes never are: whoever writes
    looks for the effect by its natural key first (DESIGN invariant 2).
    """

    async def pull_request(self, repository: RepositoryRef, number: int) -> PullRequest: ...

    async def open_pull_requests(self, repository: RepositoryRef, head_sha: str) -> Sequence[PullRequest]:
        """Open pull requests with this head, also from forks."""
        ...

    async def file_content(self, repository: RepositoryRef, path: str, ref: str | None = None) -> bytes | None:
        """A file at ``ref`` (default: the default branch); None if there is none."""
        ...

    async def dependency_changes(
        self, repository: RepositoryRef, base_sha: str, head_sha: str
    ) -> Sequence[DependencyChange] | None:
        """GitHub's dependency comparison; None where the repository has no dependency graph."""
        ...

    async def find_check_run(
        self, repository: RepositoryRef, head_sha: str, external_id: str
    ) -> CheckRunRef | None: ...

    async def create_check_run(self, repository: RepositoryRef, check: CheckRun) -> CheckRunRef: ...

    async def update_check_run(self, repository: RepositoryRef, check_id: int, check: CheckRun) -> CheckRunRef: ...

    async def find_review(self, repository: RepositoryRef, number: int, marker: str) -> int | None:
        """The id of the App's own review whose body holds ``marker``."""
        ...

    async def create_review(self, repository: RepositoryRef, number: int, review: DraftReview) -> int:
        """Create the review; raises ``Unprocessable`` if GitHub refuses any of its positions."""
        ...

    async def permission(self, repository: RepositoryRef, login: str, account_id: int) -> str:
        """The live role of an account: none, read, triage, write, maintain or admin.

        The answer counts only if the login still belongs to ``account_id``; otherwise ``none``.
        """
        ...

    async def accounts_with(self, repository: RepositoryRef, role: str) -> Collection[int]:
        """The ids of the people whose live role is at least ``role``; bots are left out.

        Counted are those who were given access: who may read only because the repository is public is not listed.

        :param role: read, triage, write, maintain or admin.
        """
        ...

    def clone_url(self, repository: RepositoryRef) -> str: ...

    async def git_credentials(self, repository: RepositoryRef) -> str:
        """The value of an ``Authorization`` header for git over HTTP."""
        ...

    async def signature(self, repository: RepositoryRef) -> Signature:
        """The App's own name and address for commits, by which GitHub knows them as the App's."""
        ...


class DeliveryAttempt(BaseModel):
    """One attempt of GitHub to deliver an event; all attempts at one event share a GUID.

    :param status_code: of the answer; 0 where there was none.
    """

    model_config = ConfigDict(frozen=True)

    id: int
    guid: str
    event: str
    at: datetime
    status_code: int

    @property
    def is_answered(self) -> bool:
        """Whether the attempt was answered with 2xx."""
        return 200 <= self.status_code < 300


class AttemptsPage(BaseModel):
    """A page of GitHub's log of deliveries, newest first; ``following`` leads to the next one."""

    model_config = ConfigDict(frozen=True)

    attempts: tuple[DeliveryAttempt, ...]
    following: str | None


class DeliveryLog(Protocol):
    """GitHub's own log of what it delivered to the App. Every method may raise the ``CodeHostError`` family."""

    @property
    def redeliverable_for(self) -> timedelta:
        """How long after its first attempt a delivery can be sent again."""
        ...

    async def attempts(self, cursor: str | None) -> AttemptsPage:
        """The newest attempts, or the page another one named as following."""
        ...

    async def redeliver(self, attempt_id: int) -> None:
        """Have the event of an attempt delivered once more, with the same GUID; it arrives a moment later."""
        ...


class Clock(Protocol):
    """The time, so that tests can move it."""

    def now(self) -> datetime:
        """Now, with time zone UTC."""
        ...


class Journal(Protocol):
    """Remembers the answers of steps, so that a step which completed is never repeated after a crash."""

    async def step(self, key: str, call: Callable[[], Awaitable[JsonValue]]) -> JsonValue:
        """The answer of ``call``, from the journal if this step of this run completed before.

        :param key: name of the step, for people and for the audit; steps are matched by order.
        """
        ...


class Purse(Protocol):
    """The money of one phase of one run: reserved before each call of a model, settled after it (invariant 4)."""

    async def reserve(self, step: str, model: str, amount: int) -> Reservation | Refusal:
        """Set money aside for a call, unless a limit would be passed.

        :param step: the step the call belongs to. An earlier reservation of the same step that was never settled
            is settled as lost: the process died while the call was in flight.
        :param amount: the call's worst case in micro-USD.
        """
        ...

    async def settle(self, reservation: Reservation, receipt: Receipt) -> int:
        """Replace a reservation by what the call really cost; what is charged, in micro-USD."""
        ...
