"""Says where it matters what ``/forge test`` found: to the review of that head, and to the run that waited for it."""

from dataclasses import dataclass

from domain.runs.earlier_tests import NOTHING_EARLIER, EarlierTests
from domain.runs.run import RunState
from memory.runs import checkpoints, runs
from pipeline.issue.late_tests import take_up_untested
from pipeline.issue.test_result import HeadTestResult
from pipeline.run_context import RunContext
from pipeline.verdicts.earlier_tests import find_lost_tests
from pipeline.verdicts.resume import resume_judged_run
from pipeline.verdicts.settings import load_configuration
from pipeline.verdicts.update import update_verdict


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
            await resume_judged_run(services, journal, self.occasion, run.repository, run.number, is_judged=True)
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
        mirror, configuration = await context.fetch_mirror(), (await load_configuration(services, run)).configuration
        found = await find_lost_tests(
            services, run, configuration, await context.load_change(mirror, run.head_sha), said
        )
        await checkpoints.add_earlier_tests(services.database, run, said, found, context.now())
        await update_verdict(services, run.repository, run.number, f"{self.occasion} tested")
        return True
