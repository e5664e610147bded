"""All pages and forms of a repository, in the order of the navigation."""

from collections.abc import Sequence

from bot.dashboard import (
    audit,
    checkpoints,
    configuration,
    configuration_form,
    deployments,
    gates,
    level,
    repositories,
    runs,
)
from bot.dashboard.visit import RepositoryAction, RepositoryPage

PAGES: Sequence[RepositoryPage] = (
    *repositories.PAGES,
    *runs.PAGES,
    *checkpoints.PAGES,
    *gates.PAGES,
    *deployments.PAGES,
    *level.PAGES,
    *audit.PAGES,
    *configuration.PAGES,
    *configuration_form.PAGES,
)
ACTIONS: Sequence[RepositoryAction] = (
    *repositories.ACTIONS,
    *runs.ACTIONS,
    *checkpoints.ACTIONS,
    *gates.ACTIONS,
    *deployments.ACTIONS,
    *level.ACTIONS,
    *audit.ACTIONS,
    *configuration.ACTIONS,
    *configuration_form.ACTIONS,
)
