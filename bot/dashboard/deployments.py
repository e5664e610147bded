"""The page of deployments: what runs in each environment, and the latest ones with how they went."""

from bot.dashboard.visit import Page, RepositoryAction, RepositoryPage, Shown, Visit
from memory.reports import past_deployments

LISTED = 50
"""Deployments on the page, the newest ones."""


async def list_deployments(visit: Visit) -> Shown:
    """The deployments of a repository."""
    past = await past_deployments.list_past(visit.database, repository_ids=[visit.repository.id], limit=LISTED)
    shown = {
        "running": await past_deployments.list_there(visit.database, visit.repository.id),
        "past": past,
        "most": LISTED,
    }
    return Page("deployments.html", "Deployments", shown)


PAGES = (RepositoryPage("deployments", list_deployments, tab="Deployments"),)
ACTIONS: tuple[RepositoryAction, ...] = ()
