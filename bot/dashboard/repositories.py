"""The list of repositories, and the first page of each."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from bot.dashboard.authority import ReadableRepository, keep_readable
from bot.dashboard.runs import OutcomeShown, describe_runs, show_gate, show_outcome
from bot.dashboard.visit import Page, RepositoryAction, RepositoryPage, Shown, Visit, build_address
from domain.review.review import Review
from domain.runs.run import RepositoryRef
from memory.gates import gates
from memory.process.sessions import DashboardSession
from memory.reports import run_pages
from memory.reports.repository_overview import RepositoryStanding, load_overviews
from memory.reports.run_pages import PageKey, RunFilter
from memory.repositories import permits
from memory.runs.checkpoints import load_reviews
from pipeline.config import loading
from pipeline.context import Services
from safety.automation_level import cap_level

LISTED = 25
"""Repositories on one page of the list; GitHub is asked about each."""
RECENT = 10
"""Runs on the first page of a repository."""
WAITING = 10
"""Gates on the first page of a repository, those that expire first."""


async def show_list(services: Services, session: DashboardSession, after: str) -> Page:
    """The page of the repositories that somebody may read now.

    :param after: the full name, in small letters, of the last repository on the page before.
    :raises GitHubSilent: GitHub did not answer about one of them.
    """
    known = sorted({each.id: each for each in session.candidates}.values(), key=_sort_key)
    rest = [each for each in known if _sort_key(each) > after]
    readable = await keep_readable(services, session, rest[:LISTED])
    standings = await _load_standings(services, [each.repository for each in readable])
    reviews = await load_reviews(services.database, [each.latest.run.id for each in standings if each.latest])
    listed = [_describe(each, standing, reviews) for each, standing in zip(readable, standings, strict=True)]
    more = build_address(after=_sort_key(rest[LISTED - 1])) if len(rest) > LISTED else ""
    return Page("repositories.html", "Repositories", {"listed": listed, "more": more, "after": after})


async def _load_standings(services: Services, repositories: Sequence[RepositoryRef]) -> Sequence[RepositoryStanding]:
    """How far Forge is in each repository, with the level that holds as its configuration was at the last run."""
    found = await load_overviews(services.database, [each.id for each in repositories])
    stored = await loading.list_stored(services.database, repositories, services.ceilings.of_configuration)
    return [
        replace(found[each.id], level=cap_level(found[each.id].level, configured.ladder))
        for each, configured in zip(repositories, stored, strict=True)
    ]


def _describe(
    readable: ReadableRepository, overview: RepositoryStanding, reviews: Mapping[str, Review]
) -> tuple[ReadableRepository, RepositoryStanding, str, OutcomeShown | None]:
    """A repository with its address, and what its newest run came to.

    :param reviews: by the id of their run.
    """
    review = reviews.get(overview.latest.run.id) if overview.latest else None
    address = build_address(readable.repository.owner, readable.repository.name)
    return readable, overview, address, show_outcome(overview.latest.run, review) if overview.latest else None


def _sort_key(repository: RepositoryRef) -> str:
    return repository.full_name.lower()


async def show_repository(visit: Visit) -> Shown:
    """The first page of a repository."""
    [found] = await _load_standings(visit.services, [visit.repository])
    recent = await run_pages.list_runs(visit.database, visit.repository.id, RunFilter(), PageKey(), RECENT)
    waiting = await gates.list_waiting(visit.database, visit.repository.id, WAITING)
    shown = {
        "overview": found,
        "runs": await describe_runs(visit.database, recent.items),
        "has_more": bool(recent.older),
        "waiting": [show_gate(visit, gate) for gate in waiting],
        "is_paused_by": await permits.find_pauser(visit.database, visit.repository),
    }
    return Page("overview.html", "Overview", shown)


PAGES = (RepositoryPage("", show_repository, tab="Overview"),)
ACTIONS: tuple[RepositoryAction, ...] = ()
