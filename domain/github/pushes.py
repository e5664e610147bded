"""Commits of pull requests, who pushed them, and where a branch was at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

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
