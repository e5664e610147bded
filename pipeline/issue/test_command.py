"""``/forge test``: tests the head of a run, as a short durable workflow."""

from datetime import timedelta

import structlog
from structlog.contextvars import bound_contextvars

from domain.config.configuration import Configuration
from domain.errors import ForgeError, Superseded
from domain.review.review import RiskLevel
from domain.runs.run import RepositoryRef, Run
from domain.value import Value
from memory.repositories import permits
from memory.runs import checkpoints, runs
from messages import tests as test_texts
from messages.review import CheckText
from pipeline.config.loading import load_configuration
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import TEST, enqueue
from pipeline.issue.avoidance import AvoidanceTerms, load_terms
from pipeline.issue.head_test_news import HeadTestNews
from pipeline.issue.testing import HeadTester
from pipeline.publishing.test_check import HeadTestCheck, close_checks
from pipeline.run_context import RunContext

_PAUSES = (1, 2, 4, 8, 15, 30)
"""Minutes between two checks of workflows; an hour in all."""


log = structlog.get_logger(__name__)


async def enqueue_test(run: Run, occasion: str) -> None:
    """Queue the tests of a run's head; a repeated call changes nothing.

    :param occasion: the delivery of the command.
    """
    where = {"repository": run.repository.id, "number": run.number}
    await enqueue(TEST, run.id, occasion, run=run.id, occasion=occasion, **where)


async def find_run_on_head(services: Services, repository: RepositoryRef, number: int, head: str) -> Run | None:
    """The newest run on a pull request, if it is about ``head``."""
    newest = await runs.find_newest(services.database, repository.id, number)
    return newest if newest is not None and newest.head_sha == head else None


class _TestInput(Value):
    configuration: Configuration
    level: RiskLevel
    why_all: str = ""
    paused_by: str | None
    terms: AvoidanceTerms = AvoidanceTerms()


class HeadTest:
    """The tests of one head, for one command.

    :param occasion: the delivery of the command.
    """

    def __init__(self, services: Services, run: Run, occasion: str, workflow_id: str) -> None:
        self._occasion = occasion
        self._context = RunContext(services, run, WorkflowJournal(services, workflow_id))

    async def execute(self) -> str:
        """Test the head and show the result; the outcome in a word."""
        with bound_contextvars(trace=self._context.run.id):
            return await self._execute()

    async def _execute(self) -> str:
        try:
            known = await self._context.journal.step("what is known", self._load_input)
            if known.paused_by is not None:
                return await self._give_up(test_texts.render_paused(known.paused_by))
            head, occasion = self._context.run.head_sha, self._occasion
            tester = HeadTester(
                self._context,
                known.configuration,
                head,
                occasion,
                known.terms,
                is_beside_run=True,
                why_all=known.why_all,
            )
            asks = known.configuration.review.may_ask_model
            return await self._test_until_done(tester, known.level, asks=asks)
        except Superseded:
            return await self._close()
        except ForgeError as error:
            log.warning("test.failed", run=self._context.run.id, error=str(error))
            return await self._give_up(test_texts.render_failure(error))

    async def _test_until_done(self, tester: HeadTester, level: RiskLevel, *, asks: bool) -> str:
        """Test it; where the repository's own workflows test, wait until they end."""
        for pause in (*_PAUSES, None):
            tested = await tester.test(level, asks=asks)
            if tested is not None:
                await HeadTestNews(self._context, self._occasion, tested).tell()
                return tested.verdict.value
            if pause is not None:
                why = "The repository's own workflows have not ended."
                await self._context.journal.pause(timedelta(minutes=pause), why)
        raise ForgeError("The repository's own workflows did not end within an hour.", "Ask again once they have.")

    async def _load_input(self) -> _TestInput:
        """Without a review the risk counts as high, so that all tests run."""
        services, run = self._context.services, self._context.run
        review = await checkpoints.load_review(services.database, run)
        level = RiskLevel.high if review is None else review.risk.level_unasked
        configuration = await load_configuration(services, run.repository)
        paused_by = await permits.find_pauser(services.database, run.repository)
        terms = await load_terms(services.database, run, configuration)
        why_all = test_texts.UNREVIEWED if review is None else ""
        return _TestInput(configuration=configuration, level=level, why_all=why_all, paused_by=paused_by, terms=terms)

    async def _give_up(self, text: CheckText) -> str:
        services, run = self._context.services, self._context.run
        check = HeadTestCheck(services, run, run.head_sha, self._occasion)
        try:
            await self._context.journal.step("give up", check.give_up, text)
        except Superseded:
            return await self._close()
        except ForgeError as error:
            log.warning("test.unsaid", run=run.id, error=str(error))
        return "not tested"

    async def _close(self) -> str:
        """Close the check, although something else owns the pull request now."""
        services, run = self._context.services, self._context.run
        try:
            await self._context.journal.step("close the check", close_checks, services, run)
        except ForgeError as error:
            log.warning("test.unclosed", run=run.id, error=str(error))
        return "superseded"
