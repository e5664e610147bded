"""Brings up what Forge learned where an agent begins something, and notes what became of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.llm.context import PromptContext
from agents.llm.embedding import embed
from agents.llm.models import Embedding
from domain.config.configuration import Configuration
from domain.memories.memory import Memory, Use
from domain.ports import ModelBudget
from domain.runs.run import Phase, Run
from domain.text.redaction import redact_outgoing
from memory.learned import memories, recall, vectors
from memory.learned.recall import RecallQuery
from memory.learned.vectors import Vector
from pipeline.context import Services


@dataclass(frozen=True)
class RecallTopic:
    """What an agent is going to work on, for looking up what is known about it; nothing of it is trusted.

    :param tags: paths and rules.
    """

    text: str
    tags: tuple[str, ...] = ()


class MemoryRecall:
    """The memory of one task of a run: what it was told once is what it is told, whenever it is asked again.

    :param task: names the task within its run.
    """

    def __init__(
        self, services: Services, run: Run, phase: Phase, configuration: Configuration, task: str, about: RecallTopic
    ) -> None:
        self._services = services
        self._run = run
        self._phase = phase
        self._memory = configuration.memory
        self._task = f"{phase.value} {task}".strip()
        self._about = about

    async def load_lessons(self, purse: ModelBudget) -> Sequence[Memory]:
        """What is known, the most fitting first; nothing where the repository keeps no memory."""
        if not self._memory.enabled:
            return ()
        database = self._services.database
        told = await recall.list_recalled(database, self._run.id, self._task)
        if told:
            return told
        asked = RecallQuery(
            self._run.repository, self._about.text, self._about.tags, organisation=self._memory.organisation
        )
        now = self._services.clock.now()
        found = await recall.recall(database, asked, now, await self._embed_query(purse))
        await recall.note(database, self._run.id, self._phase, self._task, found, now)
        return tuple(each.memory for each in found)

    async def _embed_query(self, purse: ModelBudget) -> Vector | None:
        """What is asked as a vector, once memories without one have theirs; None where no model makes any."""
        embedding = self._services.models.embedding
        if not isinstance(embedding, Embedding):
            return None
        database, step = self._services.database, f"vectors for {self._task}"
        new = await vectors.list_missing(database, self._run.repository.id, embedding.name)
        if new:
            made = await embed([_format_memory(each) for each in new], "document", embedding, purse, step)
            if made is None:
                return None
            await vectors.keep(database, new, [Vector(embedding.name, each) for each in made])
        words = redact_outgoing("\n".join([self._about.text, *self._about.tags]))
        asked = await embed([words], "query", embedding, purse, step)
        return None if asked is None else Vector(embedding.name, asked[0])

    async def record_named(self, answer: str) -> None:
        """Note which of the memories that were told an answer names."""
        told = await recall.list_recalled(self._services.database, self._run.id, self._task)
        ids = [each.id for each in PromptContext(lessons=tuple(told)).find_named(answer)]
        if ids:
            await recall.mark_helped(self._services.database, self._run.id, self._task, ids, self._services.clock.now())


def _format_memory(memory: Memory) -> str:
    return redact_outgoing("\n".join([memory.context, memory.content, *memory.tags]).strip())


async def settle_memories(services: Services, run: Run, *, succeeded: bool) -> None:
    """Once a run is over: what helped one that came through is surer from now on. May be repeated."""
    now = services.clock.now()
    helped = await recall.settle(services.database, run.id, now)
    if succeeded:
        await memories.record_use(services.database, helped, Use.applied, run.id, now)
