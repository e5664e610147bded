"""Executes ``rollback``: takes an agent's work back to a checkpoint, or an environment to what ran there before."""

from domain.ids import new_id
from domain.runs.work_rollback import RollbackRefusal
from domain.slash.commands import Rollback
from messages import checkpoints as texts
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.commands.deployments import roll_environment_back
from pipeline.issue.coding.rollback import RollbackPlace, RollbackRequest, take_back


async def roll_back(context: CommandContext, asked: Rollback) -> str:
    """``/forge rollback C-ID [PATH …]`` or ``/forge rollback ENV``"""
    if asked.environment is not None:
        return await roll_environment_back(context, asked, asked.environment)
    name = await context.journal.step("name the roll-back", _make_name)
    return await context.step_with_permission("take the work back", asked, _take_back, context, asked, name)


async def _make_name() -> str:
    """A name that is journaled before anything is done, so that a step that is executed again knows what it did."""
    return new_id()


async def _take_back(context: CommandContext, asked: Rollback, name: str) -> str:
    request = RollbackRequest(asked.checkpoint or "", asked.paths, context.sender.login, name)
    place = RollbackPlace(context.repository.id, context.number)
    done = await take_back(context.database, context.services.clock, request, place)
    return texts.refuse_rollback(done) if isinstance(done, RollbackRefusal) else texts.confirm_rollback(done)
