"""Everything a webhook can ask Forge to do, as one closed union."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from domain.gates import Choice
from domain.github.conversation import CommentRef
from domain.github.seen import EventSnapshot
from domain.runs.run import RepositoryRef, Trigger
from domain.slash.commands import SlashCommand
from domain.slash.mistakes import SlashMistake


class Sender(BaseModel):
    """Who caused an event. Only ``id`` identifies; logins can be re-registered."""

    model_config = ConfigDict(frozen=True)

    id: int
    login: str
    is_app: bool = False


class Command(BaseModel):
    model_config = ConfigDict(frozen=True)


class Repeat(StrEnum):
    """Whether a head that a run was about before is reviewed again (``safety.rereview``)."""

    never = "never"  # an event asks: not if it has a verdict
    if_excluded = "if_excluded"  # a draft that is ready now
    if_begun = "if_begun"  # a draft again: only in place of what is under way and nobody asked for
    unless_reviewed = "unless_reviewed"  # a person asks: not if it has a verdict, or is about to have one
    anew = "anew"  # a person asks for another plan: not while one is made
    always = "always"  # reopened, or a person asks for all of it again


class ReviewPullRequest(Command):
    """Review the pull request's head. The live head wins over ``head_sha``, which is only what the event saw.

    :param seen: what the event showed of the pull request; None where no event asks.
    :param pushed_at: when ``sender`` pushed that head; None where the event is about something else.
    """

    kind: Literal["review_pull_request"] = "review_pull_request"
    repository: RepositoryRef
    number: int
    head_sha: str
    trigger: Trigger
    repeat: Repeat = Repeat.never
    sender: Sender
    seen: EventSnapshot | None = None
    pushed_at: datetime | None = None


class ReviewCheckedHead(Command):
    """Review again the pull request of a check run or check suite.

    GitHub may leave its number out (forks), so it is found by ``run_id``, the check run's ``external_id``,
    or else by the head.

    :param asked_at: when a label asked for it, which people put on no head; None for a button, which belongs to one.
    """

    kind: Literal["review_checked_head"] = "review_checked_head"
    repository: RepositoryRef
    head_sha: str
    run_id: str | None
    trigger: Trigger
    sender: Sender
    asked_at: datetime | None = None


class EndPullRequest(Command):
    """The pull request was closed or merged: stop what runs on it.

    :param reverts: the pull request that it takes back, in the words GitHub writes for that.
    """

    kind: Literal["end_pull_request"] = "end_pull_request"
    repository: RepositoryRef
    number: int
    reverts: int | None = None
    sender: Sender
    seen: EventSnapshot | None = None


class EndIssue(Command):
    """The issue was closed, by whomever: stop what runs on it."""

    kind: Literal["end_issue"] = "end_issue"
    repository: RepositoryRef
    number: int
    sender: Sender
    seen: EventSnapshot | None = None


class LabelledIssue(Command):
    """An issue or a pull request was given a label, by a person; what the label asks for its configuration says.

    :param head_sha: of a pull request, as the event saw it; None for an issue.
    """

    kind: Literal["labelled_issue"] = "labelled_issue"
    repository: RepositoryRef
    number: int
    label: str
    head_sha: str | None = None
    sender: Sender
    seen: EventSnapshot | None = None


class EndInstallation(Command):
    """The App was uninstalled or suspended, or lost repositories: stop what runs there, and purge what is lost."""

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
    """The App may work again where it was suspended: say how the runs ended that the suspension ended."""

    kind: Literal["resume_installation"] = "resume_installation"
    installation_id: int
    sender: Sender


class FollowRepository(Command):
    """A repository has another name or owner: what is kept of it is known by its address from now on."""

    kind: Literal["follow_repository"] = "follow_repository"
    repository: RepositoryRef
    sender: Sender


class ReportMergeGroup(Command):
    """A merge queue asks for our check on its temporary head: report the verdict of the pull request's own head.

    :param base_ref: the branch the queue merges into; empty where the event does not say.
    """

    kind: Literal["report_merge_group"] = "report_merge_group"
    repository: RepositoryRef
    number: int
    head_sha: str
    base_ref: str = ""
    sender: Sender


class ExecuteComment(Command):
    """Do what a comment says in its ``/forge`` lines, in their order, and answer it.

    :param number: of the issue or the pull request.
    :param comment: the comment, whose author is ``sender``.
    :param written_at: when it was written, so that a later push is not mistaken for what it spoke of.
    :param head_sha: the pull request's head as the event saw it; None below an issue comment, where GitHub leaves
        it out.
    :param opened_by: account id of who opened the issue or pull request; None if it was deleted.
    :param asked: at least one.
    """

    kind: Literal["obey_comment"] = "obey_comment"
    repository: RepositoryRef
    number: int
    is_pull_request: bool
    comment: CommentRef
    written_at: datetime
    head_sha: str | None
    opened_by: int | None
    sender: Sender
    asked: tuple[SlashCommand | SlashMistake, ...]
    seen: EventSnapshot | None = None


class DecideGate(Command):
    """A person pressed a button of a gate's check run."""

    kind: Literal["decide_gate"] = "decide_gate"
    repository: RepositoryRef
    gate_id: str
    choice: Choice
    head_sha: str
    sender: Sender


class RecordThread(Command):
    """A person resolved a review thread that an App began, or opened it again.

    :param root: id of the comment the thread began with; only a thread of Forge's own means anything.
    :param thread: node id of the thread.
    :param is_dated: whether the event said when that was, so that no other is told in the same words.
    """

    kind: Literal["note_thread"] = "note_thread"
    repository: RepositoryRef
    number: int
    root: int
    thread: str
    is_resolved: bool
    head_sha: str
    sender: Sender
    is_dated: bool = False


class ChangesRequested(Command):
    """A person reviewed a pull request and requested changes, in words and not by commands."""

    kind: Literal["changes_requested"] = "changes_requested"
    repository: RepositoryRef
    number: int
    head_sha: str
    sender: Sender
    seen: EventSnapshot | None = None


class ReadReply(Command):
    """A person wrote on the diff of a pull request, in words and not by commands.

    :param words: Markdown, nothing of it trusted; cut off where it is long.
    :param path: the file it stands in; ``line`` is None where it is about none at head.
    """

    kind: Literal["hear_comment"] = "hear_comment"
    repository: RepositoryRef
    number: int
    comment: CommentRef
    words: str
    path: str
    line: int | None
    head_sha: str
    opened_by: int | None
    sender: Sender


class ReadMemoryFile(Command):
    """A push to the default branch may have changed the file with what people want remembered.

    :param head_sha: what was pushed; None in commands that another version kept.
    """

    kind: Literal["read_memory_file"] = "read_memory_file"
    repository: RepositoryRef
    sender: Sender
    head_sha: str | None = None


class ChecksEnded(Command):
    """A workflow of the repository's own ended on a head: who waits for its results may look."""

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
    | FollowRepository
    | ReportMergeGroup
    | ExecuteComment
    | DecideGate
    | RecordThread
    | ChangesRequested
    | ReadReply
    | ReadMemoryFile
    | ChecksEnded,
    Field(discriminator="kind"),
]
COMMAND: TypeAdapter[AnyCommand] = TypeAdapter(AnyCommand)


def make_dedup_key(command: AnyCommand, digest: str) -> str | None:
    """What a command is known by beside its delivery's GUID, which is not signed: sent again under another it is known
    (T-W14). None where acting twice changes nothing, or where GitHub may tell two acts in the same words.

    :param digest: of the signed body.
    """
    match command:
        case ExecuteComment() | ReadReply():
            return f"{command.comment.kind} {command.comment.id}"
        case LabelledIssue() | ChangesRequested() | ReviewCheckedHead():
            return digest
        case DecideGate():
            return None if command.choice is Choice.view else digest
        case ReviewPullRequest():  # each other one is known by its head
            return digest if command.repeat is Repeat.always else None
        case RecordThread():
            return digest if command.is_dated else None
        case EndInstallation():
            return digest if command.why == "deleted" else None
        case _:
            return None


class Ignored(BaseModel):
    """A delivery that asks for nothing; ``reason`` is counted, so it comes from a small closed set."""

    model_config = ConfigDict(frozen=True)

    reason: str
