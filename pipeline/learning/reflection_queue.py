"""Queues reflections: when a run ends, and at notable moments before and after."""

from datetime import UTC, datetime, timedelta

from agents.llm.models import LanguageModel, ModelTier
from domain.runs.run import Run, RunState
from memory import ledger
from memory.learned import reflections
from memory.runs import runs
from pipeline.context import Services
from pipeline.durable.queues import enqueue
from pipeline.durable.workflows import REFLECT
from safety.reflection_triggers import Moment, find_moments

_OVERLAP = timedelta(minutes=1)
"""Each sweep reads this much of the ledger again: transactions do not end in the order in which they started."""
_MISSED = timedelta(hours=1)
"""The first sweep of a process reads this much, for moments at which no process ran."""


async def enqueue_reflection(
    services: Services, run_id: str, repository_id: int, moment: Moment = Moment.ended
) -> None:
    """Queue a reflection, if Forge reflects at all; a repeated call changes nothing."""
    if can_reflect(services):
        await enqueue(REFLECT, run_id, moment.value, run=run_id, occasion=moment.value, repository=repository_id)


async def reflect_if_ended(services: Services, run: Run, outcome: str) -> str:
    """Queue the reflection on a run if its work ended; the outcome of the work."""
    if outcome != RunState.waiting.value:
        await enqueue_reflection(services, run.id, run.repository.id)
    return outcome


def can_reflect(services: Services) -> bool:
    """Whether the operator lets Forge reflect and there is a model to ask."""
    return services.reflects and isinstance(services.models.choose(ModelTier.fast), LanguageModel)


class ReflectionSweep:
    """Finds notable moments in runs that continue, or that people judged after they ended.

    Several processes may sweep at once: each reflection has its id.
    """

    def __init__(self, services: Services) -> None:
        self._services = services
        self._enqueued: set[tuple[str, Moment]] = set()
        self._since = datetime.now(UTC) - _MISSED  # the ids of events follow this machine's clock

    async def enqueue_reflections(self) -> None:
        """Queue the reflections that are due."""
        if not can_reflect(self._services):
            return
        started = datetime.now(UTC)
        news = set(await reflections.list_newsworthy_runs(self._services.database, self._since))
        self._enqueued = {each for each in self._enqueued if each[0] in news}
        for run_id in news:
            await self._enqueue_moments(run_id)
        self._since = started - _OVERLAP

    async def _enqueue_moments(self, run_id: str) -> None:
        run = await runs.get(self._services.database, run_id)
        if run is None:
            return
        for moment in sorted(find_moments(await ledger.load_events(self._services.database, run_id))):
            if (run_id, moment) not in self._enqueued:
                await enqueue_reflection(self._services, run_id, run.repository.id, moment)
                self._enqueued.add((run_id, moment))
