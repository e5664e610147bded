"""Issues and the comments below them."""

import hashlib
import json
from datetime import datetime

from pydantic import BaseModel, ConfigDict


class Issue(BaseModel):
    """An issue or pull request as GitHub shows it now.

    :param body: may be empty.
    :param author_id: None if the account was deleted.
    :param node_id: its GraphQL id.
    :param closed_at: None if it is open.
    """

    model_config = ConfigDict(frozen=True)

    number: int
    node_id: str
    title: str
    body: str
    is_open: bool
    author_id: int | None
    author_login: str
    author_association: str
    labels: tuple[str, ...]
    is_pull_request: bool
    updated_at: datetime | None = None  # to the second
    closed_at: datetime | None = None
    wording: str = ""  # see :func:`digest_wording`; empty: not known


class IssueComment(BaseModel):
    """A comment below an issue or pull request.

    :param author_id: None if the account was deleted.
    :param node_id: its GraphQL id.
    :param is_app: an App wrote it, even on behalf of a person.
    :param is_edited: it was edited, not necessarily by its author.
    """

    model_config = ConfigDict(frozen=True)

    id: int
    node_id: str
    author_id: int | None
    author_login: str
    is_app: bool
    author_association: str
    body: str
    created_at: datetime
    is_edited: bool


class TextEdit(BaseModel):
    """Somebody edited an issue or a comment, or wrote it.

    :param by_id: None if the account was deleted.
    :param at: to the second.
    """

    model_config = ConfigDict(frozen=True)

    by_id: int | None
    at: datetime


class AskedIssue(BaseModel):
    """The words of an issue when somebody asked for it to be solved, as they are kept.

    :param asked_at: to the second; None if it is not known.
    """

    title: str
    body: str
    asked_at: datetime | None = None


def digest_wording(title: str, body: str | None) -> str:
    """A digest of an issue's text, to notice edits without storing the text."""
    return hashlib.sha256(json.dumps([title, body or ""]).encode()).hexdigest()
