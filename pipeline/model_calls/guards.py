"""Checks the guards of a phase before each call of a model."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from agents import reflection, replies
from agents.review import explanations
from agents.review.model.questions import CONVENTIONS_KEY
from domain.config.configuration import Configuration
from domain.gates import BUDGET_GATES, Gate, GateDecision, GateState
from domain.money import Refusal
from domain.runs.run import Phase, Run
from domain.verdicts import BreakerState, Check, Reason
from memory import ledger
from memory.call_facts import RunCallFacts
from memory.db.engine import Connection
from memory.repositories import permits
from memory.runs.model_answers import ModelTurn
from safety import breakers, guards
from safety.guards import GuardLimits, LoopStep, TaskKind

_SIDE_KEYS = (reflection.KEY, replies.KEY, explanations.KEY, CONVENTIONS_KEY)
"""Prefixes of the keys of calls beside a run."""


@dataclass(frozen=True)
class GuardedTask:
    """A task of an agent with guards of its own.

    :param key: prefix of the keys of its steps; empty where the phase is one task.
    """

    key: str = ""
    kind: TaskKind = TaskKind.other


WHOLE_PHASE = GuardedTask()
"""Where the phase is one task."""


@dataclass(frozen=True)
class CallGuards:
    """The limits of one phase of one run. All facts come from the database, so a restart changes nothing."""

    run: Run
    phase: Phase
    configuration: Configuration
    task: GuardedTask = WHOLE_PHASE

    def check(self, connection: Connection, known: RunCallFacts, now: datetime) -> Refusal | None:
        """What stops the next call.

        :raises Halted: if the operator halted Forge.
        :raises Superseded: if the repository is paused, or another run owns the pull request or issue.
        """
        permits.require(known.sums.permit, self.run)
        return self.find_refusal(connection, known, now)

    def find_refusal(self, connection: Connection, known: RunCallFacts, now: datetime) -> Refusal | None:
        """What stops the phase before its next turn: a guard, or that it makes no progress."""
        return self._find_rejection(known.gates) or self._find_stop(connection, known, now)

    def filter_turns(self, turns: Sequence[ModelTurn]) -> Sequence[ModelTurn]:
        """The turns of this task, without the calls beside the run."""
        return [each for each in turns if each.key.startswith(self.task.key) and not each.key.startswith(_SIDE_KEYS)]

    def build_limits(self, last: GateDecision | None = None) -> GuardLimits:
        """:param last: the decision that last let the task continue."""
        limits = guards.limits_of(self.task.kind, self.configuration.guards)
        granted = 0 if last is None else last.grants.calls
        return limits.extend(granted) if granted else limits

    def _find_rejection(self, known: Sequence[Gate]) -> Refusal | None:
        """A person ended the phase with what there is, or nobody answered."""
        asked = [gate for gate in known if gate.name in BUDGET_GATES]
        here = [gate for gate in asked if gate.request.phase is self.phase and not gate.is_waiting]
        if not here or here[-1].state not in {GateState.rejected, GateState.expired}:
            return None
        reason = Reason(code=f"gate.{here[-1].state}", text=f"{here[-1].name} was not passed, so what there is counts.")
        check = Check(name=here[-1].name, state=BreakerState.open, reason=reason, suggestion="Have a person review.")
        return Refusal(check=check)

    def _find_stop(self, connection: Connection, known: RunCallFacts, now: datetime) -> Refusal | None:
        turns = self.filter_turns(known.turns)
        before = (len(turns), f"{self.task.key}{turns[-1].question if turns else ''}")
        check = self._check_guards(known, turns, now)
        if check is None:
            check = self._check_stagnation([each.step for each in turns])
            if check.warns:
                ledger.record_warning(connection, self.run, self.phase, check, *before, now)
        if not check.should_break:
            return None
        ledger.record_guard(connection, self.run, self.phase, check, *before, now)
        return Refusal(check=check, gate="guard")

    def _check_guards(self, known: RunCallFacts, turns: Sequence[ModelTurn], now: datetime) -> Check | None:
        """The guard that stops the next turn. Turns before a person last let the task continue do not count."""
        last = guards.find_release([gate for gate in known.gates if self._is_own_gate(gate)])
        starts = [*([last.at] if last is not None else []), *([_find_start(turns, now)] if self.task.key else [])]
        since = max(starts, default=None)
        before = (
            timedelta() if since is None else breakers.measure_work([m for m in known.moves if m.at <= since], since)
        )
        started = now - (breakers.measure_work(known.moves, now) - before)
        return guards.check([each.step for each in turns], self.build_limits(last), now, started)

    def _is_own_gate(self, gate: Gate) -> bool:
        """A grant to one task is no grant to another."""
        return gate.request.phase is self.phase and gate.request.task == self.task.key

    def _check_stagnation(self, steps: Sequence[LoopStep]) -> Check:
        """Whether none of the latest turns did or saw anything new."""
        strides = breakers.mark_progress([f"{each.did} {each.result}" for each in steps])
        return breakers.check_stagnation(strides, self.configuration.breakers.iteration)


def _find_start(turns: Sequence[ModelTurn], now: datetime) -> datetime:
    """About when a task began: at its first call, or now."""
    return turns[0].at if turns else now
