"""Receives a comment: turns away accounts without a role that comment too much, which it answers once an hour."""

import contextlib

from domain.errors import CodeHostError, Halted
from domain.github.conversation import Reaction
from memory.deliveries import command_counts
from memory.ledger import ledger
from messages import commands as texts
from messages import deliveries as delivery_texts
from messages.commands import Answer
from pipeline.deliveries.commands.context import CommandContext
from pipeline.gates.comment_quota import TurnedAway, check_comment_quota
from pipeline.publishing import comments


async def receive_comment(context: CommandContext) -> TurnedAway | None:
    """Show that Forge saw the comment, unless it turns the author away."""
    away = await check_comment_quota(context.services, context.guid, context.repository, context.sender)
    if away is None:
        await _react(context)
    return away


async def turn_away(context: CommandContext, away: TurnedAway) -> str:
    """Answer the first such comment of an hour; the audit keeps each."""
    await context.journal.step("note the refusal", _record, context, away)
    await context.journal.step("reply", _reply, context, away)
    return delivery_texts.describe_turned_away(away.why)


async def _react(context: CommandContext) -> None:
    """A decision may have a deadline, so nothing waits for the reaction, not even while Forge is halted.

    GitHub takes no reaction in a locked conversation, or if the comment is gone or not there yet.
    """
    with contextlib.suppress(Halted, CodeHostError):
        await comments.react(context.services, context.repository, context.comment.comment, Reaction.seen)


async def _record(context: CommandContext, away: TurnedAway) -> None:
    sender = context.sender
    payload = {"code": "quota", "account": sender.id, "by_login": sender.login, "held": away.role}
    await ledger.record_refusal(context.database, context.guid, payload, context.services.clock.now())


async def _reply(context: CommandContext, away: TurnedAway) -> None:
    if await command_counts.claim_notice(context.database, context.guid, "quota"):
        text = texts.too_many_comments(context.sender.login, away.why)
        await comments.answer(context.services, context.comment, context.guid, [Answer("", text)])
