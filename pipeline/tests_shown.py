"""Shows on GitHub what the tests of one head came to: the check ``Forge / test``."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from domain import test_texts
from domain.ports import CheckRun
from domain.redaction import outgoing
from domain.review import Conclusion
from domain.runs import Run
from domain.testing import Verdict
from domain.texts import CheckText
from memory import outbox
from pipeline.services import Services

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
        await self._opened(self._check("queued", test_texts.queued(), None))

    async def mention(self, doing: str) -> None:
        """Say what is being done, in passing: see :class:`pipeline.telling.Telling`."""
        check = self._check("in_progress", test_texts.progress(doing), None)
        check_id, says_it = await self._opened(check)
        if not says_it:
            await self.services.host.update_check_run(self.run.repository, check_id, check)

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

    async def _update(self, step: str, status: str, text: CheckText, conclusion: Conclusion | None) -> None:
        check = self._check(status, text, conclusion)
        check_id, says_it = await self._opened(check)

        async def update() -> int:
            if not says_it:
                await self.services.host.update_check_run(self.run.repository, check_id, check)
            return check_id

        await self._once(step, _no_trace, update)

    async def _opened(self, check: CheckRun) -> tuple[int, bool]:
        """The id of the check, and whether it was created just now as ``check``."""
        host, repository = self.services.host, self.run.repository
        is_new = False

        async def find() -> int | None:
            found = await host.find_check_run(repository, self.head, check.external_id)
            return None if found is None else found.id

        async def create() -> int:
            nonlocal is_new
            made = await host.create_check_run(repository, check)
            is_new = True
            return made.id

        return await self._once("queued", find, create), is_new

    async def _once(
        self, step: str, find: Callable[[], Awaitable[int | None]], write: Callable[[], Awaitable[int]]
    ) -> int:
        return await self.services.publisher.once(self.run, self.step(step), "check", find, write)

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


async def _no_trace() -> int | None:
    """An update may be sent twice; it says the same."""
    return None
