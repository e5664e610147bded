"""The pages of gates: those that wait and where they are decided, in one repository or in all, and the decided ones."""

from dataclasses import dataclass

from bot.dashboard.authority import keep_readable
from bot.dashboard.runs import read_key
from bot.dashboard.visit import (
    Page,
    RepositoryAction,
    RepositoryPage,
    Shown,
    Visit,
    build_address,
    build_github_address,
)
from domain.gates import Gate
from domain.runs.run import RepositoryRef
from memory.process.sessions import DashboardSession
from memory.reports import gate_pages
from messages.gate_page import describe_answer, describe_deciders
from pipeline.context import Services

WAITING = 100
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
    waiting = await gate_pages.list_waiting(visit.database, [visit.repository.id], WAITING)
    closed = await gate_pages.list_closed(visit.database, visit.repository.id, read_key(visit), CLOSED)
    shown = {
        "waiting": [_list(gate, visit.repository, visit.web_url) for gate in waiting],
        "closed": [_list(gate, visit.repository, visit.web_url) for gate in closed.items],
        "newer": visit.address("gates", after=closed.newer) if closed.newer else "",
        "older": visit.address("gates", before=closed.older) if closed.older else "",
        "most": WAITING,
    }
    return Page("gates.html", "Gates", shown)


async def show_everywhere(services: Services, session: DashboardSession, web_url: str) -> Page:
    """The gates that wait, in all repositories of the session's list that the visitor may read now.

    :raises GitHubSilent: GitHub did not answer about one of them.
    """
    listed = {each.id: each for each in session.candidates}
    waiting = await gate_pages.list_waiting(services.database, listed, WAITING)
    asking = {gate.repository.id: listed[gate.repository.id] for gate in waiting}
    readable = {
        each.repository.id: each.repository for each in await keep_readable(services, session, list(asking.values()))
    }
    shown = [_list(gate, readable[gate.repository.id], web_url) for gate in waiting if gate.repository.id in readable]
    return Page("all-gates.html", "Gates that wait", {"waiting": shown, "is_cut": len(waiting) == WAITING})


def _list(gate: Gate, repository: RepositoryRef, web_url: str) -> ListedGate:
    place = build_github_address(web_url, repository, "issues" if gate.request.on_issue else "pull", gate.number)
    anchor = "" if gate.comment_id is None else f"#issuecomment-{gate.comment_id}"
    run = build_address(repository.owner, repository.name, "runs", gate.run_id)
    return ListedGate(gate, repository, describe_deciders(gate), describe_answer(gate), place + anchor, run)


PAGES = (RepositoryPage("gates", list_gates, tab="Gates"),)
ACTIONS: tuple[RepositoryAction, ...] = ()
