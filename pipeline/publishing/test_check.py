"""Shows on GitHub what the tests of one head came to: the check ``Forge / test``."""

from dataclasses import dataclass

from domain.github.checks import CheckRun
from domain.review.review import Conclusion
from domain.runs.run import Run
from domain.runs.testing import Verdict
from domain.text.redaction import redact_outgoing
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
class HeadTestCheck:
    """The check of one testing of one head. Every method may be repeated after a crash and then changes nothing.

    :param run: on whose account the tests run.
    :param occasion: tells one testing of this head from another.
    """

    services: Services
    run: Run
    head: str
    occasion: str

    async def show_queued(self) -> None:
        """Show that the tests wait for their turn.

        :raises Superseded: if another run owns the pull request or issue.
        """
        check = self._build_check("queued", test_texts.render_queued(), None)
        await Publisher.of(self.services).ensure_check(self.run, self._creation_step, check)

    async def show_progress(self, doing: str) -> None:
        """Say what is being done, in passing: see :class:`pipeline.publishing.progress.ProgressUpdates`."""
        check = self._build_check("in_progress", test_texts.render_progress(doing), None)
        await Publisher.of(self.services).update_check(self.run, self._creation_step, check)

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
    def cancellation(self) -> CheckRun:
        """The check of tests whose result nobody waits for any more."""
        return self._build_check("completed", test_texts.render_cancelled(), Conclusion.cancelled)

    def step_name(self, name: str) -> str:
        """The name of one of its writes in the outbox."""
        return f"tests {self.head} {self.occasion}: {name}"

    @property
    def _creation_step(self) -> str:
        return self.step_name("queued")

    async def _update(self, step: str, status: str, text: CheckText, conclusion: Conclusion | None) -> None:
        check = self._build_check(status, text, conclusion)
        await Publisher.of(self.services).complete_check(self.run, self._creation_step, self.step_name(step), check)

    def _build_check(self, status: str, text: CheckText, conclusion: Conclusion | None) -> CheckRun:
        return CheckRun.model_validate(
            {
                "name": test_texts.CHECK_NAME,
                "head_sha": self.head,
                "external_id": self.external_id,
                "status": status,
                "title": redact_outgoing(text.title),
                "summary": redact_outgoing(text.summary),
                "text": redact_outgoing(text.text),
                "conclusion": conclusion,
            }
        )


async def close_checks(services: Services, run: Run) -> None:
    """Complete every check of a run's tests that was left open, whoever owns the pull request or issue by now.

    A check that GitHub does not find any more, or completed meanwhile, stays as it is.
    """
    for head, occasion in await outbox.list_opened_tests(services.database, run.id):
        shown = HeadTestCheck(services, run, head, occasion)
        found = await services.host.find_check_run(run.repository, head, shown.external_id)
        if found is not None and not found.is_completed:
            await services.host.update_check_run(run.repository, found.id, shown.cancellation)
