"""Ends the cycle of an issue's run, or lets it wait for the repository's own workflows."""

from dataclasses import dataclass

from domain.runs.next_step import NextStep
from domain.runs.run import ReasonCode, RunState
from memory.runs import waits
from messages import pull_request as pull_request_texts
from pipeline.issue.built_change import BuiltChange
from pipeline.issue.pull_request import OpenedPullRequest, PullRequestPublisher
from pipeline.issue.pull_request_state import PullRequestResult
from pipeline.issue.red_checks import GRACE
from pipeline.issue.run_end import RunEnd
from pipeline.issue.status_comment import StatusComment, name_final_step
from pipeline.issue.verification import Verification
from pipeline.publishing import test_check
from pipeline.run_context import RunContext

END_STEPS = frozenset({NextStep.merged, NextStep.closed, NextStep.taken})
"""Steps after which the pull request does not belong to the run any more."""
_DRAFT_STEPS = frozenset({NextStep.untested, NextStep.given_up})
"""Steps that leave a draft with its result in it."""


@dataclass(frozen=True)
class CycleEnd:
    """The end of the cycle at one head."""

    context: RunContext
    comment: StatusComment
    publisher: PullRequestPublisher
    verification: Verification
    built: BuiltChange
    opened: OpenedPullRequest

    @property
    def _result(self) -> PullRequestResult:
        return PullRequestResult(self.context, self.opened.number)

    async def try_mark_ready(self) -> bool:
        """Whether the pull request is ready now; not if somebody just closed it or pushed."""
        return await self.context.journal.step("mark it ready", self._mark_ready)

    async def finish_ready(self) -> RunEnd:
        return RunEnd(RunState.completed, ReasonCode.proposed, await self.comment.render_ready())

    async def finish(self, step: NextStep) -> RunEnd:
        """How the run ends after a step that is not ``ready``."""
        if step in _DRAFT_STEPS:
            await self.context.journal.step("say what it came to", self._write_result)
        number, spent = self.opened.number, await self.context.load_cost()
        if step in END_STEPS:
            await self.context.journal.step(
                "close the tests", test_check.close_checks, self.context.services, self.context.run
            )
        return _build_end(step, number, spent)

    async def wait_for_workflows(self) -> ReasonCode:
        """Wait for the repository's own workflows. A scheduled check ends the wait if GitHub starts or ends none."""
        await self.context.journal.step("look again later", self._schedule_check)
        return ReasonCode.in_review

    async def _schedule_check(self) -> None:
        now = self.context.now()
        check = waits.ScheduledCheck(self.context.run.id, waits.CheckCause.tests, int(now.timestamp()))
        await waits.schedule(self.context.database, check, now + GRACE)

    async def _write_result(self) -> None:
        result = await self.verification.build_result(self.built, self.comment.progress.send_backs)
        await self._result.write(self.built.head, result)

    async def _mark_ready(self) -> bool:
        await self.context.progress.quiet()
        await self.publisher.require_pushable()
        result = await self.verification.build_result(self.built, self.comment.progress.send_backs)
        step, text = name_final_step(ReasonCode.proposed), await self.comment.render_ready()
        return await self._result.mark_ready(self.built.head, result, step, text)


def _build_end(step: NextStep, number: int, spent: int) -> RunEnd:
    match step:
        case NextStep.merged:
            text = pull_request_texts.report_closed(number, is_merged=True, spent=spent)
            return RunEnd(RunState.completed, ReasonCode.proposed, text)
        case NextStep.closed:
            text = pull_request_texts.report_closed(number, is_merged=False, spent=spent)
            return RunEnd(RunState.cancelled, ReasonCode.closed, text)
        case NextStep.taken:
            text = pull_request_texts.report_taken_over(number, spent=spent)
            return RunEnd(RunState.completed, ReasonCode.branch_moved, text)
        case NextStep.untested:
            text = pull_request_texts.report_untested(number, spent=spent)
            return RunEnd(RunState.completed, ReasonCode.untested, text)
        case _:
            text = pull_request_texts.report_given_up(number, spent=spent)
            return RunEnd(RunState.failed, ReasonCode.stuck, text)
