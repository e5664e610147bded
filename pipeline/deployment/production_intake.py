"""Makes what monitoring reports durable, and decides whether Forge may open issues about it in a repository.

It counts a report and queues what follows from it, in one transaction.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

from dbos import DBOSClient

from domain.config.configuration import Configuration
from domain.deployments.problems import AnyReport
from domain.errors import DatabaseUnavailable
from domain.money import Ceilings
from domain.ports import Clock
from domain.runs.run import RepositoryRef
from domain.value import new_id
from memory.db.engine import Connection, Database
from memory.deployments import feedback_tokens, problems
from memory.deployments.feedback_tokens import FeedbackToken
from memory.deployments.problems import RecordedReport
from memory.repositories import addresses, automation_level, permits
from messages import production as texts
from pipeline.config import loading
from pipeline.durable.queues import BELL, FEEDBACK, HOLD
from safety.allowed_actions import Action, allows
from safety.automation_level import cap_level

PATIENCE = 3.0
"""Seconds until a sender is told that nothing could be stored."""


class TooManyReports(Exception):
    """A token reports more often than it may.

    :ivar wait: time before asking again.
    """

    def __init__(self, wait: timedelta) -> None:
        super().__init__(wait)
        self.wait = wait


class FeedbackIntake:
    """Stores reports.

    :param client: a DBOS client on the same database.
    :param patience: seconds after which a sender is told that the report could not be stored.
    """

    def __init__(self, database: Database, client: DBOSClient, clock: Clock, patience: float = PATIENCE) -> None:
        self._database = database
        self._client = client
        self._clock = clock
        self._patience = patience
        self._turn = asyncio.Lock()  # many reports at once: each sees what those before it left of its token's share

    async def authenticate(self, token: str) -> FeedbackToken | None:
        """The token, and one of its messages counted; None if it is of no use.

        :raises TooManyReports: it has to wait.
        :raises DatabaseUnavailable: that could not be found out within the patience.
        """
        if not feedback_tokens.is_token(token):
            return None
        return await self._admit(lambda connection: feedback_tokens.authenticate(connection, token))

    async def authenticate_signed(self, key: str, body: bytes, signature: str) -> FeedbackToken | None:
        """The same by a signature of the body, for the token with this id.

        :raises TooManyReports: it has to wait.
        :raises DatabaseUnavailable: that could not be found out within the patience.
        """
        return await self._admit(lambda known: feedback_tokens.authenticate_signed(known, key, body, signature))

    async def _admit(self, find: Callable[[Connection], FeedbackToken | None]) -> FeedbackToken | None:
        now = self._clock.now()

        def look(connection: Connection) -> tuple[FeedbackToken | None, timedelta]:
            known = find(connection)
            if known is None:
                return None, timedelta()
            return known, feedback_tokens.take_turn(connection, known.id, now).wait

        async with self._limit_time(), self._turn:
            known, wait = await self._database.run_in_transaction(look)
        if wait:
            raise TooManyReports(wait)
        return known

    async def accept(self, token: FeedbackToken, report: AnyReport) -> RecordedReport:
        """Make a report durable.

        :raises UnknownDeployment: it names a deployment that the repository does not have.
        :raises TooManyProblems: there is no room for a problem that is new.
        :raises DatabaseUnavailable: that did not work within the patience.
        """
        now = self._clock.now()

        def store(connection: Connection) -> RecordedReport:
            recorded = problems.record_report(connection, token.repository_id, report, now)
            self._enqueue(connection, token.repository_id, recorded)
            return recorded

        async with self._limit_time():
            recorded = await self._database.run_in_transaction(store)
        BELL.ring(FEEDBACK.queue)
        return recorded

    async def resolve(self, token: FeedbackToken, fingerprint: str) -> RecordedReport | None:
        """Make durable that a problem is over; None if Forge knows of none that is not.

        :raises DatabaseUnavailable: that did not work within the patience.
        """
        now = self._clock.now()

        def store(connection: Connection) -> RecordedReport | None:
            recorded = problems.record_resolution(connection, token.repository_id, fingerprint, now)
            if recorded is not None:
                self._enqueue(connection, token.repository_id, recorded)
            return recorded

        async with self._limit_time():
            recorded = await self._database.run_in_transaction(store)
        BELL.ring(FEEDBACK.queue)
        return recorded

    def _enqueue(self, connection: Connection, repository_id: int, recorded: RecordedReport) -> None:
        key: dict[str, str | int] = {"problem": recorded.problem_id, "repository": repository_id}
        if recorded.is_due:
            options = FEEDBACK.build_options(**key, occasion=new_id())
            self._client.enqueue_in_transaction(connection, options, recorded.problem_id)
        if recorded.held is not None:
            options = HOLD.build_options(**key, deployment=recorded.held)
            self._client.enqueue_in_transaction(connection, options, recorded.problem_id, recorded.held)

    @asynccontextmanager
    async def _limit_time(self) -> AsyncGenerator[None]:
        try:
            async with asyncio.timeout(self._patience):
                yield
        except TimeoutError:
            raise DatabaseUnavailable(f"The report could not be stored within {self._patience:g} s.") from None


async def find_obstacle(database: Database, repository: RepositoryRef, configuration: Configuration) -> str:
    """Why Forge opens no issue, for people; empty if it may."""
    if not configuration.deploy.feedback.issues:
        return texts.ISSUES_OFF
    paused_by = await permits.find_pauser(database, repository)
    if paused_by is not None:
        return texts.explain_pause(paused_by)
    level = cap_level(await automation_level.get_level(database, repository.id), configuration.ladder)
    decision = allows(level, Action.open_issue)
    return "" if decision.allowed else texts.explain_level(decision.reason.text)


async def explain_silence(database: Database, ceilings: Ceilings, repository_id: int) -> str:
    """The same for whoever reports something, without asking GitHub."""
    repository = await addresses.find_address(database, repository_id)
    if repository is None:
        return ""
    configuration = await loading.load_stored(database, repository, ceilings.of_configuration)
    return await find_obstacle(database, repository, configuration)
