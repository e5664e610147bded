"""Asks in the run of an issue what the repository itself wants people to be asked in its phases."""

from collections.abc import Mapping

from domain.config.conditions.evaluation import Value
from domain.config.configuration import Configuration
from domain.gates import Gate
from domain.runs.plan import RatedPlan
from domain.runs.run import Phase, Run, RunState
from memory.gates import gates
from memory.reservations import reservations
from memory.runs import phases
from messages import plan as plan_texts
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.gates.ask import WaitingForGate, open_gate
from pipeline.issue.planning import REFUSAL_REASONS, RunEnd
from safety.gates import has_custom, list_custom


class ConfiguredGates:
    """The repository's own gates at the end of each phase of one run.

    :param plan: what conditions may speak of in every phase.
    """

    def __init__(
        self, services: Services, journal: WorkflowJournal, run: Run, configuration: Configuration, plan: RatedPlan
    ) -> None:
        self._services = services
        self._journal = journal
        self._run = run
        self._configuration = configuration
        self._plan = plan

    async def ask_at_phase_end(
        self, phase: Phase, turn: int, about: str, known: Mapping[str, Value] | None = None
    ) -> RunEnd | None:
        """Ask whether the run may leave a phase; how it ends if people do not let it.

        :param turn: which time it is in that phase; what it left once is not asked about again.
        :param about: what they approve: the plan, or the commit the phase came to.
        :param known: what conditions may speak of beside the plan and the run.
        :raises AtGate: nobody answered yet.
        """
        if not has_custom(phase, self._configuration) or not await self._journal.has_patch(
            "phases have gates of their own"
        ):
            return None
        asked = await self._journal.step(
            f"ask what {phase.value} asks", self._open_gates, phase, turn, about, known or {}
        )
        refused = next((gate for gate in asked if gate.state in REFUSAL_REASONS), None)
        if refused is not None:
            spent = (await reservations.sum_run(self._services.database, self._run.id)).amount
            return RunEnd(
                RunState.failed, REFUSAL_REASONS[refused.state], plan_texts.report_rejection(refused, spent=spent)
            )
        waiting = next((gate for gate in asked if gate.is_waiting), None)
        if waiting is not None:
            raise WaitingForGate(waiting)
        return None

    async def _open_gates(self, phase: Phase, turn: int, about: str, known: Mapping[str, Value]) -> list[Gate]:
        if await phases.is_left(self._services.database, self._run, phase, turn):
            return []
        before = await gates.list_for_run(self._services.database, self._run.id)
        facts = {**await self._load_facts(), **known}
        wanted = list_custom(phase, self._configuration, facts, phase.value, about, known=before)
        return [await open_gate(self._services, self._run, each) for each in wanted]

    async def _load_facts(self) -> Mapping[str, Value]:
        return {
            "plan.risk_level": self._plan.level.value,
            "plan.tasks": len(self._plan.plan.tasks),
            "run.cost": (await reservations.sum_run(self._services.database, self._run.id)).amount / 1_000_000,
            "run.trigger": self._run.trigger.value,
        }


def build_test_facts(failed: int | None) -> Mapping[str, Value]:
    """What conditions may speak of once the tests have run.

    :param failed: how many tests failed; None where they could not be run, so that nobody knows.
    """
    return {} if failed is None else {"testing.failed": failed}
