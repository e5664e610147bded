"""Draws a review with what people dismissed: the findings themselves, and their like as far as that was learned."""

from collections.abc import Sequence

from domain.configuration import Configuration, Memory
from domain.findings import Finding
from domain.review import Review
from domain.runs import RepositoryRef
from memory import dismissals, findings
from pipeline import configuration
from pipeline.services import Services
from safety.holding import FEWEST, NO_HISTORY, History
from safety.verdict import with_dismissals


async def heeded(
    services: Services, repository: RepositoryRef, review: Review, configured: Configuration | None = None
) -> Review:
    """The review as it stands with what people said in this repository until now.

    :param configured: what the repository wants; asked for where it matters and is not given.
    """
    dismissed = await dismissals.among(services.database, repository, review.fingerprints)
    history = await history_of(services, repository, review.found)
    if history.dismissed and not await learns(services, repository, configured):
        history = NO_HISTORY
    return with_dismissals(review, dismissed, history)


async def history_of(services: Services, repository: RepositoryRef, found: Sequence[Finding]) -> History:
    """What people did here with findings of the same rules and at the same places."""
    rules, places = {finding.rule for finding in found}, {finding.place for finding in found}
    if not rules:
        return NO_HISTORY
    past = await dismissals.like(services.database, repository, rules, places)
    if len(past) < FEWEST:
        return History(past)
    doubted = {each.rule for each in past}
    return History(past, await findings.taken_up(services.database, repository.id, doubted))


async def learns(services: Services, repository: RepositoryRef, configured: Configuration | None = None) -> bool:
    """Whether the repository wants Forge to learn, and to use what it learned."""
    return (await wanted(services, repository) if configured is None else configured.memory).enabled


async def wanted(services: Services, repository: RepositoryRef) -> Memory:
    """What the repository wants of Forge's memory."""
    ceilings = services.ceilings.of_configuration
    return (await configuration.load(services.host, services.database, repository, ceilings)).configuration.memory
