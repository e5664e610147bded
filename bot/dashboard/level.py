"""The page of the automation level: what holds, the way to the next one as numbers, and how it changed."""

from bot.dashboard.configuration import load_configuration
from bot.dashboard.visit import Page, RepositoryAction, RepositoryPage, Shown, Visit
from memory.reports.level_history import list_level_changes
from memory.repositories import automation_level
from messages.audit import describe_event
from messages.automation import describe_allowed
from safety.allowed_actions import NAMES
from safety.automation_level import cap_level, measure_way

CHANGES = 50
"""Changes of the level on the page, the newest ones."""


async def show_level(visit: Visit) -> Shown:
    """The level of a repository."""
    bounds = (await load_configuration(visit)).ladder
    facts = await automation_level.load_facts(visit.database, visit.repository.id)
    level = cap_level(facts.level, bounds)
    changes = await list_level_changes(visit.database, visit.repository.id, CHANGES)
    shown = {
        "level": level,
        "name": NAMES[level],
        "allows": describe_allowed(level),
        "bounds": bounds,
        "facts": facts,
        "way": measure_way(facts),
        "changes": [(event, describe_event(event)) for event in changes],
    }
    return Page("level.html", "Automation level", shown)


PAGES = (RepositoryPage("level", show_level, tab="Level"),)
ACTIONS: tuple[RepositoryAction, ...] = ()
