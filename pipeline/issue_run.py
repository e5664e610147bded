"""The run of one issue, as a durable workflow that reads from top to bottom."""

from pydantic import JsonValue

from domain import plan_texts
from domain.errors import ForgeError
from domain.gates import Gate, GateState
from domain.plan import Weighed
from domain.plan_texts import Afterwards, StepState
from domain.runs import ReasonCode, Run, RunState
from pipeline.gates import show_all
from pipeline.planning import Begun, Ended, Planning
from pipeline.running import Running, said
from pipeline.services import Services
from pipeline.status import IssueStatus

_STEPS = ("Reading the issue", "Planning", "Weighing the risk")


class IssueRun(Running):
    """One run of one issue: begin, read, plan, ask people where the risk is high."""

    def __init__(self, services: Services, run: Run, workflow_id: str | None = None) -> None:
        super().__init__(services, run, workflow_id)
        self._status = IssueStatus(services, run)
        self._planning = Planning(services, self._journal, run)

    async def _work(self) -> str:
        await self._journal.step("begin", self._begin)
        begun = Begun.model_validate(await self._journal.step("read the issue", self._planning.read))
        if begun.paused_by is not None:
            return await self._end(
                RunState.cancelled, ReasonCode.paused, plan_texts.stopped(ReasonCode.paused, spent=0)
            )
        if not begun.is_open:
            return await self._end(RunState.cancelled, ReasonCode.closed, plan_texts.closed())
        plan = await self._planning.plan(begun)
        if isinstance(plan, Ended):
            return await self._end(plan.state, plan.reason, plan.text)
        return await self._decided(begun, plan)

    async def _decided(self, begun: Begun, plan: Weighed) -> str:
        """Go on with the plan as people decided, or wait for them."""
        gate = await self._planning.present(begun, plan, Afterwards.ends)
        if gate is not None and gate.is_waiting:
            await self._journal.step("say what it waits for", lambda: said(self._say_what_it_waits_for(gate)))
            return await self._wait_for_a_person()
        if gate is not None and gate.state is not GateState.approved:
            reason = _REFUSED[gate.state]
            text = plan_texts.stopped(reason, spent=await self._status.spent())
            return await self._end(RunState.failed, reason, text)
        return await self._end(RunState.completed, ReasonCode.planned)

    async def _end(self, state: RunState, reason: ReasonCode, text: str = "") -> str:
        """End the run, and say so in its comment.

        :param text: what the comment says; left out, that everything is done.
        """
        shown = text or _progress(len(_STEPS), await self._status.spent())
        await self._journal.step("say how it ended", lambda: said(self._status.show(f"ended {reason}", shown)))
        await self._journal.step("finish", lambda: self._move(state, reason))
        self._is_over = True
        return reason.value

    async def _begin(self) -> JsonValue:
        await self._move(RunState.running)
        await show_all(self._services, self._run)  # what was answered, if this goes on behind a gate
        await self._status.show(f"began {self._journal.workflow_id}", _progress(1, await self._status.spent()))
        return None

    async def _say_what_it_waits_for(self, gate: Gate) -> None:
        text = _progress(len(_STEPS), await self._status.spent(), f"Waiting for a decision: {gate.name}")
        await self._status.show(f"waits for {gate.id}", text)

    async def _say_what_went_wrong(self, error: ForgeError) -> None:
        text = plan_texts.failed(error, self._run.id, spent=await self._status.spent())
        await self._status.show("failed", text)

    async def _close(self) -> None:
        await self._status.close()


_REFUSED = {
    GateState.rejected: ReasonCode.gate_rejected,
    GateState.expired: ReasonCode.gate_timeout,
    GateState.void: ReasonCode.gate_rejected,
}


def _progress(done: int, spent: int, waits: str = "") -> str:
    """The comment with so many steps done."""
    states = [StepState.done if at < done else StepState.now if at == done else StepState.next for at in range(9)]
    steps = list(zip(_STEPS, states, strict=False))
    return plan_texts.progress([*steps, *([(waits, StepState.now)] if waits else [])], spent)
