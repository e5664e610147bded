"""Recalls memories when an agent begins a task, and records which of them helped."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.llm.client import embed
from agents.llm.models import Embedding
from agents.reflection import PromptContext
from domain.config.configuration import Configuration
from domain.memories import Memory, Use
from domain.ports import ModelBudget
from domain.runs.run import Phase, Run
from domain.text.redaction import redact_outgoing
from memory.learned import memories, recall, vectors
from memory.learned.recall import RecalledMemory, RecallQuery
from memory.learned.vectors import Vector
from pipeline.context import Services
from pipeline.gates.authorship import load_authorship
from pipeline.run_context import RunContext


@dataclass(frozen=True)
class RecallTopic:
    """What an agent is going to work on: the query for memories. Nothing of it is trusted.

    :param tags: paths and rules.
    """

    text: str
    tags: tuple[str, ...] = ()


class MemoryRecall:
    """The memories of one task of a run. The first recall holds for the whole run.

    :param task: names the task within its run.
    """

    def __init__(
        self, context: RunContext, phase: Phase, configuration: Configuration, task: str, topic: RecallTopic
    ) -> None:
        self._context = context
        self._phase = phase
        self._memory = configuration.memory
        self._task = f"{phase.value} {task}".strip()
        self._topic = topic

    async def load_lessons(self, budget: ModelBudget) -> Sequence[Memory]:
        """The memories, the most fitting first; none where the repository keeps no memory.

        A review gets none that only an author of the change taught, as long as somebody else may teach.

        :param budget: pays for vectors.
        :raises CodeHostError: if GitHub does not say who wrote the change.
        """
        if not self._memory.enabled:
            return ()
        database, run = self._context.database, self._context.run
        recalled = await recall.list_recalled(database, run.id, self._task)
        if recalled:
            return recalled
        topic, organisation = self._topic, self._memory.organisation
        query = RecallQuery(run.repository, topic.text, topic.tags, organisation=organisation, files=topic.tags)
        now = self._context.now()
        vector = await self._embed_query(budget)
        found = await recall.recall(database, query, now, vector)
        authors = await self._find_teaching_authors(found)
        if authors:
            found = await recall.recall(database, replace(query, not_by=authors), now, vector)
        await recall.note(database, run.id, self._phase, self._task, found, now)
        return tuple(each.memory for each in found)

    async def _find_teaching_authors(self, found: Sequence[RecalledMemory]) -> frozenset[int]:
        """The authors of the reviewed change, if one of them alone taught something of this and is not alone here."""
        teachers = {each.memory.taught_by for each in found} - {0}
        if not teachers or self._phase is not Phase.review:
            return frozenset()
        services, run = self._context.services, self._context.run
        pull_request = await services.host.pull_request(run.repository, run.number)
        authors = (await load_authorship(services, run.repository, pull_request, ())).authors
        if not teachers & authors:
            return frozenset()
        others = set(await services.host.accounts_with(run.repository, "write")) - authors
        return authors if others else frozenset()

    async def _embed_query(self, budget: ModelBudget) -> Vector | None:
        """The query as a vector, once all memories have theirs; None where no model makes vectors."""
        embedding = self._context.services.models.embedding
        if not isinstance(embedding, Embedding):
            return None
        database, step = self._context.database, f"vectors for {self._task}"
        new = await vectors.list_missing(database, self._context.run.repository.id, embedding.name)
        if new:
            made = await embed([_format_memory(each) for each in new], "document", embedding, budget, step)
            if made is None:
                return None
            await vectors.keep(database, new, [Vector(embedding.name, each) for each in made])
        words = redact_outgoing("\n".join([self._topic.text, *self._topic.tags]))
        query = await embed([words], "query", embedding, budget, step)
        return None if query is None else Vector(embedding.name, query[0])

    async def record_named(self, answer: str) -> None:
        """Record which recalled memories an answer names."""
        database, run_id = self._context.database, self._context.run.id
        recalled = await recall.list_recalled(database, run_id, self._task)
        ids = [each.id for each in PromptContext(lessons=tuple(recalled)).find_named(answer)]
        if ids:
            await recall.mark_helped(database, run_id, self._task, ids)


def _format_memory(memory: Memory) -> str:
    return redact_outgoing("\n".join([memory.context, memory.content, *memory.tags]).strip())


async def settle_memories(services: Services, run: Run, *, succeeded: bool) -> None:
    """When a run ends: memories that helped a successful run count for more. May be repeated."""
    helped = await recall.settle(services.database, run.id)
    if succeeded:
        await memories.record_use(services.database, helped, Use.applied, run.id, services.clock.now())
