"""Looks at a repository for its welcome, and says it in the check of its first review where no issue did."""

import structlog

from agents.llm.models import LanguageModel, ModelTier
from agents.review.overview import look_at_repository
from domain.config.configuration import Configuration
from domain.config.sections import ReadMode
from domain.errors import CodeAccessError, CodeHostError
from domain.github.installations import RepositoryOverview, WelcomeWay, find_missing
from domain.runs.run import REVIEW_CHECK, RepositoryRef, Run
from memory.repositories import welcomes
from pipeline.automation.level import load_level
from pipeline.context import Services
from pipeline.verdicts.update import load_welcome

log = structlog.get_logger(__name__)


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
