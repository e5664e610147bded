"""The cycle of an issue's run: build, open the pull request, have it reviewed, test, fix, until it is ready.

What comes next is decided by :func:`domain.runs.next_step.next_step`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from domain.runs.next_step import NextStep, PullRequestState, SendBack, VerificationState, next_step
from domain.runs.run import Phase, ReasonCode, RunState
from memory.runs import waits
from messages import pull_request as pull_request_texts
from messages.plan import StepState
from messages.pull_request import Progress
from pipeline.issue.draft_commits import BuiltChange, DraftCommits, SendBacks
from pipeline.issue.help_needed import HelpGate
from pipeline.issue.implementation import Implementation
from pipeline.issue.plan_approval import ConfiguredGates, build_test_facts
from pipeline.issue.pull_request import OpenedPullRequest, PullRequestPublisher
from pipeline.issue.pull_request_state import PullRequestResult
from pipeline.issue.red_checks import GRACE
from pipeline.issue.status_comment import RunEnd, StatusComment, name_final_step
from pipeline.issue.verification import Verification
from pipeline.publishing import test_check
from pipeline.run_context import RunContext
from pipeline.runs.lifecycle import enter_phase, leave_phase

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


@dataclass(frozen=True)
class Cycle:
    """The cycle of one execution of a run."""

    context: RunContext
    comment: StatusComment
    commits: DraftCommits

    @cached_property
    def implementation(self) -> Implementation:
        return Implementation(self.context, self.commits)

    @cached_property
    def publisher(self) -> PullRequestPublisher:
        return PullRequestPublisher(self.context, self.commits.planned, self.commits.locks)

    async def run(self) -> RunEnd | ReasonCode:
        """How the run ends, or why it has to wait."""
        await enter_phase(self.context, Phase.implementation)
        built = await self.implementation.build()
        send_backs = await SendBacks(self.context).load()
        for count, sent_back in enumerate(send_backs):
            await enter_phase(self.context, Phase.implementation, count + 2)
            built = await self.implementation.fix(built, sent_back, send_backs[:count])
        while True:
            opened = await self.publisher.publish(built)
            if isinstance(opened, RunEnd):
                return opened
            built = replace(built, signed=opened.signed)
            self.comment.progress = _mark_opened(self.comment.progress, built, opened, len(send_backs))
            if built.ended is not None:
                return await self.comment.add_progress(built.ended)
            outcome = await _Round(self, built, opened, send_backs).run()
            if not isinstance(outcome, SendBack):
                return outcome
            send_backs = [*send_backs, outcome]
            built = await self._fix(built, send_backs)

    async def _fix(self, built: BuiltChange, send_backs: Sequence[SendBack]) -> BuiltChange:
        count = len(send_backs)
        await SendBacks(self.context).add(send_backs[-1], count - 1)
        await self.comment.show_progress(f"mends {count}", _mark_fixing(self.comment.progress, count))
        await enter_phase(self.context, Phase.implementation, count + 1)
        return await self.implementation.fix(built, send_backs[-1], send_backs[:-1])


@dataclass(frozen=True)
class _Round:
    """The verification of one head, until it is clear what comes next."""

    cycle: Cycle
    built: BuiltChange
    opened: OpenedPullRequest
    send_backs: Sequence[SendBack]

    @cached_property
    def _verification(self) -> Verification:
        return Verification(self.cycle.context, self.cycle.commits.planned, self.opened.number)

    @cached_property
    def _end(self) -> CycleEnd:
        cycle = self.cycle
        return CycleEnd(cycle.context, cycle.comment, cycle.publisher, self._verification, self.built, self.opened)

    @property
    def _number(self) -> int:
        return len(self.send_backs) + 1

    async def run(self) -> SendBack | RunEnd | ReasonCode:
        """What is sent back, how the run ends, or why it has to wait."""
        while True:
            state = await self._verification.load_state(self.built, self.send_backs)
            step, phase = next_step(state, self.built.head, self.send_backs)
            refused = None if step in END_STEPS else await self._leave_phases(state)
            if refused is not None:
                return await self.cycle.comment.add_progress(refused)
            outcome = await self._take(step, phase, state)
            if outcome is not None:
                return outcome

    async def _take(
        self, step: NextStep, phase: Phase, state: PullRequestState
    ) -> SendBack | RunEnd | ReasonCode | None:
        """Take a step; None if the state is to be loaded again."""
        match step:
            case NextStep.test:
                return None if await self._test() else await self._end.wait_for_workflows()
            case NextStep.ready:
                return await self._end.finish_ready() if await self._end.try_mark_ready() else None
            case NextStep.wait:
                return await self._wait_for_review(state)
            case NextStep.fix:
                return self._send_back(phase, state)
            case NextStep.help if state.is_hiding:  # a recovery asks by itself
                return self._send_back(phase, state, is_spent=True)
            case NextStep.help:
                may_fix = await self._help.may_fix(phase, self.built.head, self.send_backs, state)
                return self._send_back(phase, state) if may_fix else await self._end.finish(NextStep.given_up)
            case _:
                return await self._end.finish(step)

    @property
    def _help(self) -> HelpGate:
        return HelpGate(self.cycle.context, self.cycle.commits.planned.configuration)

    def _send_back(self, phase: Phase, state: PullRequestState, *, is_spent: bool = False) -> SendBack:
        return SendBack(
            phase=phase,
            head=self.built.head,
            to_fix=state.to_fix,
            is_flaky=state.is_flaky,
            is_spent=is_spent,
        )

    async def _leave_phases(self, state: PullRequestState) -> RunEnd | None:
        """Leave the phases that are over, where people let the run; how it ends if they refuse.

        :raises WaitingForGate: nobody answered yet.
        """
        gates = ConfiguredGates(self.cycle.context, self.cycle.commits.planned)
        is_tested = state.tested is not VerificationState.pending
        for phase in (Phase.implementation, Phase.testing) if is_tested else (Phase.implementation,):
            is_over = phase is Phase.testing
            known = build_test_facts(state.failing, state.coverage_delta) if is_over else None
            refused = await gates.ask_at_phase_end(phase, self._number, self.built.head, known)
            if refused is not None:
                return refused
            await leave_phase(self.cycle.context, phase, self._number)
        return None

    async def _test(self) -> bool:
        """Test the head once; False while the repository's own workflows run."""
        context, comment = self.cycle.context, self.cycle.comment
        await enter_phase(context, Phase.testing, self._number)
        progress = replace(comment.progress, review=StepState.done, testing=StepState.now)
        await comment.show_progress(f"tests {self.built.head}", progress)
        has_ended = await self._verification.test(self.built)
        await context.progress.quiet()
        return has_ended

    async def _wait_for_review(self, state: PullRequestState) -> ReasonCode:
        waiting = pull_request_texts.waits_for_review(self.opened.number, state.reviewed)
        await self.cycle.comment.show_review(f"in review {self.built.head} {state.reviewed}", waiting)
        return ReasonCode.in_review


def _mark_opened(progress: Progress, built: BuiltChange, opened: OpenedPullRequest, send_backs: int) -> Progress:
    return replace(
        progress,
        implementation=StepState.done,
        done=len(built.finished),
        pull_request=StepState.done,
        number=opened.number,
        review=StepState.now if built.ended is None else StepState.next,
        send_backs=send_backs,
    )


def _mark_fixing(progress: Progress, send_backs: int) -> Progress:
    ahead = StepState.next
    return replace(progress, implementation=StepState.now, review=ahead, testing=ahead, send_backs=send_backs)


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
