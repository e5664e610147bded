"""Welcomes repositories where Forge was installed: in an issue if few were chosen, else in their first reviews."""

import structlog

from agents.llm.models import LanguageModel, ModelTier
from agents.review.overview import look_at_repository
from domain.commands import WelcomeRepositories
from domain.config.configuration import Configuration
from domain.config.sections import ReadMode
from domain.errors import CodeAccessError, CodeHostError, Forbidden, NotFound, Unprocessable
from domain.github.installations import RepositoryOverview, WelcomeWay, find_missing
from domain.runs.run import REVIEW_CHECK, RepositoryRef, Run
from domain.value import Value
from memory.repositories import welcomes
from messages import deliveries
from pipeline.automation.level import load_level
from pipeline.config import loading
from pipeline.context import DeliveryContext, Services
from pipeline.publishing.issue_comment import open_issue
from pipeline.verdicts.update import load_welcome
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
        return deliveries.OFF
    if is_flood(len(command.repositories), chosen=command.is_chosen):
        # They are left to their first reviews. GitHub is asked nothing: there may be a thousand.
        noted = await context.journal.step(
            "note them",
            welcomes.claim_all,
            context.services.database,
            command.repositories,
            WelcomeWay.check,
            context.guid,
        )
        return deliveries.describe_outcome(0, noted)
    ways = [await _welcome(context, each) for each in command.repositories]
    return deliveries.describe_outcome(ways.count(WelcomeWay.issue), ways.count(WelcomeWay.check))


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
    configuration = (await loading.load_live(services, repository)).configuration
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
        body = deliveries.render_issue(overview, marker)
        await open_issue(services, repository, f"{_KIND} {repository.id}", marker, deliveries.TITLE, body)
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


async def look(
    services: Services, repository: RepositoryRef, branch: str, configuration: Configuration
) -> RepositoryOverview:
    """What Forge can see of a repository, and of its own place there.

    :param branch: the default branch.
    :raises CodeHostError: GitHub does not answer.
    :raises CodeAccessError: the code cannot be fetched.
    """
    authorization = await services.host.git_credentials(repository)
    mirror = await services.mirrors.mirror(repository.id, services.host.clone_url(repository), authorization)
    seen = await look_at_repository(mirror, branch, configuration)
    granted = await services.host.installation_permissions(repository.installation_id)
    return seen.model_copy(
        update={
            "missing": find_missing(services.welcome.needed, granted),
            "is_required": await _is_required(services, repository, branch),
            "model": _name_model(services, configuration),
            "keeps_code": configuration.review.model is ReadMode.never,
            "level": await load_level(services, repository.id, configuration.ladder),
        }
    )


async def introduce(services: Services, run: Run, branch: str, configuration: Configuration) -> str:
    """What the check of a run says of Forge itself: nothing, unless it is the first one of a new repository.

    If it cannot be said now, the next review says it. May be repeated.

    :param branch: the default branch.
    """
    known = await welcomes.find(services.database, run.repository.id)
    if known is None or known.way is not WelcomeWay.check:
        return ""
    if WelcomeWay.off in {configuration.welcome, services.welcome.most}:
        return ""
    if known.run_id is None:
        try:
            seen = await look(services, run.repository, branch, configuration)
        except (CodeHostError, CodeAccessError) as error:
            log.warning("welcome.left_out", run=run.id, error=str(error))
            return ""
        await welcomes.show_in(services.database, run.repository.id, run.id, seen)
    return await load_welcome(services, run)


async def _is_required(services: Services, repository: RepositoryRef, branch: str) -> bool | None:
    """Whether the default branch requires the check of reviews; None if GitHub does not say."""
    try:
        required = await services.host.required_checks(repository, branch)
    except CodeHostError as error:
        log.info("welcome.rules_unknown", repository=repository.id, error=str(error))
        return None
    return None if required is None else any(each.name == REVIEW_CHECK for each in required)


def _name_model(services: Services, configuration: Configuration) -> str:
    """The model that reads changes; empty if none does."""
    model = services.models.choose(ModelTier.fast)
    is_wanted = configuration.review.model is not ReadMode.never
    return model.name if is_wanted and isinstance(model, LanguageModel) else ""
