"""Everything a webhook can ask Forge to do, as one closed union."""

from enum import StrEnum
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


class Repeat(StrEnum):
    """Whether a head that was reviewed before is reviewed again."""

    never = "never"
    if_excluded = "if_excluded"  # a draft that is ready now
    always = "always"  # reopened, or a person asked


class ReviewPullRequest(Command):
    """Review the pull request's head. The live head wins over ``head_sha``, which is only what the event saw."""

    kind: Literal["review_pull_request"] = "review_pull_request"
    repository: RepositoryRef
    number: int
    head_sha: str
    trigger: Trigger
    repeat: Repeat = Repeat.never
    sender: Sender


class ReviewCheckedHead(Command):
    """Review again the pull request of a check run or check suite.

    GitHub may leave its number out (forks), so it is found by ``run_id``, the check run's ``external_id``,
    or else by the head.
    """

    kind: Literal["review_checked_head"] = "review_checked_head"
    repository: RepositoryRef
    head_sha: str
    run_id: str | None
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


AnyCommand = Annotated[
    ReviewPullRequest | ReviewCheckedHead | EndPullRequest | EndInstallation,
    Field(discriminator="kind"),
]
COMMAND: TypeAdapter[AnyCommand] = TypeAdapter(AnyCommand)


class Ignored(BaseModel):
    """A delivery that asks for nothing; ``reason`` is counted, so it comes from a small closed set."""

    model_config = ConfigDict(frozen=True)

    reason: str
