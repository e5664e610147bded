"""Decides whether somebody may have one more review, or one more comment obeyed, this hour (T-B3, T-B4).

So nobody can keep Forge busy, nor use up the writes that GitHub allows.
"""

from dataclasses import dataclass
from datetime import timedelta

from domain.verdicts import Reason

WINDOW = timedelta(hours=1)
PER_PULL_REQUEST = 30
PER_STRANGER = 20
PER_REPOSITORY = 300
COMMENTS_PER_OUTSIDER = 10
COMMENTS_PER_REPOSITORY = 100  # of everybody; beyond that, outsiders are turned away
OUTSIDERS = frozenset({"none", "read"})  # on a public repository everybody has the role read


@dataclass(frozen=True)
class RunCounts:
    """How many runs of the last hour pushes began, this one and none after it included, refused ones left out."""

    on_pull_request: int
    by_sender: int
    in_repository: int


def over_quota(begun: RunCounts, *, from_fork: bool) -> Reason | None:
    """Why a run must wait for a person; None if it may go on.

    :param from_fork: whoever pushed need not be known here; one such account must not use up everybody's share.
    """
    counted = [
        (begun.on_pull_request, PER_PULL_REQUEST, "on this pull request"),
        (begun.by_sender if from_fork else 0, PER_STRANGER, "of what this account sent from forks"),
        (begun.in_repository, PER_REPOSITORY, "in this repository"),
    ]
    for count, limit, where in counted:
        if count > limit:
            text = f"{count} reviews within an hour {where}; {limit} are allowed"
            return Reason(code="quota", text=text, value=count, threshold=limit)
    return None


@dataclass(frozen=True)
class CommentCounts:
    """How many comments with commands there were within the last hour, this one included."""

    by_account: int
    in_repository: int

    @property
    def is_much(self) -> bool:
        """Whether it matters who wrote them."""
        return self.by_account > COMMENTS_PER_OUTSIDER or self.in_repository > COMMENTS_PER_REPOSITORY


def over_comment_quota(commented: CommentCounts, role: str) -> Reason | None:
    """Why nothing is done about one more comment; None if it is obeyed. Whoever has a role here always is.

    :param role: the live one of who wrote it.
    """
    if role not in OUTSIDERS or not commented.is_much:
        return None
    is_own = commented.by_account > COMMENTS_PER_OUTSIDER
    count, limit = (
        (commented.by_account, COMMENTS_PER_OUTSIDER) if is_own else (commented.in_repository, COMMENTS_PER_REPOSITORY)
    )
    where = "by this account" if is_own else "in this repository"
    text = f"{count} comments with commands within an hour {where}; {limit} are allowed to who has no role here"
    return Reason(code="quota", text=text, value=count, threshold=limit)
