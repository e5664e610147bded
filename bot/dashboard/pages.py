"""All pages and forms of a repository, in the order of the navigation."""

from collections.abc import Sequence

from bot.dashboard import checkpoints, costs, findings, memories, memory_forms, metrics, repositories, runs
from bot.dashboard.visit import RepositoryAction, RepositoryPage

PAGES: Sequence[RepositoryPage] = (
    *repositories.PAGES,
    *runs.PAGES,
    *checkpoints.PAGES,
    *findings.PAGES,
    *memory_forms.PAGES,
    *memories.PAGES,
    *costs.PAGES,
    *metrics.PAGES,
)
ACTIONS: Sequence[RepositoryAction] = (
    *repositories.ACTIONS,
    *runs.ACTIONS,
    *checkpoints.ACTIONS,
    *findings.ACTIONS,
    *memory_forms.ACTIONS,
)
