"""Shows the tests of one head and their result: the check ``Forge / test``."""

from dataclasses import dataclass

from domain.github.checks import CheckRun, CheckRunRef
from domain.review.review import Conclusion
from domain.runs.run import Run
from domain.runs.testing import SuiteVerdict
from memory.runs import outbox
from messages import tests as test_texts
from messages.review import CheckText
from pipeline.context import Services
from pipeline.publishing.checks import build_check, complete_check, ensure_check, update_check

CONCLUSIONS = {
    SuiteVerdict.passed: Conclusion.success,
    SuiteVerdict.failed: Conclusion.failure,
    SuiteVerdict.no_tests: Conclusion.action_required,
    SuiteVerdict.not_run: Conclusion.action_required,
}


@dataclass(frozen=True)
class HeadTestCheck:
    """The check of one test of one head. Every method may be repeated after a crash and then changes nothing.

    :param run: the run that asked for the tests.
    :param occasion: tells several tests of this head apart.
    """

    services: Services
    run: Run
    head: str
    occasion: str

    async def show_queued(self) -> None:
        """Show that the tests wait for their turn.

        :raises Superseded: if another run owns the pull request or issue.
        """
        check = self._build_check(test_texts.QUEUED, status="queued")
        await ensure_check(self.services, self.run, self.step_name("queued"), check, self._head_test)

    async def show_progress(self, doing: str) -> None:
        """Show what the tests do now: see :class:`pipeline.publishing.publisher.ProgressUpdates`."""
        check = self._build_check(test_texts.render_progress(doing))
        await update_check(self.services, self.run, self.step_name("queued"), check, self._head_test)

    async def conclude(self, verdict: SuiteVerdict, text: CheckText, *, needs_person: bool = False) -> None:
        """Show the result.

        :param needs_person: whether a person has to look at it, although the tests passed.
        """
        asks = needs_person and verdict is SuiteVerdict.passed
        await self._complete(outbox.TESTED, text, Conclusion.action_required if asks else CONCLUSIONS[verdict])

    async def give_up(self, text: CheckText) -> None:
        """Complete the check without a result."""
        await self._complete("given up", text, Conclusion.action_required)

    @property
    def external_id(self) -> str:
        """The id by which the check is found after a crash."""
        return f"{self.run.id}:test:{self.head}:{self.occasion}"

    def build_cancellation(self, by: str) -> CheckRun:
        """The check of tests that were cancelled.

        :param by: the person who stopped them; empty if it was something else.
        """
        return self._build_check(test_texts.render_cancelled(by), Conclusion.cancelled)

    def step_name(self, name: str) -> str:
        """The name of one of its writes in the outbox."""
        return outbox.name_test_step(self.head, self.occasion, name)

    @property
    def _head_test(self) -> outbox.TestedHead:
        return outbox.TestedHead(self.head, self.occasion)

    async def _complete(self, step: str, text: CheckText, conclusion: Conclusion) -> None:
        check, creation = self._build_check(text, conclusion), self.step_name("queued")
        await complete_check(self.services, self.run, creation, self.step_name(step), check, self._head_test)

    def _build_check(
        self, text: CheckText, conclusion: Conclusion | None = None, status: str = "in_progress"
    ) -> CheckRun:
        return build_check(test_texts.CHECK_NAME, self.head, self.external_id, text, conclusion, status)


async def list_open_tests(services: Services, run: Run) -> list[outbox.TestedHead]:
    """The tests of a run whose checks are not completed."""
    opened = await outbox.list_opened_tests(services.database, run.id)
    return [tested for tested in opened if await _find_check(services, run, tested) is not None]


async def close_checks(services: Services, run: Run) -> None:
    """Complete every open check of a run's tests, whoever owns the pull request or issue now."""
    for tested in await outbox.list_opened_tests(services.database, run.id):
        await close_check(services, run, tested)


async def close_check(services: Services, run: Run, tested: outbox.TestedHead, by: str = "") -> None:
    """Complete the check of tests that were stopped.

    One that GitHub no longer finds, or that was completed meanwhile, stays as it is.

    :param by: the person who stopped them, who is named also where the tests closed it by themselves before.
    """
    found = await _find_check(services, run, tested, or_cancelled=bool(by))
    if found is not None:
        shown = HeadTestCheck(services, run, tested.head_sha, tested.occasion)
        await services.host.update_check_run(run.repository, found.id, shown.build_cancellation(by))


async def _find_check(
    services: Services, run: Run, tested: outbox.TestedHead, *, or_cancelled: bool = False
) -> CheckRunRef | None:
    """The check of a test if GitHub finds it and it has no result."""
    shown = HeadTestCheck(services, run, tested.head_sha, tested.occasion)
    found = await services.host.find_check_run(run.repository, shown.head, shown.external_id)
    is_cancelled = found is not None and or_cancelled and found.conclusion == Conclusion.cancelled
    return found if found is not None and (is_cancelled or not found.is_completed) else None
