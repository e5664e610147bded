"""Executes what steers Forge itself: ``level``, ``missed``, and ``pause``, of a repository or one place in it."""

from domain.runs.run import ReasonCode
from domain.slash import Level, Pause, Tell
from memory.repositories import permits
from messages import automation as automation_texts
from messages import commands as texts
from pipeline.automation import level
from pipeline.deliveries.cancellation import end_all_runs, end_runs
from pipeline.deliveries.commands.context import CommandContext
from safety.automation_level import describes_miss


async def pause(context: CommandContext, asked: Pause) -> str:
    """``/forge pause``: stop everything in the repository, or leave this pull request or issue alone."""
    if asked.here:
        await context.step_with_permission("leave it alone", asked, _leave_alone, context)
        ended = await end_runs(context, *context.place, ReasonCode.aborted)
        return texts.confirm_left_alone(is_stopped=bool(ended))
    earlier = await context.step_with_permission("pause", asked, _pause, context)
    if earlier is not None:
        return texts.already_paused(earlier)
    return texts.confirm_pause(await end_all_runs(context, context.repository, ReasonCode.paused))


async def _pause(context: CommandContext) -> str | None:
    """Who had paused the repository before; None if nobody had."""
    earlier = await permits.find_pauser(context.database, context.repository)
    if earlier is None:
        await permits.pause(context.database, context.repository, context.sender, context.services.clock.now())
    await level.stop_automation(context.services, context.repository, f"{context.sender.login} paused Forge")
    return earlier


async def _leave_alone(context: CommandContext) -> None:
    now = context.services.clock.now()
    await permits.leave_alone(context.database, *context.place, context.sender, now)
    why = f"{context.sender.login} told Forge to leave this alone"
    await level.stop_merge(*context.here, why)


async def unpause(context: CommandContext, asked: Pause) -> str:
    """``/forge unpause``: work again, everywhere or on this pull request or issue."""
    database, by, now = context.database, context.sender, context.services.clock.now()
    if asked.here:
        left_by = await permits.find_left_alone_by(database, *context.place)
        await permits.look_after(database, *context.place, by, now)
        return texts.NOT_LEFT_ALONE if left_by is None else texts.LOOKED_AFTER
    earlier = await permits.find_pauser(database, context.repository)
    await permits.unpause(database, context.repository, by, now)
    return texts.NOT_PAUSED if earlier is None else texts.UNPAUSED


async def answer_level(context: CommandContext, asked: Level) -> str:
    """``/forge level``: show the level, or set it."""
    if asked.level is None:
        return await level.describe_level(context.services, context.repository)
    return await level.set_level(context.services, context.repository, asked.level, context.sender, context.guid)


async def report_miss(context: CommandContext, asked: Tell) -> str:
    """``/forge missed``: record a critical bug that Forge did not see."""
    if not describes_miss(asked.text):
        return automation_texts.WHAT_WAS_MISSED
    return await level.record_miss(context.services, *context.place, context.sender, asked.text, context.guid)
