"""Welcomes repositories that were chosen for Forge: an issue says once what it does and sees there."""

import structlog

from agents.llm.models import LanguageModel, ModelTier
from agents.review.overview import look_at_repository
from domain.commands import WelcomeRepositories
from domain.config.configuration import Configuration
from domain.config.sections import ReadMode
from domain.errors import CodeAccessError, CodeHostError, Forbidden, NotFound, Unprocessable
from domain.github.installations import RepositoryOverview, find_missing
from domain.runs.run import REVIEW_CHECK, RepositoryRef
from memory.repositories import welcomes
from messages import welcome as texts
from pipeline.automation.level import load_level
from pipeline.config import loading
from pipeline.context import DeliveryContext, Services
from pipeline.publishing.issue_comment import open_issue
from safety.allowed_actions import Action, ActionFacts, allows
from safety.eligibility import is_welcome_wanted

log = structlog.get_logger(__name__)

_KIND = "welcome"


async def welcome_repositories(context: DeliveryContext, command: WelcomeRepositories) -> str:
    """Open one issue in every repository that was not welcomed before; how that ended."""
    if not context.services.welcomes:
        return texts.OFF
    return texts.describe_outcome(sum([await _welcome(context, each) for each in command.repositories]))


async def _welcome(context: DeliveryContext, repository: RepositoryRef) -> bool:
    """Welcome one repository; whether there is an issue now that was not there before."""
    try:
        seen = await context.journal.step("look at it", _look, context, repository)
        return seen is not None and await context.journal.step("welcome it", _tell, context, repository, seen)
    except (CodeHostError, CodeAccessError) as error:
        log.warning("welcome.failed", repository=repository.id, error=str(error))
        return False


async def _look(context: DeliveryContext, repository: RepositoryRef) -> RepositoryOverview | None:
    """What to say in a repository; None where nothing is said, or another delivery did.

    :raises CodeHostError: GitHub does not answer.
    :raises CodeAccessError: the code cannot be fetched.
    """
    services, host = context.services, context.services.host
    if await welcomes.find(services.database, repository.id) not in {None, context.guid}:
        return None
    traits = await host.traits(repository)
    configuration = await loading.load_configuration(services, repository)
    level = await load_level(services, repository.id, configuration.ladder)
    may_open = allows(level, Action.open_issue, ActionFacts()).allowed and not configuration.review.dry_run
    granted = await host.installation_permissions(repository.installation_id)
    if not may_open or not is_welcome_wanted(traits, granted):
        return None
    seen = await _describe(services, repository, traits.default_branch, configuration)
    if not await welcomes.claim(services.database, repository, context.guid):
        return None
    return seen.model_copy(update={"missing": find_missing(services.permissions, granted), "level": level})


async def _tell(context: DeliveryContext, repository: RepositoryRef, overview: RepositoryOverview) -> bool:
    """Open the issue; whether GitHub takes one.

    :raises CodeHostError: GitHub does not answer.
    """
    services = context.services
    marker = services.markers.make(_KIND, str(repository.id))
    try:
        body = texts.render_issue(overview, marker)
        await open_issue(services, repository, f"{_KIND} {repository.id}", marker, texts.TITLE, body)
    except (Forbidden, NotFound, Unprocessable) as error:
        log.info("welcome.issue_refused", repository=repository.id, error=str(error))
        return False
    return True


async def _describe(
    services: Services, repository: RepositoryRef, branch: str, configuration: Configuration
) -> RepositoryOverview:
    """What Forge can see of a repository, and of its own place there.

    :param branch: the default branch.
    """
    authorization = await services.host.git_credentials(repository)
    mirror = await services.mirrors.mirror(repository.id, services.host.clone_url(repository), authorization)
    seen = await look_at_repository(mirror, branch, configuration)
    return seen.model_copy(
        update={
            "is_required": await _is_required(services, repository, branch),
            "model": _name_model(services, configuration),
            "keeps_code": configuration.review.model is ReadMode.never,
        }
    )


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
