"""Executes the ``/forge`` lines of a comment in turn, each by the function that its verb names, and answers once."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import structlog
from dbos._error import DBOSUnexpectedStepError

from domain.commands import ExecuteComment
from domain.errors import OWN_MISTAKE, ForgeError, NotAllowed, Superseded
from domain.slash import SlashCommand, SlashMistake
from domain.verbs import VERBS, Effect, Verb
from messages import commands as texts
from messages import deliveries as delivery_texts
from messages.commands import Answer
from pipeline.automation.follow_up import follow_up
from pipeline.context import DeliveryContext
from pipeline.deliveries.commands import (
    answers,
    automation,
    cost,
    deployments,
    feedback,
    findings,
    memories,
    places,
    runs,
    show,
)
from pipeline.deliveries.commands.context import CommandContext, receive_comment, turn_away
from pipeline.deliveries.commands.gates import answer_gate, show_decision_here
from pipeline.gates.decide import GateReply
from safety.authorization import CommandRefusal, RefusalCode, authorise, may_dispute, refuse_role

log = structlog.get_logger(__name__)

Handler = Callable[[CommandContext, Any], Awaitable[str | GateReply]]
"""Executes a command, of the type its verb has; the reply. May be called again after a crash: its steps are kept."""


def _in_step(execute: Handler) -> Handler:
    """A command that is one step, named by its verb."""

    async def handle(context: CommandContext, asked: SlashCommand) -> str | GateReply:
        return await context.journal.step(asked.verb, execute, context, asked)

    return handle


def _permitted(execute: Handler) -> Handler:
    """The same, in which permission is asked again before it acts."""

    async def handle(context: CommandContext, asked: SlashCommand) -> str | GateReply:
        return await context.step_with_permission(asked.verb, asked, execute, context, asked)

    return handle


_at_gate = _in_step(answer_gate)

HANDLERS: Mapping[Verb, Handler] = {
    Verb.help: _in_step(show.show_help),
    Verb.status: _in_step(show.show_status),
    Verb.cost: _in_step(cost.show_cost),
    Verb.view: _in_step(show.show_gate),
    Verb.history: _in_step(places.show_history),
    Verb.diff: _in_step(places.show_diff),
    Verb.suggest: _in_step(places.suggest),
    Verb.level: _permitted(automation.answer_level),
    Verb.missed: _permitted(automation.report_miss),
    Verb.why: _permitted(findings.explain_why),
    Verb.explain: answers.explain,
    Verb.dismiss: _in_step(feedback.answer_feedback),
    Verb.undismiss: _permitted(findings.undismiss),
    Verb.confirm: _in_step(feedback.answer_feedback),
    Verb.fix: answers.carry_out,
    Verb.ask: answers.ask,
    Verb.do: answers.carry_out,
    Verb.mend: answers.carry_out,
    Verb.update: answers.carry_out,
    Verb.address: answers.address,
    Verb.remember: _permitted(memories.remember_text),
    Verb.forget: _permitted(memories.forget),
    Verb.review: runs.review,
    Verb.test: runs.test,
    Verb.run: runs.run,
    Verb.plan: runs.plan,
    Verb.retry: runs.retry,
    Verb.resume: runs.resume,
    Verb.cancel: runs.cancel,
    Verb.abort: runs.cancel,
    Verb.more: _at_gate,
    Verb.approve: _at_gate,
    Verb.reject: _at_gate,
    Verb.delegate: _at_gate,
    Verb.accept: _at_gate,
    Verb.rollback: deployments.roll_back,
    Verb.deploy: deployments.deploy,
    Verb.pause: automation.pause,
    Verb.unpause: _permitted(automation.unpause),
    Verb.describe: answers.read_change,
    Verb.walkthrough: answers.read_change,
    Verb.tests: answers.carry_out,
    Verb.changelog: answers.carry_out,
}


def is_read_only(comment: ExecuteComment) -> bool:
    """Whether no command of a comment changes anything."""
    return all(
        isinstance(asked, SlashMistake) or Effect.reads_only in VERBS[asked.verb].effects for asked in comment.asked
    )


class CommandExecutor:
    """One comment and its answer. Permission is asked before each command, and again in the step that acts (T-P15)."""

    def __init__(self, context: DeliveryContext, comment: ExecuteComment) -> None:
        self._context = CommandContext.of(context, comment)
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
        return await self._context.answer(shown) if shown else None

    async def _find_words(self, reply: str | GateReply) -> str:
        """The words of a reply; none where the comment of a gate shows its decision, and a reaction says so."""
        if isinstance(reply, str):
            return reply
        is_shown = bool(reply.decided) and await show_decision_here(self._context, reply.decided)
        return texts.NO_ANSWER if is_shown else reply.text


async def _refuse(context: CommandContext, asked: SlashCommand, refused: CommandRefusal) -> str:
    """Who may read the findings hears first that there is none of this name: no other person would help."""
    may_read = refused.code not in (RefusalCode.app, RefusalCode.edited) and refuse_role(refused.held, "read") is None
    if may_read and (missing := await findings.find_missing(context, asked)):
        return missing
    await context.record_refusal(refused)
    return texts.refuse(refused, context.sender.login)
