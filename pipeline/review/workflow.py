"""The review of one head, as a durable workflow that reads from top to bottom."""

import structlog

from agents.review.layers import CheckedChange
from domain.errors import ForgeError
from domain.gates import Gate
from domain.runs.run import Phase, ReasonCode, Run, RunState
from pipeline.automation import workflow
from pipeline.context import Services
from pipeline.publishing import checks
from pipeline.publishing.reviews import PostedReview
from pipeline.review import follow_up, status
from pipeline.review.analysis import has_leaked, run_checks
from pipeline.review.model_layer import ModelLayer
from pipeline.review.own_files import check_files, list_own
from pipeline.review.verdict import ReviewVerdict
from pipeline.runs.lifecycle import RunWorkflow, enter_phase, leave_phase
from pipeline.verdicts.gates import GatesOutcome
from pipeline.verdicts.settings import NotReviewed, NotReviewedKind, RunSettings, load_settings
from safety.eligibility import nothing_left
from safety.gates import list_protected

log = structlog.get_logger(__name__)


class ReviewRun(RunWorkflow):
    """One run of the review pipeline: begin, check, read, post, run the earlier tests, ask, conclude."""

    def __init__(self, services: Services, run: Run, workflow_id: str | None = None) -> None:
        super().__init__(services, run, workflow_id)
        self._verdict = ReviewVerdict(self._context)

    async def _work(self) -> str:
        journal, verdict = self._journal, self._verdict
        await journal.step("begin", self._begin)
        settings = await journal.step("read the configuration", load_settings, self._services, self._run)
        if not await journal.step("is it drawn", verdict.is_reviewed):
            if settings.not_reviewed is not None:
                return await self._end_unreviewed(settings.not_reviewed, settings)
            await enter_phase(self._context, Phase.review)
            checked = await journal.step("run the checks", run_checks, self._services, self._run, settings)
            touched = list_own(checked.paths)
            if touched:
                await journal.step("check the configuration file", check_files, self._services, self._run, touched)
            filtered_out = await self._find_filter(checked, settings)
            if filtered_out is not None:
                await leave_phase(self._context, Phase.review)
                return await self._end_unreviewed(filtered_out, settings)
            model = await ModelLayer(self._context, settings, checked).read()
            await journal.step("draw the review", verdict.build, checked, model)
        posted = await journal.step("post the review", verdict.post, settings)
        more = await self._ask_earlier_tests(settings)
        unseen = [each for each in (posted, more) if each.review_id]
        outcome = await journal.step("ask people", verdict.ask_people, settings)
        unposted = posted.unposted or more.unposted
        await journal.step("conclude the check", verdict.conclude, settings, unposted, posted.told)
        ended = await self._end(outcome)
        late = follow_up.apply_late_dismissals
        await journal.step("was it judged meanwhile", late, self._services, self._run, journal.workflow_id)
        for each in unseen:
            await follow_up.record_comments(self._services, journal, self._run, settings, each)
        await self._settle_threads(settings)
        return ended

    async def _begin(self) -> None:
        await self._move(RunState.running)
        await status.begin(self._context)

    async def _ask_earlier_tests(self, settings: RunSettings) -> PostedReview:
        """Ask the tests of before what they say of the code, and post that."""
        is_told = await self._journal.step("run the earlier tests", self._verdict.ask_earlier_tests, settings)
        await self._context.progress.quiet()
        if not is_told:
            return PostedReview()
        return await self._journal.step("post the earlier tests", self._verdict.post_lost_tests, settings)

    async def _find_filter(self, checked: CheckedChange, settings: RunSettings) -> NotReviewed | None:
        """Why the repository's filter of paths leaves nothing to review, if it does."""
        nothing = nothing_left(checked.paths, settings.configuration.review)
        if nothing is None or list_protected(checked.paths, settings.configuration):
            return None  # the filter does not cover files that decide who may do what
        if checked.only_for and checked.is_shared:
            return None  # nor what the base branch holds
        if await self._journal.step("look into the history", has_leaked, self._services, self._run):
            return None
        return NotReviewed(kind=NotReviewedKind.filtered, why=nothing.text)

    async def _end_unreviewed(self, end: NotReviewed, settings: RunSettings) -> str:
        step, state, reason = _UNREVIEWED[end.kind]
        detail = end.why if state is RunState.failed else ""

        async def show_and_end() -> None:
            await status.show_not_reviewed(self._context, end, settings.problem)
            await self._move(state, reason, detail)

        await self._journal.step(step, show_and_end)
        return reason.value

    async def _end(self, outcome: GatesOutcome) -> str:
        """Let the run end, or wait for a person, as its gates say."""
        if outcome is GatesOutcome.waiting:
            return await self._wait(ReasonCode.gate)
        state, reason = _ENDS[outcome]
        if outcome is GatesOutcome.passed:
            await leave_phase(self._context, Phase.review)
        await self._journal.step("finish", self._finish, state, reason)
        self._is_over = True  # at once: a merge that follows the verdict must not cancel it
        if state is RunState.completed:
            await workflow.enqueue_first_check(self._run.id)
        return reason.value or state.value

    async def _finish(self, state: RunState, reason: ReasonCode) -> None:
        if state is RunState.completed:
            await workflow.schedule_first_check(self._services, self._run)
        await self._move(state, reason)

    async def _settle_threads(self, settings: RunSettings) -> None:
        try:
            await self._journal.step(
                "settle the threads", follow_up.settle_threads, self._services, self._run, settings
            )
        except ForgeError as error:  # the next push settles them
            log.warning("threads.not_settled", run=self._run.id, error=str(error))

    async def _show_waiting(self, gate: Gate) -> None:
        await status.show_waiting(self._context, gate)

    async def _show_failure(self, error: ForgeError) -> None:
        await status.show_failure(self._context, error)

    async def _close(self) -> None:
        await checks.close(self._services, self._run)


_EXCLUDED = ("say that it is excluded", RunState.completed, ReasonCode.excluded)
_UNREVIEWED = {
    NotReviewedKind.paused: ("say that it is paused", RunState.cancelled, ReasonCode.paused),
    NotReviewedKind.over_quota: ("say that it is too much", RunState.failed, ReasonCode.guard),
    NotReviewedKind.off: _EXCLUDED,
    NotReviewedKind.excluded: _EXCLUDED,
    NotReviewedKind.filtered: _EXCLUDED,
}
"""For each kind the step, which is never renamed, and how the run ends."""

_ENDS = {
    GatesOutcome.passed: (RunState.completed, ReasonCode.none),
    GatesOutcome.rejected: (RunState.failed, ReasonCode.gate_rejected),
    GatesOutcome.expired: (RunState.failed, ReasonCode.gate_timeout),
}
