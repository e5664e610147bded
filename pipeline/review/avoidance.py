"""Says how a pull request is looked at for giving up: what was asked for, what was a false alarm, what may pass."""

from datetime import timedelta

from agents.review.checks.avoidance import AvoidanceCheck
from domain.config.configuration import Configuration
from domain.review.avoidance import MEMORY_DAYS
from domain.review.feedback import DismissalScope
from domain.runs.run import Run
from memory import findings
from memory.learned import feedback
from pipeline.context import Services
from workspace.mirror import Mirror


async def build_avoidance_check(
    services: Services, run: Run, configuration: Configuration, *, owned: bool
) -> AvoidanceCheck:
    """How it is looked at.

    :param owned: Forge opened the pull request; then the issue it is for may excuse what it names.
    """
    database, repository = services.database, run.repository.id
    since = services.clock.now() - timedelta(days=MEMORY_DAYS)
    records = await findings.load_detector_records(database, repository, since)
    return AvoidanceCheck(configuration.avoidance, owned, records)


async def _is_open(services: Services, run: Run, number: int) -> bool:
    """Whether the pull request may still bring the file."""
    return (await services.host.pull_request(run.repository, number)).is_open


async def end_orphaned_scopes(services: Services, run: Run, mirror: Mirror) -> None:
    """Let nothing pass any more in files that the base of a pull request into the default branch does not have."""
    database, now = services.database, services.clock.now()
    known = await feedback.list_with_scope(database, run.repository.id)
    held = [each for each in known if each.scope is DismissalScope.file and each.find_lapse(now) is None]
    if not held:
        return
    there = await mirror.read(run.base_sha, sorted({each.path for each in held}))
    missing = [each for each in held if each.path not in there]
    gone = [each.id for each in missing if not await _is_open(services, run, each.number)]
    if gone:
        await feedback.end_scopes(database, gone, now)
