"""Chooses the inline comments of a review, and records which comment is about which finding."""

from collections.abc import Collection, Sequence

import structlog

from domain.errors import ForgeError
from domain.review.inline_comments import Remark
from domain.review.review import Review
from domain.runs.run import Run, Trigger
from memory import findings
from memory.repositories import automation_level
from memory.runs import checkpoints
from pipeline.consistent_reads import read_when_visible
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.publishing import reviews
from pipeline.publishing.reviews import PostedReview
from pipeline.verdicts.settings import RunSettings
from safety.allowed_actions import Action, ActionFacts, allows
from safety.automation_level import cap_level

log = structlog.get_logger(__name__)


async def choose_remarks(
    services: Services, run: Run, review: Review, settings: RunSettings
) -> tuple[Sequence[Remark], Collection[str]]:
    """What the comments of a review say, and which of its findings (their ids) have a comment from an earlier one."""
    posted = await findings.load_posted_before(services.database, run)
    remarks = reviews.choose_inline(review, posted, settings.configuration.review.max_comments)
    return remarks, {finding.id for finding in review.findings if finding.fingerprint in posted}


async def may_comment(services: Services, run: Run, settings: RunSettings) -> bool:
    """At the lowest level of automation Forge comments only where somebody asked for the review."""
    reached = await automation_level.get_level(services.database, run.repository.id)
    facts = ActionFacts(asked=run.trigger is not Trigger.pull_request)
    return allows(cap_level(reached, settings.configuration.ladder), Action.comment, facts).allowed


async def record_comments(
    services: Services, journal: WorkflowJournal, run: Run, settings: RunSettings, posted: PostedReview
) -> None:
    """Look again for comments that GitHub did not show right after they were posted.

    Only threads need them later, so neither the verdict nor the end of the run waits for that.
    """

    async def look(expected: int | None) -> None:
        # Read again: people may have judged findings since the verdict.
        review = await load_review(services, run)
        remarks, _ = await choose_remarks(services, run, review, settings)
        await reviews.record_comments(services, run, remarks, posted.review_id, expected or 0)

    if not posted.review_id:
        return
    try:
        await read_when_visible(services, journal, "know the comments", look, posted.comments)
    except ForgeError as error:  # the run has ended, or is about to
        log.warning("comments.unknown", run=run.id, error=str(error))


async def load_review(services: Services, run: Run) -> Review:
    """The review of a run from its checkpoint.

    :raises ForgeError: if it was deleted.
    """
    review = await checkpoints.load_review(services.database, run)
    if review is None:
        raise ForgeError("The checkpoint of the review phase is gone.", "Press Review again.")
    return review
