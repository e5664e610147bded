"""Executes the ``/forge`` lines of a comment in turn and answers once; turns away who comments too much."""

from collections.abc import Sequence

import structlog
from dbos._error import DBOSUnexpectedStepError

from domain.commands import ExecuteComment
from domain.errors import (
    OWN_MISTAKE,
    Forbidden,
    ForgeError,
    NotAllowed,
    NotFound,
    Superseded,
    Unprocessable,
)
from domain.slash.commands import SlashCommand, SlashMistake, is_available
from domain.slash.verbs import VERBS, Effect, Verb
from memory import ledger
from memory.deliveries import deliveries
from messages import commands as texts
from messages import deliveries as delivery_texts
from messages.commands import Answer
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.commands.findings import find_missing
from pipeline.deliveries.commands.gates import GateReply, show_decision_here
from pipeline.deliveries.commands.handlers import HANDLERS
from pipeline.deliveries.context import DeliveryContext
from pipeline.deliveries.follow_up import follow_up
from pipeline.gates.actor import CommandActor
from pipeline.gates.comment_quota import TurnedAway, check_comment_quota
from pipeline.publishing import comments
from safety.authorization import CommandRefusal, RefusalCode, authorise, may_dispute, refuse_role


async def receive_comment(context: CommandContext) -> TurnedAway | None:
    """Show that Forge saw the comment, unless it turns the author away."""
    away = await check_comment_quota(context.services, context.guid, context.repository, context.sender)
    if away is None:
        await comments.show_seen(context.services, context.comment)
    return away


async def turn_away(context: CommandContext, away: TurnedAway) -> str:
    """Answer the first such comment of an hour; the audit keeps each."""
    await context.journal.step("note the refusal", _record, context, away)
    await context.journal.step("reply", _reply, context, away)
    return delivery_texts.describe_turned_away(away.why)


async def _record(context: CommandContext, away: TurnedAway) -> None:
    sender = context.sender
    payload = {"code": "quota", "account": sender.id, "by_login": sender.login, "held": away.role}
    await ledger.record_refusal(context.database, context.guid, payload, context.services.clock.now())


async def _reply(context: CommandContext, away: TurnedAway) -> None:
    if await deliveries.claim_notice(context.database, context.guid, "quota"):
        text = texts.too_many_comments(context.sender.login, away.why)
        await comments.answer(context.services, context.comment, context.guid, [Answer("", text)])


log = structlog.get_logger(__name__)


def is_read_only(comment: ExecuteComment) -> bool:
    """Whether no command of a comment changes anything."""
    return all(
        isinstance(asked, SlashMistake) or Effect.reads_only in VERBS[asked.verb].effects for asked in comment.asked
    )


class CommandExecutor:
    """One comment and its answer. Permission is asked before each command, and again in the step that acts (T-P15)."""

    def __init__(self, context: DeliveryContext, comment: ExecuteComment) -> None:
        actor = CommandActor.without_role(comment.sender)
        self._context = CommandContext(context.services, context.journal, context.guid, comment, actor)
        self._comment = comment
        self._effects: set[Effect] = set()

    async def execute(self) -> str:
        """Execute every line and answer; how that ended."""
        journal, comment = self._context.journal, self._comment
        away = await journal.step("react", receive_comment, self._context)
        if away is not None:
            return await turn_away(self._context, away)
        replies = [(asked, await self._try_execute(asked)) for asked in comment.asked]

        async def reply() -> str | None:
            return await journal.step("reply", self._reply, replies)

        unanswered = await follow_up(self._context, comment.repository, comment.number, self._effects, reply)
        return delivery_texts.describe_answers(len(replies), unanswered)

    async def _try_execute(self, asked: SlashCommand | SlashMistake) -> str | GateReply:
        """Execute one line, and answer it also if it failed: the next lines are executed all the same."""
        if isinstance(asked, SlashMistake):
            return texts.explain_mistake(asked)
        try:
            return await self._execute(asked)
        except Superseded:
            raise
        except NotAllowed as refused:
            return refused.message
        except ForgeError as error:
            log.warning("command.failed", guid=self._context.guid, error=str(error))
            return texts.report_failure(str(error))
        except DBOSUnexpectedStepError:
            raise
        except Exception:
            log.exception("command.unexpected", guid=self._context.guid)
            return texts.report_failure(OWN_MISTAKE)

    async def _execute(self, asked: SlashCommand) -> str | GateReply:
        row = VERBS[asked.verb]
        if not is_available(asked):
            return texts.not_available(asked.verb)
        self._effects |= row.effects - {Effect.judges_findings}
        if Effect.answers_gate in row.effects:
            return self._note_effects(await HANDLERS[asked.verb](self._context, asked))
        context = await self._context.ask_for_actor(asked)
        if context is None:
            return texts.cannot_ask(self._comment.sender.login)
        refused = authorise(asked, context.actor.facts)
        if refused is None:
            self._effects |= row.effects
        elif not may_dispute(asked, refused, context.actor.facts):
            return await context.journal.step("note the refusal", _refuse, context, asked, refused)
        reply = self._note_effects(await HANDLERS[asked.verb](context, asked))
        self._effects |= row.effects
        return reply

    def _note_effects(self, reply: str | GateReply) -> str | GateReply:
        if isinstance(reply, GateReply) and reply.answers:
            self._effects |= VERBS[Verb.approve].effects
        return reply

    async def _reply(self, replies: Sequence[tuple[SlashCommand | SlashMistake, str | GateReply]]) -> str | None:
        """Answer; why GitHub takes no answer, such as in a locked conversation. The commands are executed anyway."""
        answers = [Answer(texts.name_command(asked), await self._find_words(reply)) for asked, reply in replies]
        shown = [answer for answer in answers if answer.text != texts.NO_ANSWER]
        try:
            if shown:
                await comments.answer(self._context.services, self._comment, self._context.guid, shown)
        except (Forbidden, NotFound, Unprocessable) as error:
            log.warning("command.unanswered", guid=self._context.guid, number=self._comment.number, error=str(error))
            return error.message
        return None

    async def _find_words(self, reply: str | GateReply) -> str:
        """The words of a reply; none where the comment of a gate shows its decision, and a reaction says so."""
        if isinstance(reply, str):
            return reply
        is_shown = bool(reply.decided) and await show_decision_here(self._context, reply.decided)
        return texts.NO_ANSWER if is_shown else reply.text


async def _refuse(context: CommandContext, asked: SlashCommand, refused: CommandRefusal) -> str:
    """Who may read the findings hears first that there is none of this name: no other person would help."""
    may_read = refused.code not in (RefusalCode.app, RefusalCode.edited) and refuse_role(refused.held, "read") is None
    if may_read and (missing := await find_missing(context, asked)):
        return missing
    await context.record_refusal(refused)
    return texts.refuse(refused, context.sender.login)
