"""The run of one issue, as a durable workflow that reads from top to bottom."""

from pydantic import JsonValue

from domain import plan_texts
from domain.errors import ForgeError
from domain.gates import Gate, GateState
from domain.plan import Weighed
from domain.plan_texts import Afterwards, StepState
from domain.proposal_texts import Progress
from domain.runs import ReasonCode, Run, RunState, Trigger
from pipeline.gates import show_all
from pipeline.handing_in import HandingIn
from pipeline.implementing import Implementing
from pipeline.planning import Begun, Ended, Planning
from pipeline.running import Running, said
from pipeline.services import Services
from pipeline.status import IssueStatus


class IssueRun(Running):
    """One run of one issue: plan, ask people where the risk is high, implement, propose."""

    def __init__(self, services: Services, run: Run, workflow_id: str | None = None) -> None:
        super().__init__(services, run, workflow_id)
        self._status = IssueStatus(services, run)
        self._planning = Planning(services, self._journal, run)
        self._progress = Progress()

    async def _work(self) -> str:
        await self._journal.step("begin", self._begin)
        begun = Begun.model_validate(await self._journal.step("read the issue", self._planning.read))
        if begun.paused_by is not None:
            text = plan_texts.stopped(ReasonCode.paused, spent=0)
            return await self._end(Ended(RunState.cancelled, ReasonCode.paused, text))
        if not begun.is_open:
            return await self._end(Ended(RunState.cancelled, ReasonCode.closed, plan_texts.closed()))
        plan = await self._planning.plan(begun)
        if isinstance(plan, Ended):
            return await self._end(plan)
        if self._run.trigger is Trigger.plan:
            await self._planning.post(begun, plan, Afterwards.ends)
            return await self._end(Ended(RunState.completed, ReasonCode.planned, ""))
        return await self._decided(begun, plan)

    async def _decided(self, begun: Begun, plan: Weighed) -> str:
        """Go on with the plan as people decided, or wait for them."""
        gate = await self._planning.approval(begun, plan)
        if gate is not None and gate.is_waiting:
            await self._journal.step("say what it waits for", lambda: said(self._say_what_it_waits_for(gate)))
            return await self._wait_for_a_person()
        if gate is not None and gate.state is not GateState.approved:
            reason = _REFUSED[gate.state]
            text = plan_texts.stopped(reason, spent=await self._status.spent())
            return await self._end(Ended(RunState.failed, reason, text))
        conditions = (gate.conditions,) if gate is not None and gate.conditions else ()
        approval = None if gate is None else StepState.done
        await self._show(
            "implements",
            Progress(StepState.done, approval, StepState.now, tasks=len(plan.plan.tasks)),
        )
        built = await Implementing(self._services, self._journal, self._run, begun, plan).carry_out()
        handing_in = HandingIn(self._services, self._journal, self._run, begun, plan, conditions)
        return await self._end(await handing_in.hand_in(built))

    async def _end(self, ended: Ended) -> str:
        """End the run, and say so in its comment.

        :param ended: without a text where the plan was all that was asked for.
        """
        text = ended.text or plan_texts.progress([("Planning", StepState.done)], await self._status.spent())
        await self._journal.step("say how it ended", lambda: said(self._status.show(f"ended {ended.reason}", text)))
        await self._journal.step("finish", lambda: self._move(ended.state, ended.reason))
        self._is_over = True
        return ended.reason.value

    async def _show(self, step: str, progress: Progress) -> None:
        self._progress = progress
        await self._journal.step("say how far it is", lambda: said(self._status.tell(step, progress)))

    async def _begin(self) -> JsonValue:
        await self._move(RunState.running)
        await show_all(self._services, self._run)  # what was answered, if this goes on behind a gate
        await self._status.tell(f"began {self._journal.workflow_id}", self._progress)
        return None

    async def _say_what_it_waits_for(self, gate: Gate) -> None:
        await self._status.wait(gate, self._progress)

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
