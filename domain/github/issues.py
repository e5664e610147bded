"""Issues and the comments below them."""

import hashlib
import json
from datetime import datetime

from pydantic import BaseModel, ConfigDict


class Issue(BaseModel):
    """An issue or pull request as GitHub shows it now.

    :param body: may be empty.
    :param author_id: None if the account was deleted.
    :param closed_at: None if it is open.
    """

    model_config = ConfigDict(frozen=True)

    number: int
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
    :param is_app: an App wrote it, even on behalf of a person.
    :param is_edited: it was edited, not necessarily by its author.
    """

    model_config = ConfigDict(frozen=True)

    id: int
    author_id: int | None
    author_login: str
    is_app: bool
    author_association: str
    body: str
    created_at: datetime
    is_edited: bool


def digest_wording(title: str, body: str | None) -> str:
    """A digest of an issue's text, to notice edits without storing the text."""
    return hashlib.sha256(json.dumps([title, body or ""]).encode()).hexdigest()
