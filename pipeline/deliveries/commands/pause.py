"""Executes ``pause`` and ``unpause``."""

from domain.runs.run import ReasonCode
from domain.slash.commands import PlainCommand
from memory.repositories import permits
from messages import commands as texts
from pipeline.automation import level
from pipeline.deliveries.cancellation import Cancellation
from pipeline.deliveries.commands.context import CommandContext


async def pause(context: CommandContext, asked: PlainCommand) -> str:
    """``/forge pause``: stop everything in the repository."""
    earlier = await context.step_with_permission("pause", asked, _pause, context)
    if earlier is not None:
        return texts.already_paused(earlier)
    return texts.confirm_pause(await Cancellation(context).end_all(context.repository, ReasonCode.paused))


async def unpause(context: CommandContext, asked: PlainCommand) -> str:
    """``/forge unpause``: work again."""
    return await context.step_with_permission("unpause", asked, _unpause, context)


async def _pause(context: CommandContext) -> str | None:
    """Who had paused the repository before; None if nobody had."""
    earlier = await permits.find_pauser(context.database, context.repository)
    if earlier is None:
        await permits.pause(context.database, context.repository, context.sender, context.services.clock.now())
    await level.stop_automation(context.services, context.repository, f"{context.sender.login} paused Forge")
    return earlier


async def _unpause(context: CommandContext) -> str:
    earlier = await permits.find_pauser(context.database, context.repository)
    await permits.unpause(context.database, context.repository, context.sender, context.services.clock.now())
    return texts.not_paused() if earlier is None else texts.confirm_unpause()
