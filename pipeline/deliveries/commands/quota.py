"""Turns away accounts without a role that comment too much: answers once, then nothing."""

from pydantic import BaseModel

from memory.deliveries import command_counts
from memory.ledger import ledger
from messages import commands as texts
from messages import deliveries as delivery_texts
from messages.commands import Answer
from pipeline.deliveries.commands.context import CommandContext
from pipeline.publishing import comments
from safety.review_quota import over_comment_quota


class TurnedAway(BaseModel):
    """Why Forge ignores a comment.

    :param role: of its author at this moment.
    """

    role: str
    why: str


async def check_quota(context: CommandContext) -> TurnedAway | None:
    """Whether the author comments too much. GitHub is asked for their role only then, so nobody else waits for it."""
    services, sender = context.services, context.sender
    commented = await command_counts.count_comment(
        services.database, context.guid, context.repository.id, sender.id, services.clock.now()
    )
    if not commented.is_flood:
        return None
    role = await services.host.permission(context.repository, sender.login, sender.id)
    reason = over_comment_quota(commented, role)
    return None if reason is None else TurnedAway(role=role, why=reason.text)


async def turn_away(context: CommandContext, away: TurnedAway) -> str:
    """Answer the first such comment of an hour; the audit keeps each."""
    await context.journal.step("note the refusal", _record, context, away)
    await context.journal.step("reply", _reply, context, away)
    return delivery_texts.describe_turned_away(away.why)


async def was_refused_before(context: CommandContext) -> bool:
    """Whether the author, who has no role, was told so within the hour."""
    return not await command_counts.claim_notice(context.database, context.guid, "refusal")


async def _record(context: CommandContext, away: TurnedAway) -> None:
    sender = context.sender
    payload = {"code": "quota", "account": sender.id, "by_login": sender.login, "held": away.role}
    await ledger.record_refusal(context.database, context.guid, payload, context.services.clock.now())


async def _reply(context: CommandContext, away: TurnedAway) -> None:
    if await command_counts.claim_notice(context.database, context.guid, "quota"):
        text = texts.too_many_comments(context.sender.login, away.why)
        await comments.answer(context.services, context.comment, context.guid, [Answer("", text)])
