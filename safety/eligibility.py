"""Decides whether a pull request is reviewed at all, by its state and the repository's configuration."""

from domain.configuration import ReviewSettings
from domain.ports import PullRequest
from domain.verdicts import Reason


def exclusion(pull_request: PullRequest, settings: ReviewSettings) -> Reason | None:
    """Why this pull request is left out; None if it is to be reviewed."""
    if not settings.on_pull_request:
        return Reason(
            code="excluded.off", text="Reviews are switched off here (`review.on_pull_request` in `.github/forge.yml`)."
        )
    if pull_request.is_draft and not settings.drafts:
        return Reason(
            code="excluded.draft",
            text="This is a draft. It is reviewed once it is ready, or at once with `review.drafts: true`.",
        )
    return None
