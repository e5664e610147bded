"""Does what follows when people decide a gate or judge a finding, by comment, button or thread."""

from collections.abc import Awaitable, Callable, Collection
from typing import TypeVar

from domain.runs.run import RepositoryRef
from domain.verbs import Effect
from pipeline.automation.level import try_update_level
from pipeline.deliveries.context import DeliveryContext
from pipeline.verdicts.resume import resume_judged_run

T = TypeVar("T")


async def follow_up(
    context: DeliveryContext,
    repository: RepositoryRef,
    number: int,
    effects: Collection[Effect],
    show: Callable[[], Awaitable[T]],
) -> T:
    """Resume the waiting run, show the decision, and evaluate the automation level; the answer of ``show``.

    :param effects: of all that was decided together.
    """
    is_judged = Effect.judges_findings in effects
    if is_judged or Effect.answers_gate in effects:
        await resume_judged_run(
            context.services, context.journal, context.guid, repository, number, is_judged=is_judged
        )
    shown = await show()
    if is_judged or Effect.counts_for_level in effects:
        await context.journal.step("weigh the level", try_update_level, context.services, repository, number)
    return shown
