"""Takes the steps of an agent's loop in a run: each journaled, and each answer of the model paid for once."""

from collections.abc import Awaitable, Sequence

from pydantic import BaseModel

from agents.llm.context import PromptContext
from agents.llm.models import LanguageModel
from agents.loop.loop import Use
from agents.loop.tools.tool import Tool
from agents.loop.turns import Assignment, CompletedTurn, Result, Turn, digest_turn, take_turn
from domain.ports import ModelBudget
from domain.runs.run import Phase, Run
from domain.text.redaction import redact_outgoing
from memory.budgets import model_answers
from memory.budgets.model_answers import RecordedToolUse
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.model_calls.budgeted import BudgetedCalls, Keep


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
        paying: BudgetedCalls,
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

    async def load_earlier(self) -> Sequence[CompletedTurn]:
        """What this run did of it before it waited for something else."""
        return await self._journal.step(f"done before: {self._assignment.key}", self._load_done)

    async def _load_done(self) -> list[CompletedTurn]:
        kept = await model_answers.load_outcomes(self._services.database, self._run)
        past: list[CompletedTurn] = []
        while (done := kept.get(self._name_turn(past))) is not None:
            results = tuple(Result(text=text, is_error=is_error) for text, is_error in done.results)
            past.append(CompletedTurn(turn=Turn.model_validate(done.value), results=results))
        return past

    async def reason(self, past: Sequence[CompletedTurn]) -> Turn:
        """:raises AtGate: if a person has to let it go on first."""

        def call(money: ModelBudget, told: PromptContext, keep: Keep[Turn]) -> Awaitable[Turn]:
            assignment = told.prepend_to(self._assignment, redact_outgoing)
            return take_turn(assignment, past, self._schema, self._tools, self._model, money, keep=keep)

        key = f"{self._assignment.key} {len(past) + 1}"
        return await self._paying.ask(key, self._name_turn(past), Turn, call)

    async def act(self, past: Sequence[CompletedTurn], turn: Turn, use: Use) -> CompletedTurn:
        key = f"act: {self._assignment.key} {len(past) + 1}"
        return await self._journal.step(key, self._run_tools, self._name_turn(past), turn, use)

    async def _run_tools(self, name: str, turn: Turn, use: Use) -> CompletedTurn:
        exchange = CompletedTurn(turn=turn, results=tuple(await use()))
        used = [
            RecordedToolUse(use.tool, result.text, result.is_error, result.reason, result.seconds)
            for use, result in zip(turn.uses, exchange.results, strict=True)
        ]
        await model_answers.record_outcome(
            self._services.database, self._run, self._phase, name, used, self._services.clock.now()
        )
        return exchange

    def _name_turn(self, past: Sequence[CompletedTurn]) -> str:
        return digest_turn(self._assignment, past, self._schema, self._model)
