"""Validates GitHub's answers against the documented shapes; accounts, repositories and new objects have theirs here."""

from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from domain.value import Value
from github.errors import bad_answer

Shape = TypeVar("Shape", bound=BaseModel)


def parse(shape: type[Shape], data: object, purpose: str) -> Shape:
    """``data`` as the shape that GitHub documents.

    :raises Unavailable: it does not match; the message names the fields, never their values.
    """
    try:
        return shape.model_validate(data)
    except ValidationError as error:
        raise bad_answer(purpose, _describe_place(error)) from None


def parse_all(shape: type[Shape], items: list[object], purpose: str) -> list[Shape]:
    """Each item as ``shape``; one invalid item fails the whole list, so that nothing is ever silently left out."""
    return [parse(shape, item, purpose) for item in items]


def _describe_place(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    return ", ".join(f"{'.'.join(map(str, one['loc'])) or 'the answer'}: {one['type']}" for one in problems[:3])


GHOST_ID = 10137  # GitHub's placeholder for deleted accounts
GHOST_LOGIN = "ghost"


class AccountShown(Value):
    id: int
    login: str
    type: str = "User"


class Node(Value):
    """Part of a GraphQL answer; its names are in camel case."""

    model_config = ConfigDict(alias_generator=to_camel)


class Actor(Node):
    """Who did something, over GraphQL; without an id if it is neither a person nor an App."""

    typename: str = Field(default="", alias="__typename")
    database_id: int | None = None


class RepositoryShown(Value):
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


class Created(Value):
    id: int
