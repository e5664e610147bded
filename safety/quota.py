"""Decides whether a pull request may be reviewed once more this hour, so that nobody can keep Forge busy (T-B3)."""

from datetime import timedelta

from domain.verdicts import Reason

WINDOW = timedelta(hours=1)
PER_PULL_REQUEST = 30
PER_REPOSITORY = 300


def over_quota(on_pull_request: int, in_repository: int) -> Reason | None:
    """Why a run must wait for a person; None if it may go on.

    :param on_pull_request: runs of the last hour that pushes began on this pull request, this one included.
    :param in_repository: the same for the whole repository.
    """
    for count, limit, where in (
        (on_pull_request, PER_PULL_REQUEST, "on this pull request"),
        (in_repository, PER_REPOSITORY, "in this repository"),
    ):
        if count > limit:
            text = f"{count} reviews within an hour {where}; {limit} are allowed"
            return Reason(code="quota", text=text, value=count, threshold=limit)
    return None
