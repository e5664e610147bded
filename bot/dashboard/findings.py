"""The pages of findings: the list with what became of each, and the history of one."""

from dataclasses import dataclass

from bot.dashboard.runs import parse_number
from bot.dashboard.visit import NotHere, Page, Shown, Visit
from domain.value import shorten_id
from memory.reports import finding_pages
from memory.reports.finding_pages import FindingFilter, FindingOutcome, ListedFinding
from messages.run_page import describe_held

LISTED = 50
"""Findings on one page."""


@dataclass(frozen=True)
class FindingShown:
    """A finding, where its own page and its place on GitHub are, and why it is not raised.

    :param why: empty if nothing mutes it.
    :param memories: short ids of those that mute it.
    :param led: short ids of those that led to it.
    """

    listed: ListedFinding
    address: str
    place: str
    why: str
    memories: tuple[str, ...]
    led: tuple[str, ...]


async def list_findings(visit: Visit) -> Shown:
    """The findings of a repository, newest first."""
    outcome, number = visit.query.get("outcome", ""), visit.query.get("number", "").strip().removeprefix("#")
    wanted = FindingFilter(FindingOutcome(outcome) if outcome in set(FindingOutcome) else None, parse_number(number))
    page = await finding_pages.list_findings(visit.database, visit.repository.id, wanted, visit.key, LISTED)
    kept = {"outcome": wanted.outcome, "number": wanted.number}
    shown = {
        "listed": [show_outcome(visit, each) for each in page.items],
        "outcomes": list(FindingOutcome),
        "wanted": wanted,
        "mistake": f"{number} is not the number of a pull request." if number and not wanted.number else "",
        **visit.link_pages(page.newer, page.older, "findings", **kept),
    }
    return Page("findings.html", "Findings", shown)


async def show_finding(visit: Visit) -> Shown:
    """One finding with its history."""
    number = parse_number(visit.parts["number"])
    name = visit.parts["finding"]
    found = None
    if number is not None:
        found = await finding_pages.find_one(visit.database, visit.repository.id, number, name)
    if found is None:
        raise NotHere
    steps = await finding_pages.load_steps(visit.database, visit.repository.id, found)
    shown = {
        "shown": show_outcome(visit, found),
        "steps": [(each, [shorten_id("M", each.memory_id)] if each.memory_id else []) for each in steps],
    }
    return Page("finding.html", f"Finding {found.finding.id} in #{found.number}", shown)


def show_outcome(visit: Visit, listed: ListedFinding) -> FindingShown:
    """A finding with what mutes it, in words, and with its addresses."""
    place = visit.on_github("pull", listed.number)
    if listed.comment_id is not None:
        place = f"{place}#discussion_r{listed.comment_id}"
    why, memories = "", ()
    if listed.by is not None:
        said = f": {listed.by.reason}" if listed.by.reason else ""
        why = f"dismissed by {listed.by.by}{said}"
        memories = (listed.by.short_memory_id,) if listed.by.memory_id else ()
    elif listed.held is not None:
        why, memories = describe_held(listed.held), listed.held.memories
    return FindingShown(
        listed,
        visit.address("findings", listed.number, listed.finding.id),
        place,
        why,
        memories,
        tuple(shorten_id("M", each) for each in listed.finding.memories),
    )
