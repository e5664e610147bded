"""Commits that Forge makes and others push, who pushed them, and the names and heads of branches."""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from domain.value import Value

PREFIX = "forge/"
_LONGEST = 40  # characters of the slug
_READ = 1_000  # characters read of the title; GitHub takes 256
_APOSTROPHE = re.compile("['’ʼ`]")
_OTHER = re.compile(r"[^a-z0-9]+")


def make_branch_name(number: int, title: str) -> str:
    """``forge/ISSUE-slug``: a valid branch name for every title.

    Of the title only ``a-z``, ``0-9`` and single dashes are left, which no rule of git's forbids
    (https://git-scm.com/docs/git-check-ref-format); if nothing is left it is ``forge/ISSUE``.
    """
    slug = _slug(title)
    return f"{PREFIX}{number}-{slug}" if slug else f"{PREFIX}{number}"


def add_suffix(branch: str, number: int) -> str:
    """Another name if the branch exists, e.g. ``forge/12-discounts-2``.

    :param number: from 2 on.
    """
    return f"{branch}-{number}"


def _slug(title: str) -> str:
    # Branch names are public, so they must not contain secrets.
    plain = unicodedata.normalize("NFKD", redact_outgoing(strip_invisible(title[:_READ])).casefold())
    letters = "".join(c for c in _APOSTROPHE.sub("", plain) if not unicodedata.combining(c))
    # At most so many characters, at the end of a word if there is one.
    slug = _OTHER.sub("-", letters).strip("-")
    if len(slug) <= _LONGEST:
        return slug
    words, _, _ = slug[: _LONGEST + 1].rpartition("-")
    return words or slug[:_LONGEST]


class Signature(Value):
    """The author of a commit."""

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


MOST_COMMITS = 250
"""GitHub lists no more of a pull request: https://docs.github.com/rest/pulls/pulls#list-commits-on-a-pull-request."""


AN_APP = 0
"""In place of an account: an App, of which nobody knows who made it say that."""


class Pusher(StrEnum):
    """What pushed a head."""

    person = "person"
    app = "app"  # nobody knows who made it do that
    forge = "forge"  # for the person named, or for nobody
    merge = "merge"  # a merge of a pull request that the person named wrote part of
    proposal = "proposal"  # the person named proposed it from a fork, or owns that: nothing tells who pushed it there
    unknown = "unknown"  # GitHub did not say


@dataclass(frozen=True)
class Push:
    """A branch moved to a head.

    :param before: where the branch was, also if it was overwritten; empty for a new branch.
    :param by_id: the account; of Forge's own pushes whoever asked for it, 0 if nobody did, or nobody knows. Of an App
        :data:`AN_APP` where Forge pushed what that App's words asked for.
    :param at: as GitHub says.
    """

    after: str
    before: str
    by_id: int
    by: Pusher
    at: datetime


@dataclass(frozen=True)
class Commit:
    """A commit of a pull request.

    :param accounts: the accounts that GitHub links with the addresses of its author and its committer.
    :param author: that of its author; 0 if GitHub links none.
    :param is_clean_merge: it has two parents, and is what git makes of them without help.
    """

    sha: str
    parents: tuple[str, ...]
    accounts: frozenset[int] = frozenset()
    is_clean_merge: bool = False
    author: int = 0


def find_head_at(pushed: Sequence[Push], head: str, at: datetime) -> str | None:
    """The commit that a branch pointed to at a time; None if that is not clear.

    :param pushed: the pushes to the branch, newest first, at least as far back as that time.
    :param head: where it points now.
    """
    for push in pushed:
        if push.after != head:  # one is missing: it is not listed yet, or its account is gone
            return None
        if push.at <= at:
            break
        head = push.before
    return head or None
