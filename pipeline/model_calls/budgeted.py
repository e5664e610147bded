"""Calls models within a phase of a run: checks limits first, keeps each answer, and asks people where they can help."""

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from pydantic import BaseModel

from agents.llm.ask import ModelAnswer, ModelResult, Question, ask, choose_after
from agents.llm.models import LanguageModel
from agents.loop.loop import SKIPPED, Agent, Use
from agents.loop.tools.tool import Result, Tool
from agents.loop.turns import Assignment, CompletedTurn, Turn, digest_turn, take_turn
from agents.reflection import PromptContext
from domain.config.configuration import Configuration
from domain.gates import GateState
from domain.ports import ModelBudget
from domain.runs.run import Phase
from domain.text.redaction import PROCESS_REDACTOR
from memory import gates
from memory.runs import model_answers
from memory.runs.model_answers import AnswerOutcome, RecordedToolUse
from pipeline.gates.ask import WaitingForGate
from pipeline.model_calls.budget import BudgetGate, build_budget, build_side_budget, explain_limit
from pipeline.model_calls.guards import WHOLE_PHASE, CallGuards, GuardedTask
from pipeline.model_calls.memories import MemoryRecall, RecallTopic
from pipeline.run_context import RunContext, run_while_current

P = TypeVar("P", bound=ModelResult)
_Keep = Callable[[P], Awaitable[None]]
_Call = Callable[[PromptContext, _Keep[P]], Awaitable[P]]


@dataclass(frozen=True)
class BudgetedCalls:
    """The calls of one phase of one run; no answer is paid for twice.

    :param topic: what to recall from memory before a call; None for nothing.
    """

    context: RunContext
    phase: Phase
    configuration: Configuration
    topic: RecallTopic | None = None
    task: GuardedTask = WHOLE_PHASE

    @cached_property
    def _guards(self) -> CallGuards:
        return CallGuards(self.context.run, self.phase, self.configuration, self.task)

    @cached_property
    def _memory(self) -> MemoryRecall | None:
        if self.topic is None:
            return None
        return MemoryRecall(self.context, self.phase, self.configuration, self.task.key, self.topic)

    @property
    def budget(self) -> ModelBudget:
        """The money of the phase, behind its guards."""
        check = self._guards.check
        return build_budget(self.context.services, self.context.run, self.phase, self.configuration, check)

    @property
    def _side_budget(self) -> ModelBudget:
        return build_side_budget(self.context.services, self.context.run, self.configuration)

    async def ask(
        self, name: str, question: Question, schema: type[BaseModel], model: LanguageModel, *, can_spare: bool = False
    ) -> ModelAnswer:
        """What a model answers; where a limit stops it, people are asked if they can help.

        :param name: digest of everything the model is shown: an answer this run has under it is not asked for again.
        :param can_spare: where the budget stops it, nobody is asked, and there is no answer.
        :raises WaitingForGate: if a person has to decide first.
        """

        async def call(told: PromptContext, keep: _Keep[ModelAnswer]) -> ModelAnswer:
            return await ask(told.prepend_to(question), schema, model, self.budget, keep=keep)

        return await self._ask_or_wait(question.key, name, ModelAnswer, call, can_spare=can_spare)

    async def ask_outside_run(
        self, name: str, question: Question, schema: type[BaseModel], model: LanguageModel, *, is_shared: bool = False
    ) -> ModelAnswer:
        """What a model answers to a question beside the run: paid by the phase, without context, asking nobody.

        :param is_shared: an answer of an earlier run of the repository counts, and nothing is paid for it again.
        """
        budget = build_side_budget(self.context.services, self.context.run, self.configuration, self.phase)

        async def call(_told: PromptContext, keep: _Keep[ModelAnswer]) -> ModelAnswer:
            known = await self._find_shared(name) if is_shared else None
            return known or await ask(question, schema, model, budget, keep=keep)

        return await self._ask_beside(question.key, name, ModelAnswer, call)

    async def delegate(
        self, name: str, assignment: Assignment, kind: type[P], work: Callable[[Assignment], Awaitable[P]]
    ) -> P:
        """What an agent of another make did, which asks models itself; as :meth:`ask`.

        :param kind: of what it answers.
        :param work: has it done; gets the assignment with its context.
        """

        async def call(told: PromptContext, _keep: _Keep[P]) -> P:
            return await work(told.prepend_to(assignment))

        return await self._ask_or_wait(assignment.key, name, kind, call, is_final=True)

    async def take_turn(
        self,
        name: str,
        assignment: Assignment,
        past: Sequence[CompletedTurn],
        schema: type[BaseModel],
        tools: Sequence[Tool],
        model: LanguageModel,
        *,
        can_spare: bool = False,
    ) -> Turn:
        """An agent's next turn; as :meth:`ask`."""
        going_on = choose_after(model, [each.turn for each in past])

        async def call(told: PromptContext, keep: _Keep[Turn]) -> Turn:
            shown = told.prepend_to(assignment)
            return await take_turn(shown, past, schema, tools, going_on, self.budget, keep=keep)

        return await self._ask_or_wait(f"{assignment.key} {len(past) + 1}", name, Turn, call, can_spare=can_spare)

    async def take_turn_outside_run(
        self,
        name: str,
        assignment: Assignment,
        past: Sequence[CompletedTurn],
        schema: type[BaseModel],
        tools: Sequence[Tool],
        model: LanguageModel,
    ) -> Turn:
        """An agent's next turn beside the run; as :meth:`ask_outside_run`."""
        going_on = choose_after(model, [each.turn for each in past])
        budget = build_side_budget(self.context.services, self.context.run, self.configuration, self.phase)

        async def call(_told: PromptContext, keep: _Keep[Turn]) -> Turn:
            return await take_turn(assignment, past, schema, tools, going_on, budget, keep=keep)

        return await self._ask_beside(f"{assignment.key} {len(past) + 1}", name, Turn, call)

    async def _ask_beside(self, key: str, name: str, kind: type[P], call: _Call[P]) -> P:
        answer = await self.context.journal.step_as(kind, f"ask: {key}", self._load_or_call, name, kind, call)
        return explain_limit(answer, self.phase)

    async def _ask_or_wait(
        self, key: str, name: str, kind: type[P], call: _Call[P], *, can_spare: bool = False, is_final: bool = False
    ) -> P:
        """:param is_final: an answer that says why there is nothing usable is not asked for again either."""
        journal, gate_of_phase = self.context.journal, BudgetGate(self.context, self._guards)
        while True:
            answer = await journal.step_as(kind, f"ask: {key}", self._load_or_call, name, kind, call, is_final)
            if answer.refusal is None or answer.refusal.gate is None or (can_spare and answer.refusal.is_about_money):
                return answer
            gate = await journal.step("ask a person", gate_of_phase.ask_person, answer.refusal)
            if gate is not None and gate.is_waiting:
                raise WaitingForGate(gate)
            if gate is None or gate.state is not GateState.approved:
                return answer

    async def _load_or_call(self, name: str, kind: type[P], call: _Call[P], is_final: bool = False) -> P:
        """The answer this run has already; else the model's, or what stopped the call."""
        stored = await model_answers.find(self.context.database, self.context.run, name)
        if stored is not None and (is_final or stored.get("problem") is None):
            await self._record_named(json.dumps(stored))
            known = kind.model_validate(stored)
            await self._record_iteration(name, known)
            return known

        async def keep(answer: P) -> None:
            value, now = _redact(answer).model_dump(mode="json"), self.context.now()
            await model_answers.keep(self.context.database, self.context.run, name, value, now)

        told = await self._load_prompt_context()
        answer = await call(told, keep)
        if answer.refusal is None:
            await keep(answer)  # again, as it was settled
            await self._record_iteration(name, answer)
        if told.lessons:
            await self._record_named(answer.model_dump_json())
        return _redact(answer)

    async def _find_shared(self, name: str) -> ModelAnswer | None:
        """What a model answered in an earlier run of the repository; that run paid for it."""
        stored = await model_answers.find_shared(self.context.database, self.context.run.repository.id, name)
        known = None if stored is None else ModelAnswer.model_validate(stored)
        return None if known is None or known.value is None else known.model_copy(update={"calls": ()})

    async def _record_named(self, answer: str) -> None:
        if self._memory is not None:
            await self._memory.record_named(answer)

    async def _record_iteration(self, name: str, answer: ModelResult) -> None:
        """Record one iteration; the reservation records what it cost."""
        run, tokens, now = self.context.run, answer.usage.tokens, self.context.now()
        await model_answers.note_iteration(
            self.context.database, run, self.phase, name, answer.key, tokens, answer.seconds, now
        )

    async def _load_prompt_context(self) -> PromptContext:
        lessons = () if self._memory is None else tuple(await self._memory.load_lessons(self._side_budget))
        known = await gates.list_for_run(self.context.database, self.context.run.id)
        return PromptContext(conditions=tuple(gate.conditions for gate in known if gate.conditions), lessons=lessons)


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


def _redact(answer: P) -> P:
    """The answer without secrets of this process, which a provider may repeat; they are not even stored."""
    value = answer.model_dump(mode="json")
    kept = {name: value.pop(name) for name in answer.NO_WORDS}
    redacted = {name: PROCESS_REDACTOR.redact_values(each) for name, each in value.items()}
    return answer.model_validate(redacted | kept)
