"""All pages and forms of a repository, in the order of the navigation."""

from collections.abc import Sequence

from bot.dashboard import repositories
from bot.dashboard.visit import RepositoryAction, RepositoryPage

PAGES: Sequence[RepositoryPage] = (*repositories.PAGES,)
ACTIONS: Sequence[RepositoryAction] = (*repositories.ACTIONS,)
