"""Builds the money of a phase behind its breakers, and asks people whether a phase that was stopped goes on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from agents.llm.ask import ModelResult
from domain.config.configuration import Configuration
from domain.gates import Gate, GateRequest, GateState, Option, digest
from domain.money import BudgetExtension, Refusal
from domain.runs.run import Phase, Run
from domain.text.escaping import flatten_text
from domain.verdicts import Reason
from memory import gates, ledger
from memory.call_facts import RunCallFacts
from memory.db.engine import Connection
from memory.repositories import permits
from memory.reservations import PhaseBudget, ReservationCheck
from memory.runs import model_answers
from pipeline.context import Services
from pipeline.gates.ask import open_gate
from pipeline.model_calls.guards import CallGuards
from pipeline.run_context import RunContext
from safety import breakers
from safety.call_admission import explain_beside_run, limits_of
from safety.gate_requests import build_request

P = TypeVar("P", bound=ModelResult)


def build_budget(
    services: Services, run: Run, phase: Phase, configuration: Configuration, check: ReservationCheck
) -> PhaseBudget:
    """The money of a phase.

    :param check: runs before each reservation, in its transaction.
    """
    limits, ceilings = limits_of(configuration.budgets), services.ceilings
    return PhaseBudget(services.database, run, phase, limits, services.clock, ceilings, check, configuration.breakers)


def build_side_budget(
    services: Services, run: Run, configuration: Configuration, phase: Phase = Phase.reflection
) -> PhaseBudget:
    """The money for what happens beside a run: no guard of the run's counts its calls.

    :param phase: what pays; by default what is learned and recalled.
    """

    def require_permit(_connection: Connection, known: RunCallFacts, _now: datetime) -> Refusal | None:
        permits.require(known.sums.permit, run)
        return None

    return build_budget(services, run, phase, configuration, require_permit)


def explain_limit(answer: P, phase: Phase) -> P:
    """The answer of a call beside a run, with advice that helps there if a limit refused it."""
    if answer.refusal is None:
        return answer
    return answer.model_copy(update={"problem": explain_beside_run(answer.refusal, phase)})


_MAX_OUTPUT = 200  # characters of the last output that people see


@dataclass(frozen=True)
class BudgetGate:
    """The gate of one phase of one run.

    :param guards: of the phase.
    """

    context: RunContext
    guards: CallGuards

    async def ask_person(self, refusal: Refusal) -> Gate | None:
        """The gate at which a person can let the phase continue; None if nobody can."""
        if refusal.gate is None:
            return None
        asked = await gates.list_for_run(self.context.database, self.context.run.id)
        approved = sum(gate.name == refusal.gate and gate.state is GateState.approved for gate in asked)
        request = await self._build_request(refusal, refusal.gate, approved)
        return await open_gate(self.context.services, self.context.run, request)

    async def _build_request(self, refusal: Refusal, name: str, approved: int) -> GateRequest:
        check, grants = refusal.check, self._build_extension(name)
        reason = check.reason.model_copy(update={"children": (*check.reason.children, *await self._list_facts())})
        asked = build_request(
            name,
            self.guards.phase,
            digest(name, check.reason.code, approved),
            _PROMPTS[name],
            [reason],
            self.guards.configuration,
            options=_build_options(name, grants),
            grants=grants,
        )
        return asked.model_copy(update={"task": self.guards.task.key})

    def _build_extension(self, name: str) -> BudgetExtension:
        """An extension of the size of the first grant."""
        phase, configuration = self.guards.phase, self.guards.configuration
        if name == "cost_overrun":
            return BudgetExtension(amount=limits_of(configuration.budgets).phase[phase])
        limits = configuration.breakers.iteration
        return BudgetExtension(calls=getattr(limits, phase.value, limits.other))

    async def _list_facts(self) -> Sequence[Reason]:
        """What people see of a task that was stopped: turns, time, errors, and its last output in brief."""
        database, run_id = self.context.database, self.context.run.id
        every = await database.run_in_transaction(lambda connection: model_answers.load_turns(connection, run_id))
        moves = await database.run_in_transaction(lambda connection: ledger.load_moves(connection, run_id))
        turns = self.guards.filter_turns(every)
        minutes = breakers.measure_work(moves, self.context.now()) / timedelta(minutes=1)
        errors = sum(bool(each.step.error) for each in turns)
        most = self.guards.build_limits().max_iterations
        last = await self._load_last_output(turns[-1].question) if turns else "none yet"
        return (
            Reason(code="facts.turns", text=f"Turn {len(turns)} of {most}, {minutes:.1f} min of work, {errors} errors"),
            Reason(code="facts.output", text=f"Last output: {last}"),
        )

    async def _load_last_output(self, question: str) -> str:
        value = await model_answers.find(self.context.database, self.context.run, question)
        turn = model_answers.to_iteration(question, value or {})
        return flatten_text(turn.output or turn.error)[:_MAX_OUTPUT]


_PROMPTS = {
    "guard": "A guard stopped the model. What was found so far is kept. Let it go on, or take what there is?",
    "cost_overrun": "The next call of the model could pass four fifths of the budget. What was found so far is kept. "
    "Grant another slice, or take what there is?",
}


def _build_options(name: str, grants: BudgetExtension) -> tuple[Option, ...]:
    another = "/forge continue 5usd" if name == "cost_overrun" else f"/forge continue {grants.calls}it"
    return (
        Option(command=f"/forge approve {name}", effect=f"grants another slice: {grants.label}"),
        Option(command=another, effect="grants a slice of this size; phase and run may use that much more"),
        Option(command="/forge accept", effect="asks the model no more and ends with what there is"),
        Option(command=f"/forge reject {name} reason", effect="the same, with your reason in the summary"),
        Option(command="/forge history", effect="shows every run here, and what this one tried, turn by turn"),
        Option(command="/forge cancel", effect="ends the run; what was posted stays"),
    )
