"""Asks a model in a phase of a run: its limits first, each answer kept, and people where only they can help."""

import json
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import TypeVar

from agents.llm.ask import ModelResult
from agents.llm.context import PromptContext
from domain.config.configuration import Configuration
from domain.gates import GateState
from domain.money import Refusal
from domain.ports import ModelBudget
from domain.runs.run import Phase, Run
from domain.text.redaction import PROCESS_REDACTOR
from memory.budgets import model_answers
from memory.db.engine import Connection
from memory.repositories import permits
from memory.reservations.call_facts import RunCallFacts
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.gates.ask import WaitingForGate
from pipeline.model_calls.guards import WHOLE_PHASE, CallGuards, GuardedTask, build_budget
from pipeline.model_calls.recall import MemoryRecall, RecallTopic

P = TypeVar("P", bound=ModelResult)

Keep = Callable[[P], Awaitable[None]]
Call = Callable[[ModelBudget, PromptContext, Keep[P]], Awaitable[P]]
"""Calls the model with this money, told this beside its task, and has its answer kept before it is paid for."""


def _redact(answer: P) -> P:
    """The answer without what a provider repeats of our own, which is not even kept."""
    return type(answer).model_validate(PROCESS_REDACTOR.redact_values(answer.model_dump(mode="json")))


class BudgetedCalls:
    """What one phase of one run asks of models; no answer is paid for twice.

    :param about: what to bring up from memory before it; None for nothing.
    """

    def __init__(
        self,
        services: Services,
        journal: WorkflowJournal,
        run: Run,
        phase: Phase,
        configuration: Configuration,
        about: RecallTopic | None = None,
        task: GuardedTask = WHOLE_PHASE,
    ) -> None:
        self._services = services
        self._journal = journal
        self._run = run
        self._phase = phase
        self._configuration = configuration
        self._watch = CallGuards(services, run, phase, configuration, task)
        self._memory = None if about is None else MemoryRecall(services, run, phase, configuration, task.key, about)

    @property
    def budget(self) -> ModelBudget:
        """The money of the phase, behind everything that is asked before a call."""
        return build_budget(self._services, self._run, self._phase, self._configuration, self._find_refusal)

    @property
    def _side_budget(self) -> ModelBudget:
        """The money for what is learned and recalled, which takes none of the phase's calls."""

        def require_permit(_connection: Connection, known: RunCallFacts, _now: datetime) -> Refusal | None:
            return permits.require(known.sums.permit, self._run)

        return build_budget(self._services, self._run, Phase.reflection, self._configuration, require_permit)

    async def ask(self, key: str, name: str, kind: type[P], call: Call[P]) -> P:
        """An answer; one that is refused asks a person where a person can help.

        :param key: names the step; unique in its phase.
        :param name: of everything the model is shown: what was answered under it in this run is the answer.
        :raises AtGate: if it waits for that person.
        """
        while True:
            answer = await self._journal.step_as(
                kind, f"ask: {key}", partial(self._load_or_ask, name, kind, call, self.budget, self._phase)
            )
            if answer.refusal is None or answer.refusal.gate is None:
                return answer
            gate = await self._journal.step("ask a person", self._watch.ask_person, answer.refusal)
            if gate is not None and gate.is_waiting:
                raise WaitingForGate(gate)
            if gate is None or gate.state is not GateState.approved:
                return answer

    async def ask_outside_run(self, key: str, name: str, kind: type[P], call: Call[P]) -> P:
        """An answer to what is asked beside the run: with the money for that, told nothing, and refused it stays so."""
        return await self._journal.step_as(
            kind, f"ask: {key}", partial(self._load_or_ask, name, kind, call, self._side_budget, Phase.reflection)
        )

    async def _load_or_ask(self, name: str, kind: type[P], call: Call[P], money: ModelBudget, phase: Phase) -> P:
        """What the model says, or what it said in this run before; or what stopped it from being asked."""
        database, now = self._services.database, self._services.clock.now
        stored = await model_answers.find(database, self._run, name)
        if stored is not None and stored.get("problem") is None:
            if self._memory is not None:
                await self._memory.record_named(json.dumps(stored))
            known = kind.model_validate(stored)
            await self._record_iteration(name, known, phase)
            return known

        async def keep(answer: P) -> None:
            await model_answers.keep(database, self._run, name, _redact(answer).model_dump(mode="json"), now())

        told = await self._load_context()
        answer = await call(money, told, keep)
        if answer.refusal is None:
            await keep(answer)  # once more, with what it cost
            await self._record_iteration(name, answer, phase)
        if self._memory is not None and told.lessons:
            await self._memory.record_named(answer.model_dump_json())
        return _redact(answer)

    async def _record_iteration(self, name: str, answer: ModelResult, phase: Phase) -> None:
        """Tell of one iteration: what it cost is told where it was paid."""
        services, now = self._services, self._services.clock.now()
        await model_answers.note_iteration(
            services.database, self._run, phase, name, answer.key, answer.usage.tokens, answer.seconds, now
        )

    async def _load_context(self) -> PromptContext:
        lessons = () if self._memory is None else tuple(await self._memory.load_lessons(self._side_budget))
        return PromptContext(conditions=await self._watch.load_conditions(), lessons=lessons)

    def _find_refusal(self, connection: Connection, known: RunCallFacts, now: datetime) -> Refusal | None:
        """Asked before every call: who is halted, paused or lost the pull request spends nothing.

        :raises Halted: if the operator told Forge to stop.
        :raises Superseded: if the run may not ask any more.
        """
        permits.require(known.sums.permit, self._run)
        return self._watch.find_refusal(connection, known, now)
