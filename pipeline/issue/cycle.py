"""The cycle of an issue's run: build, open the pull request, have it reviewed, test, fix, until it is ready.

What comes next is decided by :func:`domain.runs.next_step.next_step`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial

from domain.runs.next_step import NextStep, PullRequestState, SendBack, VerificationState, next_step
from domain.runs.patches import MOST_FIXES
from domain.runs.run import Phase, ReasonCode, RunState
from memory.runs import checkpoints, waits
from messages import pull_request as pull_request_texts
from messages.plan import StepState
from messages.pull_request import VerifiedResult
from pipeline.issue.avoidance import load_own_terms
from pipeline.issue.draft_commits import BuiltChange, DraftCommits, add_send_back, load_send_backs
from pipeline.issue.head_examination import HeadTestResult
from pipeline.issue.help_needed import HelpGate
from pipeline.issue.implementation import Implementation
from pipeline.issue.plan_approval import ConfiguredGates, build_test_facts
from pipeline.issue.pull_request import OpenedPullRequest, PullRequestPublisher
from pipeline.issue.pull_request_state import OwnPullRequest
from pipeline.issue.red_checks import GRACE, RedCheck, load_red_checks_of_run, run_again
from pipeline.issue.status_comment import RunEnd, StatusComment, name_final_step
from pipeline.issue.testing import HeadTester
from pipeline.publishing import test_check
from pipeline.run_context import RunContext
from pipeline.runs.lifecycle import enter_phase, leave_phase

END_STEPS = frozenset({NextStep.merged, NextStep.closed, NextStep.taken})
"""Steps after which the pull request does not belong to the run any more."""
_WITHOUT_FAILURE = frozenset({VerificationState.passed, VerificationState.missing, VerificationState.unable})
"""What Forge's own tests say where the checks of others have the last word."""
_ENDS: Mapping[NextStep, tuple[RunState, ReasonCode, Callable[..., str]]] = {
    NextStep.merged: (
        RunState.completed,
        ReasonCode.proposed,
        partial(pull_request_texts.report_closed, is_merged=True),
    ),
    NextStep.closed: (
        RunState.cancelled,
        ReasonCode.closed,
        partial(pull_request_texts.report_closed, is_merged=False),
    ),
    NextStep.taken: (RunState.completed, ReasonCode.branch_moved, pull_request_texts.report_taken_over),
    NextStep.untested: (RunState.completed, ReasonCode.untested, pull_request_texts.report_untested),
    NextStep.given_up: (RunState.failed, ReasonCode.stuck, pull_request_texts.report_given_up),
}
"""For each step after which the run ends before its pull request is ready: how, and what its comment says."""


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
        send_backs = await self.context.journal.step("what was sent back", load_send_backs, self.context)
        for count, sent_back in enumerate(send_backs):
            await enter_phase(self.context, Phase.implementation, count + 2)
            built = await self.implementation.fix(built, sent_back, send_backs[:count])
        while True:
            opened = await self.publisher.publish(built)
            if isinstance(opened, RunEnd):
                return opened
            built = replace(built, signed=opened.signed)
            self._mark_opened(built, opened, len(send_backs))
            if built.ended is not None:
                return await self.comment.add_progress(built.ended)
            outcome = await _Round(self, built, opened, send_backs).run()
            if not isinstance(outcome, SendBack):
                return outcome
            send_backs = [*send_backs, outcome]
            built = await self._fix(built, send_backs)

    def _mark_opened(self, built: BuiltChange, opened: OpenedPullRequest, send_backs: int) -> None:
        self.comment.progress = replace(
            self.comment.progress,
            implementation=StepState.done,
            done=len(built.finished),
            pull_request=StepState.done,
            number=opened.number,
            review=StepState.now if built.ended is None else StepState.next,
            send_backs=send_backs,
        )

    async def _fix(self, built: BuiltChange, send_backs: Sequence[SendBack]) -> BuiltChange:
        count, ahead = len(send_backs), StepState.next
        await self.context.journal.step("send it back", add_send_back, self.context, send_backs[-1], count - 1)
        progress = replace(
            self.comment.progress, implementation=StepState.now, review=ahead, testing=ahead, send_backs=count
        )
        await self.comment.show_progress(f"mends {count}", progress)
        await enter_phase(self.context, Phase.implementation, count + 1)
        return await self.implementation.fix(built, send_backs[-1], send_backs[:-1])


@dataclass(frozen=True)
class _Round:
    """The verification of one head, until it is clear what comes next."""

    cycle: Cycle
    built: BuiltChange
    opened: OpenedPullRequest
    send_backs: Sequence[SendBack]

    async def run(self) -> SendBack | RunEnd | ReasonCode:
        """What is sent back, how the run ends, or why it has to wait."""
        while True:
            state = await self._context.journal.step("how it stands", self._load_state)
            step, phase = next_step(state, self.built.head, self.send_backs)
            refused = None if step in END_STEPS else await self._leave_phases(state)
            if refused is not None:
                return await self._comment.add_progress(refused)
            outcome = await self._take(step, phase, state)
            if outcome is not None:
                return outcome

    @property
    def _context(self) -> RunContext:
        return self.cycle.context

    @property
    def _comment(self) -> StatusComment:
        return self.cycle.comment

    @cached_property
    def _pull_request(self) -> OwnPullRequest:
        return OwnPullRequest(self._context, self.opened.number)

    @property
    def _number(self) -> int:
        return len(self.send_backs) + 1

    async def _take(
        self, step: NextStep, phase: Phase, state: PullRequestState
    ) -> SendBack | RunEnd | ReasonCode | None:
        """Take a step; None if the state is to be loaded again."""
        match step:
            case NextStep.test:
                return None if await self._test() else await self._wait_for_workflows()
            case NextStep.ready:
                return await self._try_to_finish()
            case NextStep.wait:
                return await self._wait_for_review(state)
            case NextStep.fix:
                return self._send_back(phase, state)
            case NextStep.help if state.is_hiding:  # a recovery asks by itself
                return self._send_back(phase, state, is_spent=True)
            case NextStep.help:
                gate = HelpGate(self._context, self.cycle.commits.planned.configuration)
                may_fix = await gate.may_fix(phase, self.built.head, self.send_backs, state)
                return self._send_back(phase, state) if may_fix else await self._end(NextStep.given_up)
            case _:
                return await self._end(step)

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
        gates = ConfiguredGates(self._context, self.cycle.commits.planned)
        is_tested = state.tested is not VerificationState.pending
        for phase in (Phase.implementation, Phase.testing) if is_tested else (Phase.implementation,):
            known = build_test_facts(state.failing, state.coverage_delta) if phase is Phase.testing else None
            refused = await gates.ask_at_phase_end(phase, self._number, self.built.head, known)
            if refused is not None:
                return refused
            await leave_phase(self._context, phase, self._number)
        return None

    async def _test(self) -> bool:
        """Test the head once; False while the repository's own workflows run."""
        await enter_phase(self._context, Phase.testing, self._number)
        progress = replace(self._comment.progress, review=StepState.done, testing=StepState.now)
        await self._comment.show_progress(f"tests {self.built.head}", progress)
        planned, attempt = self.cycle.commits.planned, len(self.built.fixes) + 1
        terms = await load_own_terms(self._context)
        where = (self._context, planned.configuration, self.built.head, "by the run", terms, attempt)
        tested = await HeadTester(*where, baseline=planned.baseline).test(planned.plan.level)
        if tested is not None:
            await self._context.journal.step("keep the tests", self._save_tests, tested)
        await self._context.progress.quiet()
        return tested is not None

    async def _wait_for_workflows(self) -> ReasonCode:
        """Wait for the repository's own workflows. A scheduled check ends the wait if GitHub starts or ends none."""
        await self._context.journal.step("look again later", self._schedule_check)
        return ReasonCode.in_review

    async def _wait_for_review(self, state: PullRequestState) -> ReasonCode:
        waiting = pull_request_texts.waits_for_review(self.opened.number, state.reviewed)
        await self._comment.show_review(f"in review {self.built.head} {state.reviewed}", waiting)
        return ReasonCode.in_review

    async def _try_to_finish(self) -> RunEnd | None:
        """Mark the pull request ready; None if somebody just closed it or pushed."""
        if not await self._context.journal.step("mark it ready", self._mark_ready):
            return None
        return RunEnd(RunState.completed, ReasonCode.proposed, await self._comment.render_ready())

    async def _end(self, step: NextStep) -> RunEnd:
        """How the run ends after a step that is not ``ready``."""
        context = self._context
        if step not in END_STEPS:  # a draft is left, with its result in it
            await context.journal.step("say what it came to", self._write_result)
        spent = await context.load_cost()
        if step in END_STEPS:
            await context.journal.step("close the tests", test_check.close_checks, context.services, context.run)
        state, reason, report = _ENDS[step]
        return RunEnd(state, reason, report(self.opened.number, spent=spent))

    # --- steps -------------------------------------------------------------------------------------------------

    async def _load_state(self) -> PullRequestState:
        state = await self._pull_request.load(self.built, self.send_backs)
        red = await self._list_red() if state.tested in _WITHOUT_FAILURE else ()
        if not red:
            return state
        to_fix = tuple(each.build_fix() for each in red[:MOST_FIXES])
        return state.model_copy(update={"tested": VerificationState.failed, "to_fix": to_fix})

    async def _list_red(self) -> Sequence[RedCheck]:
        """The red checks of other Apps, once all have ended, and the jobs that failed once have run again."""
        services, run, head = self._context.services, self._context.run, self.built.head
        red = await load_red_checks_of_run(services, run, self.opened.number, head)
        return () if red and await run_again(self._context, head) else red

    async def _save_tests(self, tested: HeadTestResult) -> None:
        value = tested.model_dump(mode="json")
        await checkpoints.save_tests(self._context.database, self._context.run, value, self._context.now())

    async def _schedule_check(self) -> None:
        now = self._context.now()
        check = waits.ScheduledCheck(self._context.run.id, waits.CheckCause.tests, int(now.timestamp()))
        await waits.schedule(self._context.database, check, now + GRACE)

    async def _build_result(self) -> VerifiedResult:
        tested = await self._pull_request.load_tests(self.built.head)
        return await self._pull_request.build_result(self.built.head, tested, self._comment.progress.send_backs)

    async def _write_result(self) -> None:
        await self._pull_request.write_result(self.built.head, await self._build_result())

    async def _mark_ready(self) -> bool:
        await self._context.progress.quiet()
        await self.cycle.publisher.require_pushable()
        result = await self._build_result()
        step, text = name_final_step(ReasonCode.proposed), await self._comment.render_ready()
        return await self._pull_request.mark_ready(self.built.head, result, step, text)
