"""Journals the steps of an agent's loop: each turn of the model, and each use of tools."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agents.llm.models import LanguageModel
from agents.loop.loop import SKIPPED, Agent, Use
from agents.loop.turns import Assignment, CompletedTurn, Result, Turn, digest_turn
from memory.runs import model_answers
from memory.runs.model_answers import AnswerOutcome, RecordedToolUse
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.run_context import run_while_current


@dataclass(frozen=True)
class AgentSteps:
    """The steps of one assignment; see :class:`agents.loop.loop.Steps`."""

    calls: BudgetedCalls
    agent: Agent[Any]
    assignment: Assignment
    model: LanguageModel

    async def load_earlier(self) -> Sequence[CompletedTurn]:
        """The turns this run took before it waited for something else."""
        return await self.calls.context.journal.step(f"done before: {self.assignment.key}", self._load_earlier)

    async def _load_earlier(self) -> list[CompletedTurn]:
        kept = await model_answers.load_outcomes(self.calls.context.database, self.calls.context.run)
        past: list[CompletedTurn] = []
        while done := kept.get(self._name_turn(past)):
            past.append(CompletedTurn(turn=Turn.model_validate(done.value), results=tuple(_build_results(done))))
        return past

    async def reason(self, past: Sequence[CompletedTurn]) -> Turn:
        """:raises WaitingForGate: if a person has to decide first."""
        agent, name = self.agent, self._name_turn(past)
        return await self.calls.take_turn(name, self.assignment, past, agent.schema, agent.tools, self.model)

    async def act(self, past: Sequence[CompletedTurn], turn: Turn, use: Use) -> CompletedTurn:
        key = f"act: {self.assignment.key} {len(past) + 1}"
        return await self.calls.context.journal.step(key, self._run_tools, self._name_turn(past), turn, use)

    async def _run_tools(self, name: str, turn: Turn, use: Use) -> CompletedTurn:
        context, phase = self.calls.context, self.calls.phase
        results = await run_while_current(context.services, context.run, use())
        exchange = CompletedTurn(turn=turn, results=tuple(results))
        used = [
            RecordedToolUse(
                use.tool,
                result.text,
                result.is_error,
                result.reason,
                result.seconds,
                result.reason == SKIPPED,
                result.change,
            )
            for use, result in zip(turn.uses, exchange.results, strict=True)
        ]
        await model_answers.record_outcome(context.database, context.run, phase, name, used, context.now())
        return exchange

    def _name_turn(self, past: Sequence[CompletedTurn]) -> str:
        return digest_turn(self.assignment, past, self.agent.schema, self.model)


def _build_results(done: AnswerOutcome) -> Iterator[Result]:
    for at, (text, is_error) in enumerate(done.results):
        yield Result(text=text, is_error=is_error, change=done.changes.get(at))
