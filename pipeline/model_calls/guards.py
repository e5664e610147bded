"""Watches over a phase's calls of models: asks the guards before each, and people when one was stopped."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from agents import reflection, reply_reader
from domain.config.configuration import Configuration
from domain.gates import SLICED, Gate, GateDecision, GateRequest, GateState, Option, digest
from domain.money import Refusal, Slice
from domain.runs.run import Phase, Run
from domain.text.escaping import visible
from domain.verdicts import BreakerState, Check, Reason
from memory.budgets import model_answers
from memory.budgets.model_answers import Turn
from memory.db.engine import Connection
from memory.gates import gates
from memory.ledger import ledger
from memory.reservations.call_facts import History
from memory.reservations.reservations import Before, StoredPurse
from pipeline.context import Services
from pipeline.gates.ask import ask
from safety import breakers, guards
from safety.budgets import limits_of
from safety.gates import request
from safety.guards import GuardLimits, TaskKind
from safety.loop_detection import Step

_BESIDE = (reflection.KEY, reply_reader.KEY)
"""How the keys of what is asked beside a run begin."""

_LAST = 200  # characters of the last output that people see


@dataclass(frozen=True)
class Guarded:
    """A task of an agent, which guards bound for itself.

    :param key: begins the keys of its steps; empty where the phase is one task.
    """

    key: str = ""
    kind: TaskKind = TaskKind.other


PHASE = Guarded()
"""Where the phase is one task."""


class Watch:
    """The limits of one phase of one run. All facts come from the database, so a restart changes nothing."""

    def __init__(
        self, services: Services, run: Run, phase: Phase, configuration: Configuration, task: Guarded = PHASE
    ) -> None:
        self._services = services
        self._run = run
        self._phase = phase
        self._configuration = configuration
        self._task = task

    def stopped(self, connection: Connection, known: History, now: datetime) -> Refusal | None:
        """What stops the phase before its next turn: a guard, or that it makes no progress."""
        over = self._given_up(known.gates)
        if over is not None:
            return over
        mine = self._mine(known.turns)
        before = (len(mine), f"{self._task.key}{mine[-1].question if mine else ''}")
        check = self._guard(known, mine, now)
        if check is None:
            check = self._stagnant([each.step for each in mine])
            if check.warns:
                ledger.note_warning(connection, self._run, self._phase, check, *before, now)
        if not check.should_break:
            return None
        ledger.note_guard(connection, self._run, self._phase, check, *before, now)
        return Refusal(check=check, gate="guard")

    def _given_up(self, known: Sequence[Gate]) -> Refusal | None:
        """A person took what there is, or nobody answered: then the model is asked no more in this phase."""
        sliced = [gate for gate in known if gate.name in SLICED]
        here = [gate for gate in sliced if gate.request.phase is self._phase and not gate.is_waiting]
        if not here or here[-1].state not in {GateState.rejected, GateState.expired}:
            return None
        reason = Reason(code=f"gate.{here[-1].state}", text=f"{here[-1].name} was not passed, so what there is counts.")
        check = Check(name=here[-1].name, state=BreakerState.open, reason=reason, suggestion="Have a person review.")
        return Refusal(check=check)

    async def asked(self, refusal: Refusal) -> Gate | None:
        """The gate at which a person can let the phase go on; None if none can."""
        if refusal.gate is None:
            return None
        known = [
            gate for gate in await gates.of_run(self._services.database, self._run.id) if gate.name == refusal.gate
        ]
        approved = sum(gate.state is GateState.approved for gate in known)
        return await ask(self._services, self._run, await self._request(refusal, refusal.gate, approved))

    async def conditions(self) -> tuple[str, ...]:
        """What people made a condition when they let this run go on."""
        known = await gates.of_run(self._services.database, self._run.id)
        return tuple(gate.conditions for gate in known if gate.conditions)

    def _mine(self, turns: Sequence[Turn]) -> Sequence[Turn]:
        """The turns of this task; what is asked about the run beside it is no turn of anybody."""
        return [each for each in turns if each.key.startswith(self._task.key) and not each.key.startswith(_BESIDE)]

    def _guard(self, known: History, mine: Sequence[Turn], now: datetime) -> Check | None:
        """The guard that stops the next turn, by those since a person last let it go on."""
        last = guards.let_go_on([gate for gate in known.gates if self._is_mine(gate)])
        begun = [*([last.at] if last is not None else []), *([_began(mine, now)] if self._task.key else [])]
        since = max(begun, default=None)
        before = timedelta() if since is None else breakers.worked([m for m in known.moves if m.at <= since], since)
        started = now - (breakers.worked(known.moves, now) - before)
        return guards.check([each.step for each in mine], self._limits(last), now, started)

    def _is_mine(self, gate: Gate) -> bool:
        """What is granted to one task is granted to no other."""
        return gate.request.phase is self._phase and gate.request.task == self._task.key

    def _limits(self, last: GateDecision | None) -> GuardLimits:
        limits = guards.limits_of(self._task.kind, self._configuration.guards)
        granted = 0 if last is None else last.grants.calls
        return limits.stretch(granted) if granted else limits

    def _stagnant(self, steps: Sequence[Step]) -> Check:
        """Whether none of the latest turns did or saw anything new."""
        strides = breakers.strides([f"{each.did} {each.result}" for each in steps])
        return breakers.stagnation(strides, self._configuration.breakers.iteration)

    async def _request(self, refusal: Refusal, name: str, approved: int) -> GateRequest:
        configuration, check = self._configuration, refusal.check
        grants = self._slice(name)
        reason = check.reason.model_copy(update={"children": (*check.reason.children, *await self._facts())})
        asked = request(
            name,
            self._phase,
            digest(name, check.reason.code, approved),
            _PROMPTS[name],
            [reason],
            configuration,
            options=_options(name, grants),
            grants=grants,
        )
        return asked.model_copy(update={"task": self._task.key})

    def _slice(self, name: str) -> Slice:
        """Another one of the size of the first."""
        if name == "cost_overrun":
            return Slice(amount=limits_of(self._configuration.budgets).phase[self._phase])
        limits = self._configuration.breakers.iteration
        return Slice(calls=getattr(limits, self._phase.value, limits.other))

    async def _facts(self) -> Sequence[Reason]:
        """What people see of a task that was stopped: turns, time, errors, and its last output in brief."""
        database, run_id = self._services.database, self._run.id
        turns = self._mine(await database.at_once(lambda connection: model_answers.of_run(connection, run_id)))
        moves = await database.at_once(lambda connection: ledger.moves(connection, run_id))
        minutes = breakers.worked(moves, self._services.clock.now()) / timedelta(minutes=1)
        errors = sum(bool(each.step.error) for each in turns)
        most = self._limits(None).max_iterations
        last = await self._last_output(turns[-1].question) if turns else "none yet"
        return (
            Reason(code="facts.turns", text=f"Turn {len(turns)} of {most}, {minutes:.1f} min of work, {errors} errors"),
            Reason(code="facts.output", text=f"Last output: {last}"),
        )

    async def _last_output(self, question: str) -> str:
        value = await model_answers.find(self._services.database, self._run, question)
        turn = model_answers.iteration(question, value or {})
        return " ".join(visible(turn.output or turn.error).split())[:_LAST]


def _began(mine: Sequence[Turn], now: datetime) -> datetime:
    """When a task began, give or take its first call; now, if that is still to come."""
    return mine[0].at if mine else now


def purse(services: Services, run: Run, phase: Phase, configuration: Configuration, before: Before) -> StoredPurse:
    """The money of a phase, behind every breaker the repository configured."""
    return StoredPurse(
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


def _options(name: str, grants: Slice) -> tuple[Option, ...]:
    another = "/forge continue 5usd" if name == "cost_overrun" else f"/forge continue {grants.calls}it"
    return (
        Option(command=f"/forge approve {name}", effect=f"grants another slice: {grants.shown}"),
        Option(command=another, effect="grants a slice of this size; phase and run may use that much more"),
        Option(command="/forge accept", effect="asks the model no more and ends with what there is"),
        Option(command=f"/forge reject {name} reason", effect="the same, with your reason in the summary"),
        Option(command="/forge history", effect="shows every run here, and what this one tried, turn by turn"),
        Option(command="/forge cancel", effect="ends the run; what was posted stays"),
    )
