"""Welcomes repositories where Forge was installed: in an issue if few were chosen, else in their first reviews."""

import structlog

from domain.commands import WelcomeRepositories
from domain.errors import CodeAccessError, CodeHostError, Forbidden, NotFound, Unprocessable
from domain.github.installations import RepositoryOverview, WelcomeWay
from domain.runs.run import RepositoryRef
from domain.value import Value
from memory.repositories import welcomes
from messages import deliveries as texts
from pipeline.automation.level import load_level
from pipeline.automation.welcome import look
from pipeline.config import loading
from pipeline.deliveries.context import DeliveryContext
from pipeline.publishing.issue_comment import open_issue
from safety.allowed_actions import Action, ActionFacts, allows
from safety.eligibility import choose_way, is_flood

log = structlog.get_logger(__name__)

_KIND = "welcome"


class _Reception(Value):
    """How a repository is welcomed; in journals.

    :param overview: what an issue says.
    """

    way: WelcomeWay
    overview: RepositoryOverview | None = None


async def welcome_repositories(context: DeliveryContext, command: WelcomeRepositories) -> str:
    """Welcome every repository that was not welcomed before; how that ended."""
    if context.services.welcome.most is WelcomeWay.off:
        return texts.OFF
    if is_flood(len(command.repositories), chosen=command.is_chosen):
        noted = await context.journal.step("note them", _note_all, context, command)
        return texts.describe_outcome(0, noted)
    ways = [await _welcome(context, each) for each in command.repositories]
    return texts.describe_outcome(ways.count(WelcomeWay.issue), ways.count(WelcomeWay.check))


async def _note_all(context: DeliveryContext, command: WelcomeRepositories) -> int:
    """Leave it to their first reviews. GitHub is asked nothing: there may be a thousand."""
    return await welcomes.claim_all(context.services.database, command.repositories, WelcomeWay.check, context.guid)


async def _welcome(context: DeliveryContext, repository: RepositoryRef) -> WelcomeWay | None:
    """Welcome one repository; how, and None if it was welcomed before."""
    try:
        received = await context.journal.step("look at it", _receive, context, repository)
        if received is None or received.overview is None:
            return None if received is None else received.way
        return await context.journal.step("welcome it", _tell, context, repository, received.overview)
    except (CodeHostError, CodeAccessError) as error:
        log.warning("welcome.put_off", repository=repository.id, error=str(error))
        return await context.journal.step("put it off", _put_off, context, repository)


async def _receive(context: DeliveryContext, repository: RepositoryRef) -> _Reception | None:
    """Decide how a repository is welcomed; None if another delivery did.

    :raises CodeHostError: GitHub does not answer.
    :raises CodeAccessError: the code cannot be fetched.
    """
    services = context.services
    known = await welcomes.find(services.database, repository.id)
    if known is not None and known.cause != context.guid:
        return None
    received = await _choose(context, repository)
    held = await welcomes.claim(services.database, repository, received.way, context.guid)
    return received if held.cause == context.guid else None


async def _choose(context: DeliveryContext, repository: RepositoryRef) -> _Reception:
    services, host = context.services, context.services.host
    traits = await host.traits(repository)
    granted = await host.installation_permissions(repository.installation_id)
    ceilings = services.ceilings.of_configuration
    configuration = (await loading.load(host, services.database, repository, ceilings)).configuration
    level = await load_level(services, repository.id, configuration.ladder)
    may_open = allows(level, Action.open_issue, ActionFacts()).allowed and not configuration.review.dry_run
    way = choose_way(configuration.welcome, services.welcome.most, traits, granted, may_open=may_open)
    if way is not WelcomeWay.issue:
        return _Reception(way=way)
    return _Reception(way=way, overview=await look(services, repository, traits.default_branch, configuration))


async def _tell(context: DeliveryContext, repository: RepositoryRef, overview: RepositoryOverview) -> WelcomeWay:
    """Open the issue; where GitHub takes none, the first review says it.

    :raises CodeHostError: GitHub does not answer.
    """
    services = context.services
    marker = services.markers.make(_KIND, str(repository.id))
    try:
        body = texts.render_issue(overview, marker)
        await open_issue(services, repository, f"{_KIND} {repository.id}", marker, texts.TITLE, body)
    except (Forbidden, NotFound, Unprocessable) as error:
        log.info("welcome.issue_refused", repository=repository.id, error=str(error))
        return await _put_off(context, repository)
    return WelcomeWay.issue


async def _put_off(context: DeliveryContext, repository: RepositoryRef) -> WelcomeWay:
    """Leave it to the first review, unless another delivery welcomed it meanwhile."""
    database = context.services.database
    held = await welcomes.claim(database, repository, WelcomeWay.check, context.guid)
    if held.cause != context.guid:
        return held.way
    await welcomes.change_way(database, repository.id, WelcomeWay.check)
    return WelcomeWay.check
