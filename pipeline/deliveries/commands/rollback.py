"""Executes ``rollback``: takes an agent's work back to a checkpoint, or an environment to what ran there before."""

from domain.ids import new_id
from domain.runs.run import Run
from domain.runs.work_rollback import RollbackRefusal
from domain.slash.commands import Rollback
from memory.runs import runs
from messages import checkpoints as texts
from messages import commands as command_texts
from messages import instructions as instruction_texts
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.commands.deployments import roll_environment_back
from pipeline.durable.queues import enqueue_instruction
from pipeline.feedback.answers.instruction import admit_instruction
from pipeline.feedback.answers.request import QueuedAnswer
from pipeline.issue.coding.rollback import RollbackPlace, RollbackRequest, find_checkpoint, take_back
from pipeline.publishing.instructions import COMMITTED, Instruction


async def roll_back(context: CommandContext, asked: Rollback) -> str:
    """``/forge rollback C-ID [PATH …]`` or ``/forge rollback ENV``"""
    if asked.environment is not None:
        return await roll_environment_back(context, asked, asked.environment)
    made_by = await context.journal.step("whose work it is", _find_instruction, context, asked)
    if made_by is not None:
        return await _order_undo(context, asked, made_by)
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


async def _find_instruction(context: CommandContext, asked: Rollback) -> Run | None:
    """The run of the instruction here that a checkpoint belongs to."""
    place = RollbackPlace(context.repository.id, context.number)
    found = await find_checkpoint(context.database, asked.checkpoint or "", place)
    run = None if isinstance(found, RollbackRefusal) else await runs.get(context.database, found.key.run_id)
    is_done = not isinstance(found, RollbackRefusal) and found.key.work == COMMITTED
    return run if is_done and run is not None and run.number == context.number else None


async def _order_undo(context: CommandContext, asked: Rollback, made_by: Run) -> str:
    """Take back the commit of an instruction, in its turn."""
    if asked.paths:
        return instruction_texts.refuse_paths()
    queued = await context.step_with_permission("take the commit back", asked, _admit_undo, context, asked, made_by)
    if queued.run_id is None:
        return queued.refused
    await enqueue_instruction(queued.run_id, context.repository.id, context.number)
    return command_texts.NO_ANSWER


async def _admit_undo(context: CommandContext, asked: Rollback, made_by: Run) -> QueuedAnswer:
    key = f"{context.guid}.{context.comment.asked.index(asked)}"
    instruction = Instruction.of(context.comment, asked, key, "", None).model_copy(update={"undoes": made_by.id})
    return await admit_instruction(context.services, instruction, context.actor, key)
