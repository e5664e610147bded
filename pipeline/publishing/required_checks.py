"""Asks GitHub whether a branch requires a check before a merge."""

from domain.errors import Forbidden, NotFound
from domain.runs.run import Run
from pipeline.context import Services
from safety.required_checks import is_required

_MOST_ASKED = 20  # branches, in one reading


async def requires_check(services: Services, run: Run) -> bool:
    """Whether any branch requires the run's check, since its pull request may be moved there and merged at once.

    What GitHub does not say counts as required, and so does what more branches have than are asked.

    :raises CodeHostError: GitHub does not answer.
    """
    if await _is_required(services, run, run.base_ref):
        return True
    try:
        guarded = set(await services.host.list_protected_branches(run.repository)) - {run.base_ref}
    except (Forbidden, NotFound):
        return True
    if len(guarded) > _MOST_ASKED:
        return True
    for branch in sorted(guarded):
        if await _is_required(services, run, branch):
            return True
    return False


async def _is_required(services: Services, run: Run, branch: str) -> bool:
    try:
        required = await services.host.required_checks(run.repository, branch)
    except (Forbidden, NotFound):  # the App may not read that, or the branch is gone
        required = None
    return is_required(run.check_name, required)
