"""Typed views of GitHub's webhook payloads: only what Forge reads, strictly checked."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, ConfigDict, Field

from domain.commands import Sender
from domain.github.conversation import digest_wording
from domain.github.installations import EventSnapshot
from domain.runs.run import RepositoryRef
from domain.value import Value

Sha = Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
Id = Annotated[int, Field(strict=True, gt=0, lt=2**63)]  # as large as the databases can store
Number = Annotated[int, Field(strict=True, gt=0, lt=2**31)]
FullName = Annotated[str, Field(pattern=r"^[^\s/\x00-\x1f]{1,100}/[^\s/\x00-\x1f]{1,100}$")]
Name = Annotated[str, Field(pattern=r"^[^\s/\x00-\x1f]{1,100}$")]  # becomes part of URLs


class View(Value):
    """Part of a payload; other fields are not read."""

    model_config = ConfigDict(extra="ignore")


class AccountView(View):
    id: Id
    login: Name
    type: str = "User"

    def as_sender(self) -> Sender:
        return Sender(id=self.id, login=self.login, is_app=self.type == "Bot")


_NOBODY = AccountView(id=10137, login="ghost", type="Bot")
"""GitHub's placeholder for an account, where an event names no sender; as an App's, what it says commands nothing."""


class RepositoryView(View):
    id: Id
    name: Name
    owner: AccountView
    default_branch: str = ""


class LabelGiven(View):
    """The label that was added."""

    name: Annotated[str, Field(min_length=1, max_length=200)]


class InstallationView(View):
    id: Id


class Subject(View):
    """The fields that events carry of every issue and pull request."""

    number: Number
    state: Literal["open", "closed"] | None = None
    updated_at: AwareDatetime | None = None

    def to_seen(self) -> EventSnapshot | None:
        """The state that the event shows; GitHub's API may still show an older one."""
        if self.updated_at is None:
            return None
        return EventSnapshot(updated_at=self.updated_at, is_open=None if self.state is None else self.state == "open")


class IssueSubject(Subject):
    """The fields that events carry of every issue."""

    title: str | None = None
    body: str | None = None

    def to_seen(self) -> EventSnapshot | None:
        known = super().to_seen()
        if known is None or self.title is None:
            return known
        return known.model_copy(update={"wording": digest_wording(self.title, self.body)})


class CommitView(View):
    sha: Sha


class Base(View):
    ref: str


class PullSubject(Subject):
    """The fields that events carry of every pull request."""

    head: CommitView
    base: Base | None = None
    draft: bool | None = None

    def to_seen(self) -> EventSnapshot | None:
        known = super().to_seen()
        base = None if self.base is None else self.base.ref
        return known and known.model_copy(update={"head_sha": self.head.sha, "is_draft": self.draft, "base_ref": base})


class RepositoryEvent(View):
    """The fields of every event of a repository."""

    action: str = ""
    repository: RepositoryView
    installation: InstallationView
    sender: AccountView = _NOBODY

    def to_ref(self) -> RepositoryRef:
        return RepositoryRef(
            installation_id=self.installation.id,
            id=self.repository.id,
            owner=self.repository.owner.login,
            name=self.repository.name,
        )
