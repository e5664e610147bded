"""Commits of pull requests, and who pushed them."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

MOST_COMMITS = 250
"""GitHub lists no more of a pull request: https://docs.github.com/rest/pulls/pulls#list-commits-on-a-pull-request."""


class Pusher(StrEnum):
    """What pushed a head."""

    person = "person"
    app = "app"  # nobody knows who made it do that
    forge = "forge"  # for the person named, or for nobody


@dataclass(frozen=True)
class Push:
    """A branch moved to a head.

    :param before: where the branch was, also if it was overwritten; empty for a new branch.
    :param by_id: the account; of Forge's own pushes whoever asked for it, 0 if nobody did.
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
    :param is_clean_merge: it has two parents, and is what git makes of them without help.
    """

    sha: str
    parents: tuple[str, ...]
    accounts: frozenset[int] = frozenset()
    is_clean_merge: bool = False
