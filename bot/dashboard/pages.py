"""All pages and forms of a repository, in the order of the navigation."""

from collections.abc import Sequence

from bot.dashboard import (
    audit,
    checkpoints,
    configuration,
    costs,
    deployments,
    findings,
    gates,
    level,
    memories,
    memory_forms,
    metrics,
    repositories,
    runs,
)
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
    *gates.PAGES,
    *deployments.PAGES,
    *level.PAGES,
    *audit.PAGES,
    *configuration.PAGES,
)
ACTIONS: Sequence[RepositoryAction] = (
    *repositories.ACTIONS,
    *runs.ACTIONS,
    *checkpoints.ACTIONS,
    *findings.ACTIONS,
    *memory_forms.ACTIONS,
    *gates.ACTIONS,
    *deployments.ACTIONS,
    *level.ACTIONS,
    *audit.ACTIONS,
    *configuration.ACTIONS,
)
