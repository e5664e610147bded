"""Watches over a phase's calls of models: asks the guards before each, and people when one was stopped."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from agents import reflection, reply_reader
from domain.config.configuration import Configuration
from domain.gates import BUDGET_GATES, Gate, GateDecision, GateRequest, GateState, Option, digest
from domain.money import BudgetExtension, Refusal
from domain.runs.run import Phase, Run
from domain.text.escaping import strip_invisible
from domain.verdicts import BreakerState, Check, Reason
from memory.budgets import model_answers
from memory.budgets.model_answers import ModelTurn
from memory.db.engine import Connection
from memory.gates import gates
from memory.ledger import ledger
from memory.reservations.call_facts import RunCallFacts
from memory.reservations.reservations import PhaseBudget, ReservationCheck
from pipeline.context import Services
from pipeline.gates.ask import open_gate
from safety import breakers, guards
from safety.budgets import limits_of
from safety.gates import build_request
from safety.guards import GuardLimits, TaskKind
from safety.loop_detection import Step

_SIDE_KEYS = (reflection.KEY, reply_reader.KEY)
"""How the keys of what is asked beside a run begin."""

_MAX_OUTPUT = 200  # characters of the last output that people see


@dataclass(frozen=True)
class GuardedTask:
    """A task of an agent, which guards bound for itself.

    :param key: begins the keys of its steps; empty where the phase is one task.
    """

    key: str = ""
    kind: TaskKind = TaskKind.other


WHOLE_PHASE = GuardedTask()
"""Where the phase is one task."""


class CallGuards:
    """The limits of one phase of one run. All facts come from the database, so a restart changes nothing."""

    def __init__(
        self, services: Services, run: Run, phase: Phase, configuration: Configuration, task: GuardedTask = WHOLE_PHASE
    ) -> None:
        self._services = services
        self._run = run
        self._phase = phase
        self._configuration = configuration
        self._task = task

    def find_refusal(self, connection: Connection, known: RunCallFacts, now: datetime) -> Refusal | None:
        """What stops the phase before its next turn: a guard, or that it makes no progress."""
        over = self._find_rejection(known.gates)
        if over is not None:
            return over
        mine = self._filter_own_turns(known.turns)
        before = (len(mine), f"{self._task.key}{mine[-1].question if mine else ''}")
        check = self._check_guards(known, mine, now)
        if check is None:
            check = self._check_stagnation([each.step for each in mine])
            if check.warns:
                ledger.record_warning(connection, self._run, self._phase, check, *before, now)
        if not check.should_break:
            return None
        ledger.record_guard(connection, self._run, self._phase, check, *before, now)
        return Refusal(check=check, gate="guard")

    def _find_rejection(self, known: Sequence[Gate]) -> Refusal | None:
        """A person took what there is, or nobody answered: then the model is asked no more in this phase."""
        sliced = [gate for gate in known if gate.name in BUDGET_GATES]
        here = [gate for gate in sliced if gate.request.phase is self._phase and not gate.is_waiting]
        if not here or here[-1].state not in {GateState.rejected, GateState.expired}:
            return None
        reason = Reason(code=f"gate.{here[-1].state}", text=f"{here[-1].name} was not passed, so what there is counts.")
        check = Check(name=here[-1].name, state=BreakerState.open, reason=reason, suggestion="Have a person review.")
        return Refusal(check=check)

    async def ask_person(self, refusal: Refusal) -> Gate | None:
        """The gate at which a person can let the phase go on; None if none can."""
        if refusal.gate is None:
            return None
        known = [
            gate
            for gate in await gates.list_for_run(self._services.database, self._run.id)
            if gate.name == refusal.gate
        ]
        approved = sum(gate.state is GateState.approved for gate in known)
        return await open_gate(self._services, self._run, await self._build_request(refusal, refusal.gate, approved))

    async def load_conditions(self) -> tuple[str, ...]:
        """What people made a condition when they let this run go on."""
        known = await gates.list_for_run(self._services.database, self._run.id)
        return tuple(gate.conditions for gate in known if gate.conditions)

    def _filter_own_turns(self, turns: Sequence[ModelTurn]) -> Sequence[ModelTurn]:
        """The turns of this task; what is asked about the run beside it is no turn of anybody."""
        return [each for each in turns if each.key.startswith(self._task.key) and not each.key.startswith(_SIDE_KEYS)]

    def _check_guards(self, known: RunCallFacts, mine: Sequence[ModelTurn], now: datetime) -> Check | None:
        """The guard that stops the next turn, by those since a person last let it go on."""
        last = guards.find_release([gate for gate in known.gates if self._is_own_gate(gate)])
        begun = [*([last.at] if last is not None else []), *([_find_start(mine, now)] if self._task.key else [])]
        since = max(begun, default=None)
        before = (
            timedelta() if since is None else breakers.measure_work([m for m in known.moves if m.at <= since], since)
        )
        started = now - (breakers.measure_work(known.moves, now) - before)
        return guards.check([each.step for each in mine], self._build_limits(last), now, started)

    def _is_own_gate(self, gate: Gate) -> bool:
        """What is granted to one task is granted to no other."""
        return gate.request.phase is self._phase and gate.request.task == self._task.key

    def _build_limits(self, last: GateDecision | None) -> GuardLimits:
        limits = guards.limits_of(self._task.kind, self._configuration.guards)
        granted = 0 if last is None else last.grants.calls
        return limits.extend(granted) if granted else limits

    def _check_stagnation(self, steps: Sequence[Step]) -> Check:
        """Whether none of the latest turns did or saw anything new."""
        strides = breakers.mark_progress([f"{each.did} {each.result}" for each in steps])
        return breakers.check_stagnation(strides, self._configuration.breakers.iteration)

    async def _build_request(self, refusal: Refusal, name: str, approved: int) -> GateRequest:
        configuration, check = self._configuration, refusal.check
        grants = self._build_extension(name)
        reason = check.reason.model_copy(update={"children": (*check.reason.children, *await self._list_facts())})
        asked = build_request(
            name,
            self._phase,
            digest(name, check.reason.code, approved),
            _PROMPTS[name],
            [reason],
            configuration,
            options=_build_options(name, grants),
            grants=grants,
        )
        return asked.model_copy(update={"task": self._task.key})

    def _build_extension(self, name: str) -> BudgetExtension:
        """Another one of the size of the first."""
        if name == "cost_overrun":
            return BudgetExtension(amount=limits_of(self._configuration.budgets).phase[self._phase])
        limits = self._configuration.breakers.iteration
        return BudgetExtension(calls=getattr(limits, self._phase.value, limits.other))

    async def _list_facts(self) -> Sequence[Reason]:
        """What people see of a task that was stopped: turns, time, errors, and its last output in brief."""
        database, run_id = self._services.database, self._run.id
        turns = self._filter_own_turns(
            await database.run_in_transaction(lambda connection: model_answers.load_turns(connection, run_id))
        )
        moves = await database.run_in_transaction(lambda connection: ledger.load_moves(connection, run_id))
        minutes = breakers.measure_work(moves, self._services.clock.now()) / timedelta(minutes=1)
        errors = sum(bool(each.step.error) for each in turns)
        most = self._build_limits(None).max_iterations
        last = await self._load_last_output(turns[-1].question) if turns else "none yet"
        return (
            Reason(code="facts.turns", text=f"Turn {len(turns)} of {most}, {minutes:.1f} min of work, {errors} errors"),
            Reason(code="facts.output", text=f"Last output: {last}"),
        )

    async def _load_last_output(self, question: str) -> str:
        value = await model_answers.find(self._services.database, self._run, question)
        turn = model_answers.to_iteration(question, value or {})
        return " ".join(strip_invisible(turn.output or turn.error).split())[:_MAX_OUTPUT]


def _find_start(mine: Sequence[ModelTurn], now: datetime) -> datetime:
    """When a task began, give or take its first call; now, if that is still to come."""
    return mine[0].at if mine else now


def build_budget(
    services: Services, run: Run, phase: Phase, configuration: Configuration, before: ReservationCheck
) -> PhaseBudget:
    """The money of a phase, behind every breaker the repository configured."""
    return PhaseBudget(
        services.database,
        run,
        phase,
        limits_of(configuration.budgets),
        services.clock,
        services.ceilings,
        before,
        configuration.breakers,
    )


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
