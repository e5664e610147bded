"""Asks the gates that a repository configured for the phases of an issue's run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.config.conditions import Fact
from domain.gates import Gate
from domain.runs.run import Phase, RunState
from memory import gates
from memory.runs import transitions
from messages import plan as plan_texts
from pipeline.gates.ask import WaitingForGate, open_gate
from pipeline.issue.issue_input import PlannedIssue
from pipeline.issue.run_end import REFUSAL_REASONS, RunEnd
from pipeline.run_context import RunContext
from safety.gates import has_custom, list_custom


@dataclass(frozen=True)
class ConfiguredGates:
    """The repository's gates at the end of each phase of one run. Their conditions may use the plan."""

    context: RunContext
    planned: PlannedIssue

    async def ask_at_phase_end(
        self, phase: Phase, turn: int, about: str, known: Mapping[str, Fact] | None = None
    ) -> RunEnd | None:
        """Ask whether the run may leave a phase; how it ends if people refuse.

        :param turn: counts the times it is in that phase; it is asked once for each.
        :param about: what people approve: the plan, or the commit that the phase made.
        :param known: values for conditions, beside the plan's and the run's.
        :raises WaitingForGate: nobody answered yet.
        """
        if not has_custom(phase, self.planned.configuration):
            return None
        asked = await self.context.journal.step(
            f"ask what {phase.value} asks", self._open_gates, phase, turn, about, known or {}
        )
        return await self._judge(asked)

    async def _judge(self, asked: Sequence[Gate]) -> RunEnd | None:
        refused = next((gate for gate in asked if gate.state in REFUSAL_REASONS), None)
        if refused is not None:
            text = plan_texts.report_rejection(refused, spent=await self.context.load_cost())
            return RunEnd(RunState.failed, REFUSAL_REASONS[refused.state], text)
        waiting = next((gate for gate in asked if gate.is_waiting), None)
        if waiting is not None:
            raise WaitingForGate(waiting)
        return None

    async def _open_gates(self, phase: Phase, turn: int, about: str, known: Mapping[str, Fact]) -> list[Gate]:
        database, run = self.context.database, self.context.run
        if await transitions.is_left(database, run, phase, turn):
            return []
        before = await gates.list_for_run(database, run.id)
        facts = {**await self._load_facts(), **known}
        requests = list_custom(
            phase, self.planned.configuration, facts, phase.value, about, known=before, has_follower=True
        )
        return [await open_gate(self.context.services, run, each) for each in requests]

    async def _load_facts(self) -> Mapping[str, Fact]:
        return {
            "plan.risk_level": self.planned.plan.level.value,
            "plan.tasks": len(self.planned.plan.plan.tasks),
            "run.cost": await self.context.load_cost() / 1_000_000,
            "run.trigger": self.context.run.trigger.value,
        }


def build_test_facts(failed: int | None, coverage_delta: float | None) -> Mapping[str, Fact]:
    """The values for conditions once the tests ran.

    :param failed: how many tests failed; None if they could not run.
    :param coverage_delta: how the coverage changed, in percentage points; None if it was not compared.
    """
    facts: Mapping[str, Fact | None] = {"testing.failed": failed, "testing.coverage_delta": coverage_delta}
    return {name: value for name, value in facts.items() if value is not None}
