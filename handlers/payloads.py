"""Typed views of GitHub's webhook payloads: only what Forge reads, strictly checked."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from domain.commands import Sender
from domain.runs import RepositoryRef

Sha = Annotated[str, Field(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
Id = Annotated[int, Field(strict=True, gt=0, lt=2**63)]  # as the databases can keep it
Number = Annotated[int, Field(strict=True, gt=0, lt=2**31)]
Name = Annotated[str, Field(pattern=r"^[^\s/\x00-\x1f]{1,100}$")]  # becomes part of addresses


class View(BaseModel):
    """Part of a payload; what it does not name is not read."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Account(View):
    id: Id
    login: Name
    type: str = "User"

    def as_sender(self) -> Sender:
        return Sender(id=self.id, login=self.login, is_app=self.type == "Bot")


class Repository(View):
    id: Id
    name: Name
    owner: Account
    default_branch: str = ""


class Installation(View):
    id: Id


class RepositoryEvent(View):
    """What every event of a repository carries."""

    action: str = ""
    repository: Repository
    installation: Installation
    sender: Account

    def where(self) -> RepositoryRef:
        return RepositoryRef(
            installation_id=self.installation.id,
            id=self.repository.id,
            owner=self.repository.owner.login,
            name=self.repository.name,
        )
