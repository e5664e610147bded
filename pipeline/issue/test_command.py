"""``/forge test``: tests the head that a run reviewed, on that run's account, as a short durable workflow."""

from datetime import timedelta
from functools import partial

import structlog
from dbos import DBOS, EnqueueOptions
from pydantic import BaseModel, JsonValue
from structlog.contextvars import bound_contextvars

from domain.config.configuration import Configuration
from domain.errors import ForgeError, Superseded
from domain.review.review import Conclusion, RiskLevel
from domain.runs.run import RepositoryRef, Run
from memory.repositories import permits
from memory.runs import checkpoints, runs
from messages import tests as test_texts
from messages.review import CheckText
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.names import APP_VERSION, TEST, TESTS
from pipeline.issue.testing import HeadTester
from pipeline.publishing.test_check import HeadTestCheck, close_checks
from pipeline.runs.lifecycle import answer_nothing
from pipeline.steps import call_dbos
from pipeline.verdicts.settings import load_configuration

_PAUSES = (1, 2, 4, 8, 15, 30)
"""Minutes from one look at workflows to the next; an hour in all."""

log = structlog.get_logger(__name__)


async def enqueue_test(run: Run, occasion: str) -> None:
    """Queue the tests of a run's head; a repeated call changes nothing.

    :param occasion: the delivery that asked for it.
    """
    options: EnqueueOptions = {
        "workflow_name": TEST,
        "queue_name": TESTS,  # of its own: tests take long, and must keep nothing else waiting
        "workflow_id": f"{run.id}/test {occasion}",
        "app_version": APP_VERSION,
        "queue_partition_key": f"{run.repository.id}#{run.number}",
    }
    await call_dbos(partial(DBOS.enqueue_workflow_with_options_async, options, run.id, occasion))


async def find_run_on_head(services: Services, repository: RepositoryRef, number: int, head: str) -> Run | None:
    """The run whose tests those of a head are: the newest on the pull request, if it is about that head."""
    past = await runs.list_for_pull_request(services.database, repository.id, number)
    newest = past[0].run if past else None
    return newest if newest is not None and newest.head_sha == head else None


class _TestContext(BaseModel):
    configuration: Configuration
    level: RiskLevel
    paused_by: str | None


class HeadTest:
    """The tests of one head, asked for once."""

    def __init__(self, services: Services, run: Run, occasion: str, workflow_id: str) -> None:
        self._services = services
        self._run = run
        self._occasion = occasion
        self._journal = WorkflowJournal(services, workflow_id)

    async def execute(self) -> str:
        """Test it and show the result; what that came to, in a word."""
        with bound_contextvars(trace=self._run.id):
            return await self._execute()

    async def _execute(self) -> str:
        try:
            known = _TestContext.model_validate(await self._journal.step("what is known", self._load_context))
            if known.paused_by is not None:
                return await self._give_up(test_texts.render_paused(known.paused_by))
            head, occasion = self._run.head_sha, self._occasion
            testing = HeadTester(self._services, self._journal, self._run, known.configuration, head, occasion)
            return await self._test_until_done(testing, known.level)
        except Superseded:
            return await self._close()
        except ForgeError as error:
            log.warning("test.failed", run=self._run.id, error=str(error))
            return await self._give_up(test_texts.render_failure(error))

    async def _test_until_done(self, testing: HeadTester, level: RiskLevel) -> str:
        """Test it, looking again until workflows of the repository's own have ended, if it is they that test."""
        for pause in (*_PAUSES, None):
            tested = await testing.test(level, asks=False)
            if tested is not None:
                return tested.verdict.value
            if pause is not None:
                await self._journal.pause(timedelta(minutes=pause), "The repository's own workflows have not ended.")
        raise ForgeError("The repository's own workflows did not end within an hour.", "Ask again once they have.")

    async def _load_context(self) -> JsonValue:
        """Before a review says how risky a change is, all tests are run."""
        review = await checkpoints.load_review(self._services.database, self._run)
        level = RiskLevel.high if review is None else review.risk.level
        configuration = (await load_configuration(self._services, self._run)).configuration
        paused_by = await permits.find_pauser(self._services.database, self._run.repository)
        return _TestContext(configuration=configuration, level=level, paused_by=paused_by).model_dump(mode="json")

    async def _give_up(self, text: CheckText) -> str:
        shown = HeadTestCheck(self._services, self._run, self._run.head_sha, self._occasion)
        try:
            await self._journal.step("give up", lambda: answer_nothing(shown.give_up(text, Conclusion.action_required)))
        except Superseded:
            return await self._close()
        except ForgeError as error:
            log.warning("test.unsaid", run=self._run.id, error=str(error))
        return "not tested"

    async def _close(self) -> str:
        """Something else owns the pull request by now: what this left open is completed all the same."""
        try:
            await self._journal.step("close the check", lambda: answer_nothing(close_checks(self._services, self._run)))
        except ForgeError as error:
            log.warning("test.unclosed", run=self._run.id, error=str(error))
        return "superseded"
