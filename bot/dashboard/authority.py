"""Asks GitHub, for each page, what a visitor may read in a repository at this moment."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import structlog

from domain.errors import CodeHostError, Forbidden, NotFound, RateLimited, Unauthorized
from domain.runs.run import RepositoryRef
from memory.process import sessions
from memory.process.sessions import DashboardSession
from memory.reports import pages
from pipeline.context import Services
from safety.authorization import refuse_role

log = structlog.get_logger(__name__)

ANSWER_SECONDS = 10.0
"""How long a page waits for GitHub."""
MOST_AT_ONCE = 8
"""How many repositories of a list are asked about at once."""


class GitHubSilent(Exception):
    """GitHub did not say what a visitor may read; that is never a permission.

    :param until: the moment, in UTC, before which it will not be asked; None: it may be asked again.
    """

    def __init__(self, why: str, until: datetime | None = None) -> None:
        super().__init__(why)
        self.until = until

    @classmethod
    def explain(cls, error: CodeHostError | TimeoutError) -> "GitHubSilent":
        """What an error of a read means for a page."""
        until = error.until if isinstance(error, RateLimited) else None
        return cls(str(error) or "GitHub did not answer in time.", until)


@dataclass(frozen=True)
class ReadableRepository:
    """A repository that a visitor may read now.

    :param repository: under its present name.
    """

    repository: RepositoryRef
    role: str


async def find_readable(
    services: Services, session: DashboardSession, owner: str, name: str
) -> ReadableRepository | None:
    """The repository of an address, if the visitor may read it now; None is the same for all that they may not.

    :raises GitHubSilent: GitHub did not answer about one that their list has. About others it is None: a name that
        Forge does not know gets no other answer, and they may not learn that it knows this one.
    """
    candidate = _find_candidate(session, owner, name)
    readable = None if candidate is None else await ask_for_role(services, session, candidate)
    if readable is not None:
        return readable
    known = await pages.find_repository(services.database, owner, name)
    if known is None or known == candidate:
        return None
    try:
        return await ask_for_role(services, session, known)
    except GitHubSilent as error:
        log.warning("dashboard.github_silent", why=str(error))
        return None


async def keep_readable(
    services: Services, session: DashboardSession, repositories: Sequence[RepositoryRef]
) -> Sequence[ReadableRepository]:
    """Those that the visitor may read now, in order.

    :raises GitHubSilent: GitHub did not answer about one of them.
    """
    places = asyncio.Semaphore(MOST_AT_ONCE)

    async def ask(repository: RepositoryRef) -> ReadableRepository | None:
        async with places:
            return await ask_for_role(services, session, repository)

    asked = [asyncio.create_task(ask(each)) for each in repositories]
    try:
        return [each for each in await asyncio.gather(*asked) if each is not None]
    finally:
        for task in asked:
            task.cancel()


async def ask_for_role(
    services: Services, session: DashboardSession, repository: RepositoryRef
) -> ReadableRepository | None:
    """The repository and the visitor's role there, as GitHub says now; None if they have none, or it is gone.

    :raises GitHubSilent: GitHub did not answer.
    """
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            present = await services.host.address(repository)
            role = await services.host.permission(present, session.login, session.account_id)
    except (NotFound, Forbidden, Unauthorized):  # gone, renamed away, uninstalled or suspended
        return None
    except (CodeHostError, TimeoutError) as error:
        raise GitHubSilent.explain(error) from None
    if present != repository:
        await sessions.add_name(services.database, session.digest, present)
    return None if refuse_role(role, "read") is not None else ReadableRepository(present, role)


def _find_candidate(session: DashboardSession, owner: str, name: str) -> RepositoryRef | None:
    wanted = (owner.lower(), name.lower())
    return next((each for each in session.candidates if (each.owner.lower(), each.name.lower()) == wanted), None)
