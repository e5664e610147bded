"""Does what follows the verdict of a review: late dismissals, comments that GitHub shows late, settled threads."""

from collections.abc import Collection
from functools import partial

import structlog

from domain.errors import Forbidden, ForgeError, NotFound, Unprocessable
from domain.runs.run import Run
from memory.learned import feedback
from memory.runs import checkpoints, runs
from messages import review as review_texts
from pipeline.checkout import fetch_mirror
from pipeline.consistent_reads import read_when_visible
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.feedback.reactions import record_uptake
from pipeline.publishing import reviews
from pipeline.publishing.reviews import PostedReview
from pipeline.review.verdict import choose_remarks, load_review
from pipeline.verdicts import threads
from pipeline.verdicts.settings import RunSettings
from pipeline.verdicts.threads import settle_found_gone
from pipeline.verdicts.update import update_verdict
from safety.github_limits import Importance, use_importance

log = structlog.get_logger(__name__)


async def apply_late_dismissals(services: Services, run: Run, cause: str) -> None:
    """Show what people judged while the verdict was on its way; until a run is over, its check is left to it."""
    if await feedback.has_changed_during(services.database, run):
        await update_verdict(services, run.repository, run.number, cause, anew=False)


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


async def settle_threads(services: Services, run: Run, settings: RunSettings) -> list[str]:
    """Resolve the threads of findings that are gone, and record how they went; the findings' names.

    What an earlier review called gone is gone, too: a push may have ended that one before it came to this.
    """
    if not await runs.is_current(services.database, run):
        return []
    try:
        with use_importance(Importance.tidying):
            await settle_found_gone(services, run)
            # Read again: people may have judged findings since the verdict.
            review = await checkpoints.load_review(services.database, run)
            if review is None:
                return []
            await _retell_overtaken(services, run)
            gone = await _load_called_gone(services, run)
            settled = await threads.settle(services, run, review, gone, review.passing)
        is_fork = settings.pull_request.is_from_fork(run.repository.id)
        mirror = partial(fetch_mirror, services, run)
        await record_uptake(services, run, review, mirror, settled=settled, is_fork=is_fork)
        return [*settled]
    except (Forbidden, NotFound, Unprocessable) as error:  # the next push settles them
        log.warning("threads.not_settled", run=run.id, error=str(error))
        return []


async def _retell_overtaken(services: Services, run: Run) -> None:
    """Let the body of the newest review of an earlier head say that it was overtaken; those before it do already."""
    past = await runs.list_for_pull_request(services.database, run.repository.id, run.number)
    for other in (each.run for each in past if each.run.id < run.id and each.run.head_sha != run.head_sha):
        if await reviews.retell(services, other, partial(review_texts.render_overtaken, head_sha=run.head_sha)):
            return


async def _load_called_gone(services: Services, run: Run) -> Collection[str]:
    """The names of the findings that reviews of a pull request called gone; what is back is in its newest."""
    past = await runs.list_for_pull_request(services.database, run.repository.id, run.number)
    past_reviews = await checkpoints.load_reviews(services.database, [each.run.id for each in past])
    return {name for each in past_reviews.values() for name in (*each.called_gone, *each.passing)}
