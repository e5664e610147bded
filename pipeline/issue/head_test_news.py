"""Says where it matters what ``/forge test`` found: to a review, to a waiting run, to a draft that becomes ready."""

from dataclasses import dataclass

from domain.runs.earlier_tests import NOTHING_EARLIER, EarlierTests
from domain.runs.run import ReasonCode, Run, RunState
from domain.runs.testing import SuiteVerdict
from memory.runs import checkpoints, outbox, runs
from messages.plan import StepState
from messages.pull_request import Progress
from pipeline.automation.follow_up import resume_judged_run
from pipeline.automation.level import find_opening_obstacle
from pipeline.config.loading import load_configuration
from pipeline.context import DeliveryContext, Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.issue.head_examination import HeadTestResult
from pipeline.issue.pull_request_state import OwnPullRequest
from pipeline.issue.status_comment import name_final_step
from pipeline.run_context import RunContext
from pipeline.verdicts.earlier_tests import find_lost_tests
from pipeline.verdicts.update import update_verdict


async def take_up_untested(services: Services, journal: WorkflowJournal, reviewed: Run, tested: HeadTestResult) -> bool:
    """Whether a draft became ready that had waited for these tests. May be repeated.

    :param reviewed: a run on the pull request.
    :param tested: how the tests of its head ended.
    :raises Superseded: another run owns the issue.
    """
    if tested.verdict is not SuiteVerdict.passed or tested.weakened or tested.needs_person:
        return False
    run = await _find_untested(services, reviewed)
    if run is None or await find_opening_obstacle(services, run.repository) is not None:
        return False
    context = RunContext(services, run, journal)
    pull_request = OwnPullRequest(context, reviewed.number)
    if not await pull_request.is_approved(tested.head):
        return False
    send_backs = len(await checkpoints.load_send_backs(services.database, run))
    result = await pull_request.build_result(tested.head, tested, send_backs)
    text = await context.status.render_progress(await _load_progress(context, reviewed.number, send_backs))
    step = name_final_step(ReasonCode.proposed)
    if not await pull_request.mark_ready(tested.head, result, step, text):
        return False
    await runs.hand_in(services.database, run.id)
    return True


async def _find_untested(services: Services, reviewed: Run) -> Run | None:
    """The run of an issue that opened a pull request and ended because it could not be tested."""
    run = await outbox.find_proposing_run(services.database, reviewed.repository.id, reviewed.number)
    is_untested = run is not None and run.state is RunState.completed and run.reason is ReasonCode.untested
    return run if is_untested else None


async def _load_progress(context: RunContext, number: int, send_backs: int) -> Progress:
    plan, done = await checkpoints.load_plan(context.database, context.run), StepState.done
    tasks = 0 if plan is None else len(plan.plan.tasks)
    return Progress(done, None, done, tasks, tasks, done, number, done, done, send_backs)


@dataclass(frozen=True)
class HeadTestNews:
    """What the tests of one head found.

    :param context: of the run that was asked to test it.
    :param occasion: the delivery of the command.
    """

    context: RunContext
    occasion: str
    tested: HeadTestResult

    async def tell(self) -> None:
        """Tell both."""
        await self._tell_review()
        await self.context.journal.step("take up what was not tested", self._take_up)

    async def _take_up(self) -> bool:
        """Whether the draft of an issue's run is ready now."""
        context = self.context
        return await take_up_untested(context.services, context.journal, context.run, self.tested)

    async def _tell_review(self) -> None:
        """Let the review of this head know what the tests of before say, where it could not know itself, and that tests
        ran at all.
        """
        journal, services, run = self.context.journal, self.context.services, self.context.run
        is_told = False
        if self.tested.earlier != NOTHING_EARLIER:
            is_told = await journal.step("tell the review", self._add_to_review, self.tested.earlier)
        if is_told:
            cause = DeliveryContext(services, journal, self.occasion)
            await resume_judged_run(cause, run.repository, run.number, is_judged=True)
        else:
            await journal.step("point to the tests", self._show_in_review)

    async def _show_in_review(self) -> None:
        """Let the check of a review that misses a reader say where the tests are shown."""
        services, run = self.context.services, self.context.run
        review = await checkpoints.load_review(services.database, run)
        if review is not None and (review.unread.paths or review.unread.logic):
            await update_verdict(services, run.repository, run.number, f"{self.occasion} tested")

    async def _add_to_review(self, said: EarlierTests) -> bool:
        """Whether the review did not know it. One that is not over asks the tests itself."""
        context, services, run = self.context, self.context.services, self.context.run
        stored = await runs.get(services.database, run.id)
        review = await checkpoints.load_review(services.database, run)
        is_over = stored is not None and stored.state in {RunState.completed, RunState.waiting}
        if review is None or not is_over or (review.earlier is not None and not review.earlier.not_run):
            return False
        mirror, configuration = await context.fetch_mirror(), await load_configuration(services, run.repository)
        found = await find_lost_tests(
            services, run, configuration, await context.load_change(mirror, run.head_sha), said
        )
        await checkpoints.add_earlier_tests(services.database, run, said, found, context.now())
        await update_verdict(services, run.repository, run.number, f"{self.occasion} tested")
        return True
