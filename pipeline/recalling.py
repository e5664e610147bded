"""Brings up what Forge learned where an agent begins something, and notes what became of it (SPEC M2)."""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.configuration import Configuration
from domain.memories import Memory
from domain.runs import Phase, Run
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
        return ()

    async def named(self, lessons: Sequence[Memory]) -> None:
        """Note which of them an answer named."""
        return
