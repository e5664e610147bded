"""Asks GitHub which checks a branch requires before a merge."""

from domain.errors import Forbidden, NotFound
from domain.runs.run import Run
from pipeline.context import Services
from safety.required_checks import is_required


async def requires_check(services: Services, run: Run) -> bool:
    """Whether the base branch of a run requires the run's check. What GitHub does not say counts as required.

    :raises CodeHostError: GitHub does not answer.
    """
    if not run.base_ref:  # admitted by an earlier version
        return True
    try:
        required = await services.host.required_checks(run.repository, run.base_ref)
    except (Forbidden, NotFound):  # the App may not read that, or the branch is gone
        required = None
    return is_required(run.check_name, required)
