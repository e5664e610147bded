"""Says how a pull request is looked at for giving up: what was asked for, and what was a false alarm here."""

from datetime import timedelta

from agents.review.checks.avoidance import AvoidanceCheck
from domain.config.configuration import Configuration
from domain.review.avoidance import MEMORY_DAYS
from domain.runs.run import Run
from memory.findings import detectors
from pipeline.context import Services
from pipeline.verdicts.request import load_request_of_pull_request


async def build_avoidance_check(
    services: Services, run: Run, configuration: Configuration, *, owned: bool
) -> AvoidanceCheck:
    """How it is looked at.

    :param owned: Forge opened the pull request; then the issue it is for may excuse what it names.
    """
    database, repository = services.database, run.repository.id
    since = services.clock.now() - timedelta(days=MEMORY_DAYS)
    request = await load_request_of_pull_request(database, repository, run.number) if owned else ""
    records = await detectors.load_records(database, repository, since)
    return AvoidanceCheck(configuration.avoidance, request, owned, records)
