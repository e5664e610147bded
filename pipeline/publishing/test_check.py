"""Shows on GitHub what the tests of one head came to: the check ``Forge / test``."""

from dataclasses import dataclass

from domain.github.checks import CheckRun
from domain.review.review import Conclusion
from domain.runs.run import Run
from domain.runs.testing import Verdict
from domain.text.redaction import outgoing
from memory.runs import outbox
from messages import tests as test_texts
from messages.review import CheckText
from pipeline.context import Services
from pipeline.publishing.publisher import Publisher

CONCLUSIONS = {
    Verdict.passed: Conclusion.success,
    Verdict.failed: Conclusion.failure,
    Verdict.no_tests: Conclusion.action_required,
    Verdict.not_run: Conclusion.action_required,
}


@dataclass(frozen=True)
class ShownTests:
    """The check of one testing of one head. Every method may be repeated after a crash and then changes nothing.

    :param run: on whose account the tests run.
    :param occasion: tells one testing of this head from another.
    """

    services: Services
    run: Run
    head: str
    occasion: str

    async def begin(self) -> None:
        """Show that the tests wait for their turn.

        :raises Superseded: if another run owns the pull request or issue.
        """
        check = self._check("queued", test_texts.queued(), None)
        await Publisher.of(self.services).opened(self.run, self._opening, check)

    async def mention(self, doing: str) -> None:
        """Say what is being done, in passing: see :class:`pipeline.publishing.progress.Telling`."""
        check = self._check("in_progress", test_texts.progress(doing), None)
        await Publisher.of(self.services).mention(self.run, self._opening, check)

    async def conclude(self, verdict: Verdict, text: CheckText) -> None:
        """Say what the tests came to."""
        await self._update("concluded", "completed", text, CONCLUSIONS[verdict])

    async def give_up(self, text: CheckText, conclusion: Conclusion) -> None:
        """Complete the check without a result."""
        await self._update("given up", "completed", text, conclusion)

    @property
    def external_id(self) -> str:
        """By which the check is found again."""
        return f"{self.run.id}:test:{self.head}:{self.occasion}"

    @property
    def cancelled(self) -> CheckRun:
        """The check of tests whose result nobody waits for any more."""
        return self._check("completed", test_texts.cancelled(), Conclusion.cancelled)

    def step(self, name: str) -> str:
        """The name of one of its writes in the outbox."""
        return f"tests {self.head} {self.occasion}: {name}"

    @property
    def _opening(self) -> str:
        return self.step("queued")

    async def _update(self, step: str, status: str, text: CheckText, conclusion: Conclusion | None) -> None:
        check = self._check(status, text, conclusion)
        await Publisher.of(self.services).complete(self.run, self._opening, self.step(step), check)

    def _check(self, status: str, text: CheckText, conclusion: Conclusion | None) -> CheckRun:
        return CheckRun.model_validate(
            {
                "name": test_texts.CHECK_NAME,
                "head_sha": self.head,
                "external_id": self.external_id,
                "status": status,
                "title": outgoing(text.title),
                "summary": outgoing(text.summary),
                "text": outgoing(text.text),
                "conclusion": conclusion,
            }
        )


async def close(services: Services, run: Run) -> None:
    """Complete every check of a run's tests that was left open, whoever owns the pull request or issue by now.

    A check that GitHub does not find any more, or completed meanwhile, stays as it is.
    """
    for head, occasion in await outbox.opened_tests(services.database, run.id):
        shown = ShownTests(services, run, head, occasion)
        found = await services.host.find_check_run(run.repository, head, shown.external_id)
        if found is not None and not found.is_completed:
            await services.host.update_check_run(run.repository, found.id, shown.cancelled)
