"""Everything a webhook can ask Forge to do, as one closed union."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from domain.runs import RepositoryRef, Trigger


class Sender(BaseModel):
    """Who caused an event. Only ``id`` identifies; logins can be re-registered."""

    model_config = ConfigDict(frozen=True)

    id: int
    login: str
    is_app: bool = False


class Command(BaseModel):
    model_config = ConfigDict(frozen=True)


class ReviewPullRequest(Command):
    """Review this head. ``again`` asks for a new attempt on a head that was reviewed before."""

    kind: Literal["review_pull_request"] = "review_pull_request"
    repository: RepositoryRef
    number: int
    head_sha: str
    trigger: Trigger
    again: bool = False
    sender: Sender


class ReviewCheckedHead(Command):
    """Review the pull request a check run or check suite belongs to; its number may be missing (forks)."""

    kind: Literal["review_checked_head"] = "review_checked_head"
    repository: RepositoryRef
    head_sha: str
    check_external_id: str | None
    trigger: Trigger
    sender: Sender


class EndPullRequest(Command):
    """The pull request was closed or merged: stop what runs on it."""

    kind: Literal["end_pull_request"] = "end_pull_request"
    repository: RepositoryRef
    number: int
    sender: Sender


class EndInstallation(Command):
    """The App was uninstalled or suspended, or lost repositories: stop what runs there."""

    kind: Literal["end_installation"] = "end_installation"
    installation_id: int
    repository_ids: tuple[int, ...] | None  # None: all of them
    why: str
    sender: Sender


class ReportMergeGroup(Command):
    """A merge queue asks for our check on its temporary head."""

    kind: Literal["report_merge_group"] = "report_merge_group"
    repository: RepositoryRef
    head_sha: str
    head_ref: str
    sender: Sender


AnyCommand = Annotated[
    ReviewPullRequest | ReviewCheckedHead | EndPullRequest | EndInstallation | ReportMergeGroup,
    Field(discriminator="kind"),
]
COMMAND: TypeAdapter[AnyCommand] = TypeAdapter(AnyCommand)


class Ignored(BaseModel):
    """A delivery that asks for nothing; ``reason`` is counted, so it comes from a small closed set."""

    model_config = ConfigDict(frozen=True)

    reason: str
