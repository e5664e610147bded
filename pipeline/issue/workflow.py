"""The run of one issue, as a durable workflow that reads from top to bottom."""

from domain.errors import ForgeError
from domain.gates import Gate
from domain.runs.run import Phase, ReasonCode, Run, RunState, Trigger
from messages import plan as plan_texts
from messages.pull_request import Progress
from pipeline.context import Services
from pipeline.issue.contract_locks import ContractLocks
from pipeline.issue.cycle import Cycle
from pipeline.issue.draft_commits import DraftCommits
from pipeline.issue.issue_input import IssueRunInput, PlannedIssue, read_issue
from pipeline.issue.plan_approval import approve_plan
from pipeline.issue.planning import make_plan, post_plan
from pipeline.issue.status_comment import RunEnd, StatusComment
from pipeline.publishing import test_check
from pipeline.publishing.gate_checks import show_gates
from pipeline.runs.lifecycle import RunWorkflow, enter_phase, leave_phase
from pipeline.runs.status import close_status


class IssueRun(RunWorkflow):
    """One run of one issue: plan, ask people where the risk is high, implement, open a pull request, verify."""

    def __init__(self, services: Services, run: Run, workflow_id: str | None = None) -> None:
        super().__init__(services, run, workflow_id)
        self._comment = StatusComment(self._context)

    async def _work(self) -> str:
        answered = await self._journal.step("begin", self._begin)
        issue = await self._journal.step("read the issue", read_issue, self._context)
        if issue.paused_by is not None or not issue.is_open:
            return await self._end(_refuse_to_start(issue))
        await enter_phase(self._context, Phase.planning)
        planned = await make_plan(self._context, issue)
        if isinstance(planned, RunEnd):
            return await self._end(planned)
        if self._run.trigger is Trigger.plan:
            await post_plan(self._context, planned)
            await leave_phase(self._context, Phase.planning)
            return await self._end(RunEnd(RunState.completed, ReasonCode.planned, ""))
        return await self._carry_out(planned, answered)

    async def _carry_out(self, planned: PlannedIssue, answered: int) -> str:
        """Carry out the plan, once people approved it and no other run changes its contracts.

        :param answered: how many gates of the run are answered.
        """
        granted = await approve_plan(self._context, planned)
        if isinstance(granted, RunEnd):
            return await self._end(granted)
        locks = ContractLocks(self._context)
        held = await locks.take(planned.plan.plan.contracts)
        if isinstance(held, RunEnd):
            return await self._end(held)
        self._comment.mark_planned(planned)
        if held:
            await self._comment.show_contract_holders(held)
            return await self._wait(ReasonCode.contract)
        await self._comment.show_progress(f"implements after {answered}", self._comment.progress)
        commits = DraftCommits(self._context, planned, granted, locks)
        return await self._run_cycle(Cycle(self._context, self._comment, commits), locks)

    async def _run_cycle(self, cycle: Cycle, locks: ContractLocks) -> str:
        async with locks.keep_renewed():
            outcome = await cycle.run()
            ended = await (self._end(outcome) if isinstance(outcome, RunEnd) else self._wait(outcome))
        await locks.wake_waiting_runs()
        return ended

    async def _end(self, ended: RunEnd) -> str:
        """End the run, and show that in its comment."""
        await self._comment.show_end(ended)
        await self._journal.step("finish", self._settle, ended.state, ended.reason, ended.detail)
        self._is_over = True
        return ended.reason.value

    # --- steps -------------------------------------------------------------------------------------------------

    async def _begin(self) -> int:
        """How many gates are answered."""
        await self._move(RunState.running)
        asked = await show_gates(self._services, self._run)  # an answer may have started this execution
        await self._context.status.show_progress("begun", Progress(), self._context.progress.post_later)
        return sum(not gate.is_waiting for gate in asked)

    async def _show_waiting(self, gate: Gate) -> None:
        await self._comment.show_waiting(gate)

    async def _show_failure(self, error: ForgeError) -> None:
        text = plan_texts.report_failure(error, self._run.id, spent=await self._context.load_cost())
        await self._comment.show("failed", text)
        await test_check.close_checks(self._services, self._run)

    async def _close(self) -> None:
        await close_status(self._services, self._run)


def _refuse_to_start(issue: IssueRunInput) -> RunEnd:
    if issue.paused_by is not None:
        return RunEnd(RunState.cancelled, ReasonCode.paused, plan_texts.report_stop(ReasonCode.paused, spent=0))
    return RunEnd(RunState.cancelled, ReasonCode.closed, plan_texts.CLOSED)
