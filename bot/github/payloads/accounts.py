"""Accounts, repositories and what was just created, as every part of GitHub's API shows them."""

from pydantic import BaseModel, Field

GHOST_ID = 10137  # GitHub's account that stands for deleted ones
GHOST_LOGIN = "ghost"


class AccountShown(BaseModel):
    id: int
    login: str
    type: str = "User"


class RepositoryShown(BaseModel):
    id: int
    default_branch: str = ""


class RepositoryHome(RepositoryShown):
    """A repository as it is asked for by itself, under the name and owner it has now."""

    url: str
    owner: AccountShown
    default_branch: str = Field(min_length=1)

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]


class Created(BaseModel):
    id: int
