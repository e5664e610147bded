"""Accounts, repositories and new objects, as GitHub shows them."""

from pydantic import BaseModel, Field

GHOST_ID = 10137  # GitHub's placeholder for deleted accounts
GHOST_LOGIN = "ghost"


class AccountShown(BaseModel):
    id: int
    login: str
    type: str = "User"


class RepositoryShown(BaseModel):
    id: int
    default_branch: str = ""


class RepositoryHome(RepositoryShown):
    """A repository requested by itself, with its current name and owner."""

    url: str
    owner: AccountShown
    default_branch: str = Field(min_length=1)
    archived: bool = False
    fork: bool = False
    has_issues: bool = True

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]


class Created(BaseModel):
    id: int
