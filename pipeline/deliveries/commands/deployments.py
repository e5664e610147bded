"""Executes ``deploy`` and ``rollback``, of an environment or of an agent's work."""

from domain.deployments.deployment import DeploymentState, Wish
from domain.runs.run import Run
from domain.runs.work_checkpoint import RollbackRefusal
from domain.slash import Deploy, Rollback
from domain.value import new_id
from memory.runs import runs
from messages import checkpoints as checkpoint_texts
from messages import deployments as texts
from messages import instructions as instruction_texts
from pipeline.deliveries.buttons import steer
from pipeline.deliveries.cancellation import start_deployment
from pipeline.deliveries.commands.answers import enqueue
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deployment.orders import find_under_way, order_deployment, order_rollback, was_ordered_later
from pipeline.feedback.answers.instruction import admit_instruction
from pipeline.issue.coding.rollback import RollbackPlace, RollbackRequest, find_checkpoint, take_back
from pipeline.publishing.instructions import COMMITTED, Instruction

_WISHES = {"hold": Wish.hold, "go-on": Wish.go_on, "cancel": Wish.cancel}


async def deploy(context: CommandContext, asked: Deploy) -> str:
    """``/forge deploy ENV [hold, go-on or cancel]``"""
    if asked.wish is None:
        where = (context.services, context.guid, *context.place, context.actor.pull_request, asked.environment)
        by = (context.sender, context.comment.written_at)
        ordered = await context.step_with_permission("order it", asked, order_deployment, *where, *by)
        await start_deployment(context, ordered)
        return ordered.answer
    there = (context.services, context.repository, asked.environment)
    under_way = await context.step_with_permission("what is under way", asked, find_under_way, *there)
    if under_way is None:
        return texts.refuse_no_deployment(asked.environment)
    if was_ordered_later(under_way, context.comment.written_at):
        return texts.refuse_late(under_way)
    return await steer(context, under_way, _WISHES[asked.wish], context.sender)


async def roll_environment_back(context: CommandContext, asked: Rollback, environment: str) -> str:
    """``/forge rollback ENV``: a deployment under way goes back; else what ran there before is deployed again."""
    there = (context.services, context.repository, environment)
    under_way = await context.step_with_permission("what is under way", asked, find_under_way, *there)
    if under_way is not None and under_way.state not in {DeploymentState.queued, DeploymentState.asking}:
        if was_ordered_later(under_way, context.comment.written_at):
            return texts.refuse_late(under_way)
        told = await steer(context, under_way, Wish.roll_back, context.sender)
        return f"{told} {texts.explain_untouched(environment)}" if under_way.is_untouched else told
    where = (context.services, context.guid, *context.place, environment)
    by = (context.sender, context.comment.written_at)
    ordered = await context.step_with_permission("order it", asked, order_rollback, *where, *by)
    await start_deployment(context, ordered)
    return ordered.answer


async def roll_back(context: CommandContext, asked: Rollback) -> str:
    """``/forge rollback C-ID [PATH …]`` or ``/forge rollback ENV``"""
    if asked.environment is not None:
        return await roll_environment_back(context, asked, asked.environment)
    made_by = await context.journal.step("whose work it is", _find_instruction, context, asked)
    if made_by is not None:
        return await _order_undo(context, asked, made_by)
    # journaled before anything is done, so that a step that is executed again knows what it did
    name = await context.journal.step("name the roll-back", _make_name)
    return await context.step_with_permission("take the work back", asked, _take_back, context, asked, name)


async def _make_name() -> str:
    return new_id()


async def _take_back(context: CommandContext, asked: Rollback, name: str) -> str:
    request = RollbackRequest(asked.checkpoint or "", asked.paths, context.sender.login, name)
    place = RollbackPlace(context.repository.id, context.number)
    done = await take_back(context.database, context.services.clock, request, place)
    if isinstance(done, RollbackRefusal):
        return checkpoint_texts.refuse_rollback(done)
    return checkpoint_texts.confirm_rollback(done)


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
        return instruction_texts.PATHS_REFUSED
    key = f"{context.guid}.{context.comment.asked.index(asked)}"
    instruction = Instruction.of(context.comment, asked, key, "", None).model_copy(update={"undoes": made_by.id})
    undo = (context.services, instruction, context.actor, key)
    return await enqueue(
        context, await context.step_with_permission("take the commit back", asked, admit_instruction, *undo)
    )
