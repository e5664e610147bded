"""Does what follows the verdict of a review: late dismissals, threads of findings that are gone, their uptake."""

from collections.abc import Collection
from functools import partial

import structlog

from domain.errors import Forbidden, NotFound, Unprocessable
from domain.github.importance import Importance, use_importance
from domain.runs.run import Run
from memory.learned import feedback
from memory.runs import checkpoints, runs
from messages import review as review_texts
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from pipeline.feedback.reactions import record_uptake
from pipeline.publishing import reviews
from pipeline.verdicts import threads
from pipeline.verdicts.settings import RunSettings
from pipeline.verdicts.settlement import settle_found_gone
from pipeline.verdicts.update import update_verdict

log = structlog.get_logger(__name__)


async def apply_late_dismissals(services: Services, run: Run, cause: str) -> None:
    """Show what people judged while the verdict was on its way; until a run is over, its check is left to it."""
    if await feedback.has_changed_during(services.database, run):
        await update_verdict(services, run.repository, run.number, cause, anew=False)


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


async def _load_called_gone(services: Services, run: Run) -> Collection[str]:
    """The names of the findings that reviews of a pull request called gone; what is back is in its newest."""
    past = await runs.list_for_pull_request(services.database, run.repository.id, run.number)
    past_reviews = await checkpoints.load_reviews(services.database, [each.run.id for each in past])
    return {name for each in past_reviews.values() for name in (*each.called_gone, *each.passing)}


async def _retell_overtaken(services: Services, run: Run) -> None:
    """Let the body of the newest review of an earlier head say that it was overtaken; those before it do already."""
    past = await runs.list_for_pull_request(services.database, run.repository.id, run.number)
    for other in (each.run for each in past if each.run.id < run.id and each.run.head_sha != run.head_sha):
        if await reviews.retell(services, other, partial(review_texts.render_overtaken, head_sha=run.head_sha)):
            return
