"""Executes ``pause`` and ``unpause``, of a repository and of one pull request or issue."""

from domain.runs.run import ReasonCode
from domain.slash import Pause
from memory.repositories import permits
from messages import commands as texts
from pipeline.automation import level
from pipeline.deliveries.cancellation import Cancellation
from pipeline.deliveries.commands.context import CommandContext


async def pause(context: CommandContext, asked: Pause) -> str:
    """``/forge pause``: stop everything in the repository, or leave this pull request or issue alone."""
    if asked.here:
        await context.step_with_permission("leave it alone", asked, _leave_alone, context)
        ended = await Cancellation(context).end(context.repository, context.number, ReasonCode.aborted)
        return texts.confirm_left_alone(is_stopped=bool(ended))
    earlier = await context.step_with_permission("pause", asked, _pause, context)
    if earlier is not None:
        return texts.already_paused(earlier)
    return texts.confirm_pause(await Cancellation(context).end_all(context.repository, ReasonCode.paused))


async def unpause(context: CommandContext, asked: Pause) -> str:
    """``/forge unpause``: work again."""
    if asked.here:
        return await context.step_with_permission("look after it", asked, _look_after, context)
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
    return texts.NOT_PAUSED if earlier is None else texts.UNPAUSED


async def _leave_alone(context: CommandContext) -> None:
    now = context.services.clock.now()
    await permits.leave_alone(context.database, context.repository, context.number, context.sender, now)
    why = f"{context.sender.login} told Forge to leave this alone"
    await level.stop_merge(context.services, context.repository, context.number, why)


async def _look_after(context: CommandContext) -> str:
    by = await permits.find_left_alone_by(context.database, context.repository, context.number)
    now = context.services.clock.now()
    await permits.look_after(context.database, context.repository, context.number, context.sender, now)
    return texts.NOT_LEFT_ALONE if by is None else texts.LOOKED_AFTER
