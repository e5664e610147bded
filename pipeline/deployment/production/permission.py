"""Decides whether Forge may open issues about production in a repository, which nobody asked for there and then."""

from domain.config.configuration import Configuration
from domain.money import Ceilings
from domain.runs.run import RepositoryRef
from memory.db.engine import Database
from memory.repositories import addresses, automation_level, permits
from messages import production as texts
from pipeline.config import loading
from safety.allowed_actions import Action, allows
from safety.automation_level import cap_level


async def find_obstacle(database: Database, repository: RepositoryRef, configuration: Configuration) -> str:
    """Why Forge opens no issue, for people; empty if it may."""
    if not configuration.deploy.feedback.issues:
        return texts.ISSUES_OFF
    paused_by = await permits.find_pauser(database, repository)
    if paused_by is not None:
        return texts.explain_pause(paused_by)
    level = cap_level(await automation_level.get_level(database, repository.id), configuration.ladder)
    decision = allows(level, Action.open_issue)
    return "" if decision.allowed else texts.explain_level(decision.reason.text)


async def explain_silence(database: Database, ceilings: Ceilings, repository_id: int) -> str:
    """The same for whoever reports something, without asking GitHub."""
    repository = await addresses.find_address(database, repository_id)
    if repository is None:
        return ""
    configuration = await loading.load_stored(database, repository, ceilings.of_configuration)
    return await find_obstacle(database, repository, configuration)
