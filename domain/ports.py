"""What a lower layer needs from above: the code host, its log of deliveries, other addresses, clock and purse."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Protocol

from domain.github.checks import (
    CheckRun,
    CheckRunRef,
    FailingCheck,
    HostDeployment,
    HostDeploymentState,
    HostDeploymentStatus,
    Job,
    WorkflowRun,
)
from domain.github.commits import Commit, CommitDraft, MadeCommit, Push, Signature
from domain.github.conversation import (
    CommentEdit,
    CommentRef,
    Issue,
    IssueComment,
    Reaction,
    Remark,
    ReviewThread,
    TextEdit,
    ThumbGiven,
)
from domain.github.installations import AttemptsPage, InstallationState, RepositoryTraits
from domain.github.pull_requests import (
    Approval,
    Branch,
    ChangeRequest,
    DependencyChange,
    DraftReview,
    Merged,
    MergedPull,
    MergeMethod,
    NotMerged,
    PullRequest,
    Queued,
    ReportedCheck,
    RequiredCheck,
)
from domain.money import Receipt, Refusal, Reservation
from domain.runs.run import RepositoryRef


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

    async def remove_label(self, repository: RepositoryRef, number: int, label: str) -> None:
        """Take a label off an issue or pull request, if it has it."""
        ...

    async def edit_review_comment(self, repository: RepositoryRef, comment_id: int, body: str) -> None:
        """Change the App's own comment on a line of the diff.

        :raises NotFound: somebody deleted it.
        """
        ...

    async def fold_comment(self, repository: RepositoryRef, comment_id: int, *, folded: bool) -> None:
        """Fold the App's own comment below an issue or pull request as outdated, or unfold it; done twice is done once.

        :raises NotFound: somebody deleted it.
        """
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

    async def own_remarks(self, repository: RepositoryRef, number: int, *, with_reviews: bool) -> Sequence[Remark]:
        """What the App itself wrote below an issue or pull request, oldest first.

        :param with_reviews: then the bodies of its reviews of the pull request.
        """
        ...

    async def thread_remarks(self, repository: RepositoryRef, number: int, root: int) -> Sequence[Remark]:
        """The comments of the review thread that began with comment ``root``, oldest first."""
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

    async def unresolve_thread(self, repository: RepositoryRef, thread_id: str) -> None:
        """Open a review thread again; one that is open stays so."""
        ...


class Merging(Protocol):
    """What leads to a merge, as far as Forge has a part in it. The rules of ``CodeHost`` hold."""

    async def approve(self, repository: RepositoryRef, number: int, head_sha: str, body: str) -> int:
        """Approve exactly this head; the review's id. GitHub takes an earlier head of the pull request, too.

        :raises Unprocessable: the pull request is the App's own, or never had this commit.
        """
        ...

    async def approvals(self, repository: RepositoryRef, number: int) -> Sequence[Approval]:
        """The App's own approvals, oldest first, of whatever head, also those that were dismissed."""
        ...

    async def dismiss_approval(self, repository: RepositoryRef, number: int, review_id: int, message: str) -> None:
        """Dismiss an approval of the App's own, so that it counts no more.

        :raises Unprocessable: it is dismissed already.
        """
        ...

    async def merge(
        self,
        repository: RepositoryRef,
        number: int,
        head_sha: str,
        method: MergeMethod | None = None,
        still: Callable[[], Awaitable[None]] | None = None,
    ) -> Merged | Queued | NotMerged:
        """Merge if the head is still this one. Looks first whether it is merged, so it may be repeated after a crash.

        Where the base requires a merge queue, the head is put into it, and never merged around it.

        :param method: without a queue; by default the first of merge, squash and rebase that the repository allows.
        :param still: asked right before the merge is sent, once it need not wait for other writes any more; what it
            raises keeps the merge from being sent.
        """
        ...

    async def is_queued(self, repository: RepositoryRef, number: int) -> bool:
        """Whether the pull request is in the merge queue of its base."""
        ...

    async def required_checks(self, repository: RepositoryRef, branch: str) -> Sequence[RequiredCheck] | None:
        """What branch protection and rulesets require of a branch; None if that cannot be known for certain.

        :raises NotFound: there is no such branch.
        """
        ...

    async def list_protected_branches(self, repository: RepositoryRef) -> Sequence[str]:
        """The names of the branches to which branch protection or a ruleset applies."""
        ...

    async def objections(self, repository: RepositoryRef, number: int) -> Collection[str]:
        """The logins of those whose newest review with an opinion requests changes and was not dismissed."""
        ...

    async def change_requests(self, repository: RepositoryRef, number: int, head_sha: str) -> Sequence[ChangeRequest]:
        """What those ask for whose newest review with an opinion is about this head and requests changes.

        An App's, and one whose account is gone, is left out.
        """
        ...

    async def check_results(self, repository: RepositoryRef, head_sha: str) -> Sequence[ReportedCheck]:
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

    async def text_edits(self, repository: RepositoryRef, texts: Collection[str]) -> Mapping[str, Collection[TextEdit]]:
        """Who edited issues with their titles, titles of pull requests, comments of any kind, and bodies of reviews.

        One that nobody edited may be missing.

        :param texts: their node ids, by which the answer is ordered as well.
        :raises Unavailable: not all of them could be read.
        """
        ...

    async def find_own_issue(self, repository: RepositoryRef, marker: str, since: datetime) -> int | None:
        """The number of the issue that the App itself opened and whose body holds ``marker``; of several the oldest.

        :param since: when it was opened, or earlier.
        """
        ...

    async def create_issue(self, repository: RepositoryRef, title: str, body: str, labels: Sequence[str]) -> int:
        """Open an issue; its number.

        :param title: at most 256 characters.
        :param body: at most 65,536 characters.
        :param labels: those that are new are created.
        :raises NotFound: the repository is gone.
        :raises Unprocessable: the repository has no issues, or a text is too long.
        """
        ...


class PullRequests(Protocol):
    """What leads to a pull request of Forge's own. The rules of ``CodeHost`` hold."""

    async def default_branch(self, repository: RepositoryRef) -> Branch:
        """The branch that changes are proposed to.

        :raises NotFound: the repository is gone, or has no commit yet.
        """
        ...

    async def branch(self, repository: RepositoryRef, name: str) -> Branch:
        """A branch as it is now.

        :raises NotFound: there is none of this name.
        """
        ...

    async def create_commit(self, repository: RepositoryRef, draft: CommitDraft) -> MadeCommit:
        """Make a commit in the App's own name, to which nothing points yet. GitHub signs it."""
        ...

    async def find_pull_request(self, repository: RepositoryRef, head_branch: str) -> PullRequest | None:
        """The open pull request from this branch of the repository itself, whoever opened it; of several the oldest."""
        ...

    async def find_merged_pull(self, repository: RepositoryRef, sha: str) -> MergedPull | None:
        """The merged pull request that brought a commit into its branch; None if it was pushed directly."""
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
        self, repository: RepositoryRef, number: int, body: str | None = None, said: CommentEdit | None = None
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


class Actions(Protocol):
    """What the repository's own workflows did, and once more. The rules of ``CodeHost`` hold."""

    async def workflow_runs(self, repository: RepositoryRef, head_sha: str) -> Sequence[WorkflowRun]:
        """All workflow runs on a head, newest first, each in its newest attempt."""
        ...

    async def jobs(self, repository: RepositoryRef, run_id: int, *, every: bool = False) -> Sequence[Job]:
        """All jobs of the newest attempt of a workflow run.

        :param every: those of its earlier attempts, too.
        :raises NotFound: there is no such run (any more).
        """
        ...

    async def rerun_failed_jobs(self, repository: RepositoryRef, run_id: int) -> None:
        """Begin another attempt of a completed workflow run, with its failed jobs and those that need them.

        :raises Forbidden: the run goes on, is too old, or the App may not.
        """
        ...

    async def job_log(self, repository: RepositoryRef, job_id: int, most: int) -> str | None:
        """The end of what a job printed, whole lines; None where GitHub has no log of it (any more).

        :param most: bytes at most.
        """
        ...


class FailingChecks(Protocol):
    """What fails on a commit by the word of other Apps. The rules of ``CodeHost`` hold."""

    async def failures(self, repository: RepositoryRef, head_sha: str) -> Sequence[FailingCheck]:
        """The check runs of other Apps, and the commit statuses, whose newest result is a failure."""
        ...

    async def check_outcomes(self, repository: RepositoryRef, head_sha: str) -> Mapping[str, str]:
        """Name → newest conclusion or state, of the check runs of other Apps and commit statuses that have ended."""
        ...

    async def awaits_checks(self, repository: RepositoryRef, head_sha: str) -> bool:
        """Whether a check run of another App, or a commit status, has not ended yet."""
        ...

    async def check_details(self, repository: RepositoryRef, check: FailingCheck, most: int) -> str:
        """The annotations of a failing check and, of a job of the repository's own workflows, the end of its log.

        :param most: bytes of the log at most.
        """
        ...


class Deployments(Protocol):
    """What is deployed, and the workflows that do it. The rules of ``CodeHost`` hold."""

    async def create_deployment(
        self,
        repository: RepositoryRef,
        *,
        sha: str,
        environment: str,
        is_production: bool,
        description: str,
        payload: Mapping[str, str],
        required_contexts: Sequence[str],
        is_transient: bool = False,
    ) -> HostDeployment:
        """Announce that exactly this commit is to be deployed. Nothing is merged into it.

        :param is_production: people use the environment directly.
        :param description: cut after 140 characters.
        :param payload: with ``forge`` as the key by which it is found again.
        :param required_contexts: names of checks that must have succeeded; empty: none.
        :param is_transient: the environment will not exist any more at some time.
        :raises Unprocessable: one of these did not succeed, which is named, or there is no such commit.
        """
        ...

    async def find_deployment(
        self, repository: RepositoryRef, sha: str, environment: str, key: str
    ) -> HostDeployment | None:
        """The App's own deployment of a commit whose payload has this key as ``forge``; of several the oldest."""
        ...

    async def add_deployment_status(
        self,
        repository: RepositoryRef,
        deployment_id: int,
        state: HostDeploymentState,
        *,
        description: str,
        log_url: str,
        environment_url: str,
        auto_inactive: bool,
    ) -> int:
        """Say how a deployment goes; the id of what was said.

        :param description: cut after 140 characters.
        :param log_url: empty if there is none; so is ``environment_url``.
        :param auto_inactive: a success makes earlier ones of the environment inactive, unless that is transient or
            production.
        :raises NotFound: there is no such deployment (any more).
        """
        ...

    async def list_deployment_statuses(
        self, repository: RepositoryRef, deployment_id: int
    ) -> Sequence[HostDeploymentStatus]:
        """All that was said about a deployment, newest first.

        :raises NotFound: there is no such deployment (any more).
        """
        ...

    async def dispatch_workflow(
        self, repository: RepositoryRef, workflow: str, ref: str, inputs: Mapping[str, str]
    ) -> int | None:
        """Start a workflow; the id of its run, None where GitHub does not tell it.

        :param workflow: name of its file, such as ``deploy.yml``.
        :param ref: a branch or tag, whose file counts.
        :param inputs: at most 25.
        :raises NotFound: the default branch has no such workflow.
        :raises Unprocessable: no such ref, the workflow cannot be started there, or it has other inputs.
        """
        ...

    async def find_dispatched_run(
        self, repository: RepositoryRef, workflow: str, key: str, since: datetime
    ) -> WorkflowRun | None:
        """The run that somebody started and whose title has ``key``; of several the oldest. It may appear late.

        :param since: when it was started, or earlier.
        :raises NotFound: there is no such workflow.
        """
        ...

    async def workflow_run(self, repository: RepositoryRef, run_id: int) -> WorkflowRun:
        """A workflow run in its newest attempt.

        :raises NotFound: there is none (any more).
        """
        ...

    async def cancel_workflow_run(self, repository: RepositoryRef, run_id: int) -> None:
        """Ask GitHub to cancel a run, which takes a moment.

        :raises Unprocessable: it is completed.
        :raises NotFound: there is none (any more).
        """
        ...


class CodeHost(Conversation, Merging, Issues, PullRequests, Actions, FailingChecks, Deployments, Protocol):
    """GitHub, as far as Forge needs it. Every method may raise the ``CodeHostError`` family.

    Reads are repeated by the adapter where that is safe; writes never are: whoever writes
    looks for the effect by its natural key first.
    """

    async def pull_request(self, repository: RepositoryRef, number: int) -> PullRequest: ...

    async def pull_commits(self, repository: RepositoryRef, number: int) -> Sequence[Commit]:
        """The commits of a pull request, oldest first; GitHub lists at most :data:`MOST_COMMITS`."""
        ...

    async def pushes_to(self, repository: RepositoryRef, branch: str, age: timedelta | None = None) -> Sequence[Push]:
        """Who moved a branch of the repository when, newest first.

        Nothing where GitHub keeps no such list, or does not show it.

        :param age: how far back, at least; None: all.
        """
        ...

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
        """Create the review; raises ``Unprocessable`` if GitHub refuses any of its positions, or what it is to be."""
        ...

    async def review_body(self, repository: RepositoryRef, number: int, review_id: int) -> str:
        """What a review says, apart from its comments.

        :raises NotFound: there is none.
        """
        ...

    async def edit_review(self, repository: RepositoryRef, number: int, review_id: int, body: str) -> None:
        """Change the body of a review of the own account.

        :raises NotFound: there is none.
        """
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

    async def address(self, repository: RepositoryRef) -> RepositoryRef:
        """The repository with the owner and the name it has now.

        :raises NotFound: it is gone, or its name belongs to another one now.
        """
        ...

    async def traits(self, repository: RepositoryRef) -> RepositoryTraits:
        """What GitHub says about a repository as a whole.

        :raises NotFound: it is gone, or its name belongs to another one now.
        """
        ...

    async def repository_ids(self, installation_id: int) -> Collection[int]:
        """The ids of the repositories of an installation, all of them."""
        ...

    async def installation_permissions(self, installation_id: int) -> Mapping[str, str]:
        """The permissions that an owner gave an installation: name → level.

        :raises NotFound: it was uninstalled.
        """
        ...

    async def installation_state(self, installation_id: int) -> InstallationState:
        """Whether an installation is there.

        :raises CodeHostError: GitHub does not say.
        """
        ...

    async def git_credentials(self, repository: RepositoryRef) -> str:
        """The value of an ``Authorization`` header for git over HTTP."""
        ...

    async def signature(self, repository: RepositoryRef) -> Signature:
        """The App's own name and address for commits, by which GitHub knows them as the App's."""
        ...


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


@dataclass(frozen=True)
class OutboundAnswer:
    """What an address answered at the end of its redirects.

    :param body: decompressed, at most 1 MiB; of a post, only its beginning.
    :param seconds: from the look-up of its name to the last byte.
    :param retry_after: the header of this name, to a post.
    """

    status: int
    body: bytes
    seconds: float
    retry_after: str = ""


class Outbound(Protocol):
    """The addresses that a repository's configuration names."""

    async def get(self, url: str, parameters: Mapping[str, str] = MappingProxyType({})) -> OutboundAnswer:
        """The answer of an address, whatever its status. Nothing is sent along that tells who asks.

        :param url: http or https, without credentials.
        :param parameters: are added to its query.
        :raises OutboundRefused: Forge may not ask it, or where it redirects to.
        :raises OutboundFailed: there was no whole answer in time, or it was too large.
        """
        ...

    async def post(self, url: str, body: bytes, headers: Mapping[str, str]) -> OutboundAnswer:
        """Send something there; the answer, whatever its status. No redirect is followed.

        :param url: https, or http where the operator allows the host; without credentials.
        :param headers: such as what the body is, and its signature.
        :raises OutboundRefused: Forge may not send it there.
        :raises OutboundFailed: there was no answer in time; what was sent may have arrived.
        """
        ...


class Clock(Protocol):
    """The time, so that tests can move it."""

    def now(self) -> datetime:
        """Now, with time zone UTC."""
        ...


class ModelBudget(Protocol):
    """The money of one phase of one run: reserved before each call of a model, settled after it."""

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
