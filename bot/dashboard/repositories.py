"""The list of repositories, and the first page of each."""

from bot.dashboard.authority import keep_readable
from bot.dashboard.visit import Page, RepositoryAction, RepositoryPage, Shown, Visit, build_address
from domain.runs.run import RepositoryRef
from memory.process.sessions import DashboardSession
from memory.reports.repository_overview import load_overviews
from pipeline.context import Services

LISTED = 25
"""Repositories on one page of the list; GitHub is asked about each."""


async def show_list(services: Services, session: DashboardSession, after: str) -> Page:
    """The page of the repositories that somebody may read now.

    :param after: the full name, in small letters, of the last repository on the page before.
    :raises GitHubSilent: GitHub did not answer about one of them.
    """
    known = sorted(session.candidates, key=_sort_key)
    rest = [each for each in known if _sort_key(each) > after]
    readable = await keep_readable(services, session, rest[:LISTED])
    overviews = await load_overviews(services.database, [each.repository.id for each in readable])
    listed = [
        (each, overviews[each.repository.id], build_address(each.repository.owner, each.repository.name))
        for each in readable
    ]
    more = build_address(after=_sort_key(rest[LISTED - 1])) if len(rest) > LISTED else ""
    return Page("repositories.html", "Repositories", {"listed": listed, "more": more, "after": after})


def _sort_key(repository: RepositoryRef) -> str:
    return repository.full_name.lower()


async def show_repository(visit: Visit) -> Shown:
    """The first page of a repository."""
    found = (await load_overviews(visit.database, [visit.repository.id]))[visit.repository.id]
    return Page("overview.html", visit.repository.full_name, {"overview": found})


PAGES = (RepositoryPage("", show_repository, tab="Overview"),)
ACTIONS: tuple[RepositoryAction, ...] = ()
