"""Commits that Forge makes."""

from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict


class Signature(BaseModel):
    """The author of a commit."""

    model_config = ConfigDict(frozen=True)

    name: str
    email: str


@dataclass(frozen=True)
class FileToCommit:
    """A file that a commit changes.

    :param mode: git's, such as ``100644``.
    :param content: None where the file is removed.
    """

    path: str
    mode: str
    content: bytes | None


@dataclass(frozen=True)
class CommitDraft:
    """A commit to be made by GitHub, which signs it.

    :param onto: the tree that its files change.
    :param parents: commits that GitHub has.
    """

    message: str
    onto: str
    files: tuple[FileToCommit, ...]
    parents: tuple[str, ...]


@dataclass(frozen=True)
class MadeCommit:
    """A commit that GitHub made; no reference points to it yet.

    :param is_verified: whether GitHub shows it as verified.
    """

    sha: str
    tree: str
    is_verified: bool
