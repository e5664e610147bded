"""Asks a model in a phase of a run: its limits first, each answer kept, and people where only they can help."""

import json
from collections.abc import Awaitable, Callable
from datetime import datetime
from functools import partial
from typing import TypeVar

from agents.llm.ask import Paid
from agents.llm.context import Told
from domain.config.configuration import Configuration
from domain.gates import GateState
from domain.money import Refusal
from domain.ports import Purse
from domain.runs.run import Phase, Run
from domain.text.redaction import OWN
from memory.budgets import model_answers
from memory.db.engine import Connection
from memory.repositories import permits
from memory.reservations.call_facts import History
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.gates.ask import AtGate
from pipeline.model_calls.guards import PHASE, Guarded, Watch, purse
from pipeline.model_calls.recall import About, Recalling

P = TypeVar("P", bound=Paid)

Keep = Callable[[P], Awaitable[None]]
Call = Callable[[Purse, Told, Keep[P]], Awaitable[P]]
"""Calls the model with this money, told this beside its task, and has its answer kept before it is paid for."""


def _redact(answer: P) -> P:
    """The answer without what a provider repeats of our own, which is not even kept."""
    return type(answer).model_validate(OWN.values(answer.model_dump(mode="json")))


class Paying:
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
        about: About | None = None,
        task: Guarded = PHASE,
    ) -> None:
        self._services = services
        self._journal = journal
        self._run = run
        self._phase = phase
        self._configuration = configuration
        self._watch = Watch(services, run, phase, configuration, task)
        self._memory = None if about is None else Recalling(services, run, phase, configuration, task.key, about)

    @property
    def purse(self) -> Purse:
        """The money of the phase, behind everything that is asked before a call."""
        return purse(self._services, self._run, self._phase, self._configuration, self._stopped)

    @property
    def _beside(self) -> Purse:
        """The money for what is learned and recalled, which takes none of the phase's calls."""

        def stopped(_connection: Connection, known: History, _now: datetime) -> Refusal | None:
            return permits.require(known.sums.standing, self._run)

        return purse(self._services, self._run, Phase.reflection, self._configuration, stopped)

    async def ask(self, key: str, name: str, kind: type[P], call: Call[P]) -> P:
        """An answer; one that is refused asks a person where a person can help.

        :param key: names the step; unique in its phase.
        :param name: of everything the model is shown: what was answered under it in this run is the answer.
        :raises AtGate: if it waits for that person.
        """
        while True:
            answer = await self._journal.step_as(
                kind, f"ask: {key}", partial(self._answer, name, kind, call, self.purse, self._phase)
            )
            if answer.refusal is None or answer.refusal.gate is None:
                return answer
            gate = await self._journal.step("ask a person", self._watch.asked, answer.refusal)
            if gate is not None and gate.is_waiting:
                raise AtGate(gate)
            if gate is None or gate.state is not GateState.approved:
                return answer

    async def ask_beside(self, key: str, name: str, kind: type[P], call: Call[P]) -> P:
        """An answer to what is asked beside the run: with the money for that, told nothing, and refused it stays so."""
        return await self._journal.step_as(
            kind, f"ask: {key}", partial(self._answer, name, kind, call, self._beside, Phase.reflection)
        )

    async def _answer(self, name: str, kind: type[P], call: Call[P], money: Purse, phase: Phase) -> P:
        """What the model says, or what it said in this run before; or what stopped it from being asked."""
        database, now = self._services.database, self._services.clock.now
        stored = await model_answers.find(database, self._run, name)
        if stored is not None and stored.get("problem") is None:
            if self._memory is not None:
                await self._memory.named_in(json.dumps(stored))
            known = kind.model_validate(stored)
            await self._note(name, known, phase)
            return known

        async def keep(answer: P) -> None:
            await model_answers.keep(database, self._run, name, _redact(answer).model_dump(mode="json"), now())

        told = await self._told()
        answer = await call(money, told, keep)
        if answer.refusal is None:
            await keep(answer)  # once more, with what it cost
            await self._note(name, answer, phase)
        if self._memory is not None and told.lessons:
            await self._memory.named_in(answer.model_dump_json())
        return _redact(answer)

    async def _note(self, name: str, answer: Paid, phase: Phase) -> None:
        """Tell of one iteration: what it cost is told where it was paid."""
        services, now = self._services, self._services.clock.now()
        await model_answers.note_iteration(
            services.database, self._run, phase, name, answer.key, answer.usage.tokens, answer.seconds, now
        )

    async def _told(self) -> Told:
        lessons = () if self._memory is None else tuple(await self._memory.lessons(self._beside))
        return Told(conditions=await self._watch.conditions(), lessons=lessons)

    def _stopped(self, connection: Connection, known: History, now: datetime) -> Refusal | None:
        """Asked before every call: who is halted, paused or lost the pull request spends nothing.

        :raises Halted: if the operator told Forge to stop.
        :raises Superseded: if the run may not ask any more.
        """
        permits.require(known.sums.standing, self._run)
        return self._watch.stopped(connection, known, now)
