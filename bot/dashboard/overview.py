"""The list of repositories, the first page of each, and the gates that wait in one or in all."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bot.dashboard.authority import ReadableRepository, keep_readable
from bot.dashboard.runs import OutcomeShown, describe_runs, show_gate, show_outcome
from bot.dashboard.visit import (
    Page,
    Shown,
    Visit,
    build_address,
    build_github_address,
)
from domain.gates import Gate
from domain.review.review import Review
from domain.runs.run import RepositoryRef
from memory import gates
from memory.process.sessions import DashboardSession
from memory.reports import pages
from memory.reports.pages import PageKey, RepositoryStanding, RunFilter, load_overviews
from memory.repositories import permits
from memory.runs.checkpoints import load_reviews
from messages.gate_answers import describe_answer, describe_deciders
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
    recent = await pages.list_runs(visit.database, visit.repository.id, RunFilter(), PageKey(), RECENT)
    waiting = await gates.list_waiting(visit.database, visit.repository.id, WAITING)
    shown = {
        "overview": found,
        "runs": await describe_runs(visit.database, recent.items),
        "has_more": bool(recent.older),
        "waiting": [show_gate(visit, gate) for gate in waiting],
        "is_paused_by": await permits.find_pauser(visit.database, visit.repository),
    }
    return Page("overview.html", "Overview", shown)


MOST_WAITING = 100
"""Gates that wait on one page, those that expire first."""
CLOSED = 50
"""Decided gates on one page."""


@dataclass(frozen=True)
class ListedGate:
    """A gate, who may decide it, how it was decided, and where it is.

    :param repository: under its present name.
    :param place: on GitHub.
    :param run: the page of the run that asks.
    """

    gate: Gate
    repository: RepositoryRef
    deciders: str
    answer: str
    place: str
    run: str


async def list_gates(visit: Visit) -> Shown:
    """The gates of a repository."""
    waiting = await pages.list_waiting(visit.database, [visit.repository.id], MOST_WAITING)
    closed = await pages.list_closed(visit.database, visit.repository.id, visit.key, CLOSED)
    shown = {
        "waiting": [_list_gate(gate, visit.repository, visit.web_url) for gate in waiting],
        "closed": [_list_gate(gate, visit.repository, visit.web_url) for gate in closed.items],
        **visit.link_pages(closed.newer, closed.older, "gates"),
        "most": MOST_WAITING,
    }
    return Page("gates.html", "Gates", shown)


async def show_everywhere(services: Services, session: DashboardSession, web_url: str) -> Page:
    """The gates that wait, in all repositories of the session's list that the visitor may read now.

    :raises GitHubSilent: GitHub did not answer about one of them.
    """
    listed = {each.id: each for each in session.candidates}
    waiting = await pages.list_waiting(services.database, listed, MOST_WAITING)
    asking = {gate.repository.id: listed[gate.repository.id] for gate in waiting}
    readable = {
        each.repository.id: each.repository for each in await keep_readable(services, session, list(asking.values()))
    }
    shown = [
        _list_gate(gate, readable[gate.repository.id], web_url) for gate in waiting if gate.repository.id in readable
    ]
    return Page("all-gates.html", "Gates that wait", {"waiting": shown, "is_cut": len(waiting) == MOST_WAITING})


def _list_gate(gate: Gate, repository: RepositoryRef, web_url: str) -> ListedGate:
    place = build_github_address(web_url, repository, "issues" if gate.request.on_issue else "pull", gate.number)
    anchor = "" if gate.comment_id is None else f"#issuecomment-{gate.comment_id}"
    run = build_address(repository.owner, repository.name, "runs", gate.run_id)
    return ListedGate(gate, repository, describe_deciders(gate), describe_answer(gate), place + anchor, run)
