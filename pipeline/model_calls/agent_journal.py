"""Takes the steps of an agent's loop in a run: each journaled, and each answer of the model paid for once."""

from collections.abc import Awaitable, Sequence

from pydantic import BaseModel

from agents.llm.context import Told
from agents.llm.models import LanguageModel
from agents.loop.loop import Use
from agents.loop.tools.tool import Tool
from agents.loop.turns import Assignment, Exchange, Result, Turn, named, take
from domain.ports import Purse
from domain.runs.run import Phase, Run
from domain.text.redaction import outgoing
from memory.budgets import model_answers
from memory.budgets.model_answers import Used
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.model_calls.budgeted import Keep, Paying


class AgentSteps:
    """The steps of one assignment; see :class:`agents.loop.loop.Steps`.

    :param schema: of what the agent hands in.
    """

    def __init__(
        self,
        services: Services,
        journal: WorkflowJournal,
        run: Run,
        phase: Phase,
        paying: Paying,
        assignment: Assignment,
        schema: type[BaseModel],
        tools: Sequence[Tool],
        model: LanguageModel,
    ) -> None:
        self._services = services
        self._journal = journal
        self._run = run
        self._phase = phase
        self._paying = paying
        self._assignment = assignment
        self._schema = schema
        self._tools = tools
        self._model = model

    async def earlier(self) -> Sequence[Exchange]:
        """What this run did of it before it waited for something else."""
        return await self._journal.step(f"done before: {self._assignment.key}", self._done_before)

    async def _done_before(self) -> list[Exchange]:
        kept = await model_answers.acted_on(self._services.database, self._run)
        past: list[Exchange] = []
        while (done := kept.get(self._name(past))) is not None:
            results = tuple(Result(text=text, is_error=is_error) for text, is_error in done.results)
            past.append(Exchange(turn=Turn.model_validate(done.value), results=results))
        return past

    async def reason(self, past: Sequence[Exchange]) -> Turn:
        """:raises AtGate: if a person has to let it go on first."""

        def call(money: Purse, told: Told, keep: Keep[Turn]) -> Awaitable[Turn]:
            assignment = told.above(self._assignment, outgoing)
            return take(assignment, past, self._schema, self._tools, self._model, money, keep=keep)

        key = f"{self._assignment.key} {len(past) + 1}"
        return await self._paying.ask(key, self._name(past), Turn, call)

    async def act(self, past: Sequence[Exchange], turn: Turn, use: Use) -> Exchange:
        key = f"act: {self._assignment.key} {len(past) + 1}"
        return await self._journal.step(key, self._act, self._name(past), turn, use)

    async def _act(self, name: str, turn: Turn, use: Use) -> Exchange:
        exchange = Exchange(turn=turn, results=tuple(await use()))
        used = [
            Used(use.tool, result.text, result.is_error, result.reason, result.seconds)
            for use, result in zip(turn.uses, exchange.results, strict=True)
        ]
        await model_answers.acted(
            self._services.database, self._run, self._phase, name, used, self._services.clock.now()
        )
        return exchange

    def _name(self, past: Sequence[Exchange]) -> str:
        return named(self._assignment, past, self._schema, self._model)
