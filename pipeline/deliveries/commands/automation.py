"""Executes the commands about the automation level."""

from domain.slash import Level, Tell
from messages import automation as texts
from pipeline.automation import level
from pipeline.deliveries.commands.context import CommandContext
from safety.automation_level import describes_miss


async def answer_level(context: CommandContext, asked: Level) -> str:
    """``/forge level``: show the level, or set it."""
    return await context.step_with_permission(asked.verb, asked, _answer_level, context, asked)


async def report_miss(context: CommandContext, asked: Tell) -> str:
    """``/forge missed``: record a critical bug that Forge did not see."""
    return await context.step_with_permission(asked.verb, asked, _record_miss, context, asked)


async def _answer_level(context: CommandContext, asked: Level) -> str:
    if asked.level is None:
        return await level.describe_level(context.services, context.repository)
    return await level.set_level(context.services, context.repository, asked.level, context.sender, context.guid)


async def _record_miss(context: CommandContext, asked: Tell) -> str:
    if not describes_miss(asked.text):
        return texts.WHAT_WAS_MISSED
    where = (context.repository, context.number)
    return await level.record_miss(context.services, *where, context.sender, asked.text, context.guid)
