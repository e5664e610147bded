"""Decides whether a pull request may be reviewed once more this hour, so that nobody can keep Forge busy (T-B3)."""

from dataclasses import dataclass
from datetime import timedelta

from domain.verdicts import Reason

WINDOW = timedelta(hours=1)
PER_PULL_REQUEST = 30
PER_STRANGER = 20
PER_REPOSITORY = 300


@dataclass(frozen=True)
class Begun:
    """How many runs of the last hour pushes began, this one and none after it included, refused ones left out."""

    on_pull_request: int
    by_sender: int
    in_repository: int


def over_quota(begun: Begun, *, from_fork: bool) -> Reason | None:
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
