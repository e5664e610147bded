"""Brings up what Forge learned where an agent begins something, and notes what became of it (SPEC M2)."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.configuration import Configuration
from domain.memories import Memory, Use
from domain.runs import Phase, Run
from memory import memories, recall
from memory.recall import Asked
from pipeline.services import Services


@dataclass(frozen=True)
class About:
    """What an agent is going to work on, for looking up what is known about it; nothing of it is trusted.

    :param tags: paths and rules.
    """

    text: str
    tags: tuple[str, ...] = ()


class Recalling:
    """The memory of one task of a run: what it was told once is what it is told, whenever it is asked again.

    :param task: names the task within its run.
    """

    def __init__(
        self, services: Services, run: Run, phase: Phase, configuration: Configuration, task: str, about: About
    ) -> None:
        self._services = services
        self._run = run
        self._phase = phase
        self._memory = configuration.memory
        self._task = f"{phase.value} {task}".strip()
        self._about = about

    async def lessons(self) -> Sequence[Memory]:
        """What is known, the most fitting first; nothing where the repository keeps no memory."""
        if not self._memory.enabled:
            return ()
        database = self._services.database
        told = await recall.told(database, self._run.id, self._task)
        if told:
            return told
        asked = Asked(self._run.repository, self._about.text, self._about.tags, organisation=self._memory.organisation)
        now = self._services.clock.now()
        found = await recall.recall(database, asked, now)
        await recall.note(database, self._run.id, self._phase, self._task, found, now)
        return tuple(each.memory for each in found)

    async def named(self, lessons: Sequence[Memory]) -> None:
        """Note which of them an answer named."""
        if lessons:
            ids = [each.id for each in lessons]
            await recall.helped(self._services.database, self._run.id, self._task, ids, self._services.clock.now())


async def settle(services: Services, run: Run, *, succeeded: bool) -> None:
    """Once a run is over: what helped one that came through is surer from now on (SPEC M3). May be repeated."""
    now = services.clock.now()
    helped = await recall.settle(services.database, run.id, now)
    if succeeded:
        await memories.use(services.database, helped, Use.applied, run.id, now)
