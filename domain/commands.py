"""Everything a webhook can ask Forge to do, as one closed union."""

import hashlib
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter

from domain.deployments.deployment import Wish
from domain.gates import Choice
from domain.github.conversation import CommentRef
from domain.github.installations import EventSnapshot
from domain.review.reading import Effort
from domain.runs.run import RepositoryRef, Trigger
from domain.slash import SlashCommand, SlashMistake
from domain.value import Value


class Sender(Value):
    """The account that caused an event. Only ``id`` identifies it; logins can be registered again."""

    id: int
    login: str
    is_app: bool = False


class Command(Value):
    """What an event asks Forge to do."""


class RepositoryCommand(Command):
    """It is about a repository."""

    repository: RepositoryRef
    sender: Sender


class NumberedCommand(RepositoryCommand):
    """It is about an issue or a pull request."""

    number: int


class Repeat(StrEnum):
    """Whether a head that had a run before is reviewed again (``safety.eligibility``)."""

    never = "never"  # after an event: not if it has a verdict
    if_excluded = "if_excluded"  # a draft became ready
    if_begun = "if_begun"  # became a draft: only to replace a run that is under way and that nobody asked for
    unless_reviewed = "unless_reviewed"  # a person asks: not if it has a verdict or is being reviewed
    anew = "anew"  # a person asks for another plan: not while one is being made
    always = "always"  # reopened, or a person asks for a full review


class ReviewPullRequest(NumberedCommand):
    """Review the pull request's live head, which may be newer than the event's ``head_sha``.

    :param seen: the pull request as the event showed it; None without an event.
    :param pushed_at: when ``sender`` pushed that head; None if the event is not a push.
    :param before_sha: the head before; empty if that is not known.
    :param effort: that a person asked for; None for the configuration's.
    """

    kind: Literal["review_pull_request"] = "review_pull_request"
    head_sha: str
    trigger: Trigger
    repeat: Repeat = Repeat.never
    seen: EventSnapshot | None = None
    pushed_at: datetime | None = None
    before_sha: str = ""
    effort: Effort | None = None


class ReviewCheckedHead(RepositoryCommand):
    """Review the pull request of a check run or check suite again.

    GitHub may leave out its number (forks), so it is found by ``run_id``, the check run's ``external_id``, or else by
    the head.

    :param asked_at: when a label asked for it, since a label belongs to no head; None for a button, which does.
    """

    kind: Literal["review_checked_head"] = "review_checked_head"
    head_sha: str
    run_id: str | None
    trigger: Trigger
    asked_at: datetime | None = None


class EndPullRequest(NumberedCommand):
    """The pull request was closed or merged: stop what runs on it.

    :param reverts: the number of the pull request that it reverts, if GitHub's Revert button made it.
    """

    kind: Literal["end_pull_request"] = "end_pull_request"
    reverts: int | None = None
    seen: EventSnapshot | None = None


class EndIssue(NumberedCommand):
    """The issue was closed, by a person or an App: stop what runs on it."""

    kind: Literal["end_issue"] = "end_issue"
    seen: EventSnapshot | None = None


class LabelledIssue(NumberedCommand):
    """A person labelled an issue or a pull request; the configuration says what the label asks for.

    :param head_sha: of a pull request, as the event saw it; None for an issue.
    """

    kind: Literal["labelled_issue"] = "labelled_issue"
    label: str
    head_sha: str | None = None
    seen: EventSnapshot | None = None


class EndInstallation(Command):
    """The App was uninstalled or suspended, or lost repositories: stop what runs there, and purge lost data."""

    kind: Literal["end_installation"] = "end_installation"
    installation_id: int
    repository_ids: tuple[int, ...] | None  # None: all of them
    why: str  # deleted | suspend | removed
    sender: Sender

    @property
    def is_for_good(self) -> bool:
        """A suspended installation may be resumed."""
        return self.why != "suspend"


class ResumeInstallation(Command):
    """A suspension is over: report the runs that it ended."""

    kind: Literal["resume_installation"] = "resume_installation"
    installation_id: int
    sender: Sender


class WelcomeRepositories(Command):
    """Somebody chose a few repositories for the App: say there what it does."""

    kind: Literal["welcome_repositories"] = "welcome_repositories"
    repositories: tuple[RepositoryRef, ...]
    sender: Sender


class FollowRepository(RepositoryCommand):
    """A repository was renamed or transferred: store its data under the new address."""

    kind: Literal["follow_repository"] = "follow_repository"


class ReportMergeGroup(NumberedCommand):
    """A merge queue asks for our check on its temporary head: report the verdict of the pull request's own head.

    :param base_ref: the branch the queue merges into; empty if the event does not say.
    """

    kind: Literal["report_merge_group"] = "report_merge_group"
    head_sha: str
    base_ref: str = ""


class LeftMergeQueue(NumberedCommand):
    """A merge queue took a pull request out, and did not merge it.

    :param reason: GitHub's word for it, such as ``CI_FAILURE``.
    """

    kind: Literal["left_merge_queue"] = "left_merge_queue"
    head_sha: str
    reason: str


class WrittenComment(NumberedCommand):
    """A comment that a person wrote.

    :param number: of the issue or the pull request.
    :param comment: the comment, whose author is ``sender``.
    """

    is_pull_request: bool = True
    comment: CommentRef


class ExecuteComment(WrittenComment):
    """Execute the ``/forge`` lines of a comment in order, and answer it.

    :param written_at: when it was written, so that it does not apply to a later push.
    :param head_sha: the pull request's head as the event saw it; None for an issue comment, where GitHub leaves it out.
    :param opened_by: id of the account that opened the issue or pull request; None if it was deleted.
    :param asked: its commands and mistakes, at least one.
    :param path: the file on whose diff it stands, and ``line`` its line at the head; empty below the conversation.
    """

    kind: Literal["execute_comment"] = "execute_comment"
    written_at: datetime
    head_sha: str | None
    opened_by: int | None
    asked: tuple[SlashCommand | SlashMistake, ...]
    seen: EventSnapshot | None = None
    path: str = ""
    line: int | None = None


class DecideGate(RepositoryCommand):
    """A person pressed a button of a gate's check run."""

    kind: Literal["decide_gate"] = "decide_gate"
    gate_id: str
    choice: Choice
    head_sha: str


class SteerDeployment(RepositoryCommand):
    """A person pressed a button of a deployment's check run."""

    kind: Literal["steer_deployment"] = "steer_deployment"
    run_id: str
    wish: Wish


class RecordThread(NumberedCommand):
    """A person resolved or reopened a review thread that an App began.

    :param root: id of the thread's first comment; only Forge's own threads matter.
    :param thread: node id of the thread.
    :param is_dated: whether the event has a time; then no two events have the same body.
    """

    kind: Literal["record_thread"] = "record_thread"
    root: int
    thread: str
    is_resolved: bool
    head_sha: str
    is_dated: bool = False


class ReadRemark(WrittenComment):
    """A person commented below an issue or pull request, or in the summary of a review, in words and not by commands.

    They quote somebody, or mention them, who may be Forge.

    :param words: of the person alone: untrusted Markdown, cut off if it is long.
    :param quoted: the passages that they quote.
    :param mentioned: the accounts that they mention, in small letters; an App without its ``[bot]``.
    """

    kind: Literal["read_remark"] = "read_remark"
    words: str
    quoted: tuple[str, ...]
    mentioned: tuple[str, ...]
    seen: EventSnapshot | None = None


class ChangesRequested(NumberedCommand):
    """A person's review requested changes, in words and not by commands.

    :param remark: the same words, where they may be for Forge on a pull request of somebody else.
    """

    kind: Literal["changes_requested"] = "changes_requested"
    head_sha: str
    seen: EventSnapshot | None = None
    remark: ReadRemark | None = None


class ReadReply(WrittenComment):
    """A person commented on the diff of a pull request, in words and not by commands.

    :param words: untrusted Markdown, cut off if it is long.
    :param path: the file it is about; ``line`` is None if it is about no line of the head.
    """

    kind: Literal["read_reply"] = "read_reply"
    words: str
    path: str
    line: int | None
    head_sha: str
    opened_by: int | None


class FollowForcedPush(RepositoryCommand):
    """Somebody rewrote a branch: the verdicts of what goes into it were about another base."""

    kind: Literal["follow_forced_push"] = "follow_forced_push"
    branch: str


class ChecksEnded(Command):
    """The checks of an App ended on a head, or a workflow did: runs that wait for the results may continue."""

    kind: Literal["checks_ended"] = "checks_ended"
    repository: RepositoryRef
    head_sha: str


AnyCommand = Annotated[
    ReviewPullRequest
    | ReviewCheckedHead
    | EndPullRequest
    | EndIssue
    | LabelledIssue
    | EndInstallation
    | ResumeInstallation
    | WelcomeRepositories
    | FollowRepository
    | ReportMergeGroup
    | LeftMergeQueue
    | ExecuteComment
    | DecideGate
    | SteerDeployment
    | RecordThread
    | ChangesRequested
    | ReadReply
    | ReadRemark
    | FollowForcedPush
    | ChecksEnded,
    Field(discriminator="kind"),
]
COMMAND: TypeAdapter[AnyCommand] = TypeAdapter(AnyCommand)


def make_dedup_key(command: AnyCommand, body: bytes) -> str | None:
    """The key that makes a command act once, even if it is sent again under another GUID, which is not signed (T-W14).

    None if acting twice changes nothing, or if GitHub may send two events with the same body.

    :param body: what was signed.
    """
    if isinstance(command, ExecuteComment | ReadReply | ReadRemark):
        return f"{command.comment.kind} {command.comment.id}"
    return hashlib.sha256(body).hexdigest() if _acts_once(command) else None


def _acts_once(command: AnyCommand) -> bool:
    match command:
        case LabelledIssue() | ChangesRequested() | ReviewCheckedHead() | SteerDeployment():
            return True
        case DecideGate():
            return command.choice is not Choice.view
        case ReviewPullRequest():  # any other is identified by its head
            return command.repeat is Repeat.always
        case RecordThread():
            return command.is_dated
        case EndInstallation():
            return command.why == "deleted"
        case _:
            return False


class Ignored(Value):
    """A delivery that asks for nothing; ``reason`` is counted, so it comes from a small closed set."""

    reason: str
