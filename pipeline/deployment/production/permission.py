"""Decides whether Forge may open issues about production in a repository, which nobody asked for there and then."""

from domain.config.configuration import Configuration
from domain.runs.run import RepositoryRef
from memory.deployments import problems
from memory.repositories import automation_level, permits
from messages import production as texts
from pipeline.automation.level import cap_level
from pipeline.config import loading
from pipeline.context import Services
from safety.allowed_actions import Action, allows


async def find_obstacle(services: Services, repository: RepositoryRef, configuration: Configuration) -> str:
    """Why Forge opens no issue, for people; empty if it may."""
    if not configuration.deploy.feedback.issues:
        return texts.ISSUES_OFF
    paused_by = await permits.find_pauser(services.database, repository)
    if paused_by is not None:
        return texts.explain_pause(paused_by)
    level = cap_level(await automation_level.get_level(services.database, repository.id), configuration.ladder)
    decision = allows(level, Action.open_issue)
    return "" if decision.allowed else texts.explain_level(decision.reason.text)


async def explain_silence(services: Services, repository_id: int) -> str:
    """The same for whoever reports something, without asking GitHub."""
    repository = await problems.find_repository(services.database, repository_id)
    if repository is None:
        return ""
    ceilings = services.ceilings.of_configuration
    return await find_obstacle(services, repository, await loading.load_stored(services.database, repository, ceilings))
