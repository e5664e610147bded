"""Executes ``deploy`` and ``rollback ENV``."""

from domain.deployments.deployment import Deployment, DeploymentState, Wish
from domain.slash.commands import Deploy, Rollback
from messages import deployments as texts
from pipeline.deliveries.cancellation import Cancellation
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.deployments import DeploymentStarter
from pipeline.deliveries.steering import steer
from pipeline.deployment.orders import Ordered, find_under_way, order_deployment, order_rollback, was_ordered_later

_WISHES = {"hold": Wish.hold, "go-on": Wish.go_on, "cancel": Wish.cancel}


async def deploy(context: CommandContext, asked: Deploy) -> str:
    """``/forge deploy ENV [hold, go-on or cancel]``"""
    if asked.wish is None:
        ordered = await context.step_with_permission("order it", asked, _order, context, asked.environment)
        await DeploymentStarter(context, Cancellation(context)).start(ordered)
        return ordered.answer
    under_way = await context.step_with_permission("what is under way", asked, _find, context, asked.environment)
    if under_way is None:
        return texts.refuse_no_deployment(asked.environment)
    if was_ordered_later(under_way, context.comment.written_at):
        return texts.refuse_late(under_way)
    return await steer(context, under_way, _WISHES[asked.wish], context.sender)


async def roll_environment_back(context: CommandContext, asked: Rollback, environment: str) -> str:
    """``/forge rollback ENV``: a deployment under way goes back; else what ran there before is deployed again."""
    under_way = await context.step_with_permission("what is under way", asked, _find, context, environment)
    if under_way is not None and under_way.state not in {DeploymentState.queued, DeploymentState.asking}:
        if was_ordered_later(under_way, context.comment.written_at):
            return texts.refuse_late(under_way)
        told = await steer(context, under_way, Wish.roll_back, context.sender)
        return f"{told} {texts.explain_untouched(environment)}" if under_way.is_untouched else told
    ordered = await context.step_with_permission("order it", asked, _order_back, context, environment)
    await DeploymentStarter(context, Cancellation(context)).start(ordered)
    return ordered.answer


async def _find(context: CommandContext, environment: str) -> Deployment | None:
    return await find_under_way(context.services, context.repository, environment)


async def _order(context: CommandContext, environment: str) -> Ordered:
    live = context.actor.pull_request
    where = (context.repository, context.number, live, environment, context.sender)
    return await order_deployment(context.services, context.guid, *where, context.comment.written_at)


async def _order_back(context: CommandContext, environment: str) -> Ordered:
    where = (context.repository, context.number, environment, context.sender, context.comment.written_at)
    return await order_rollback(context.services, context.guid, *where)
