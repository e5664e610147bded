"""Executes the commands at a gate: ``approve``, ``reject``, ``delegate``, ``continue`` and ``accept``."""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace

from domain.errors import CodeHostError
from domain.gates import BUDGET_GATES, Choice, Gate
from domain.github.conversation import Reaction
from domain.money import BudgetExtension, to_micro
from domain.slash import Approve, Confirm, Continue, Delegate, Dismiss, PlainCommand, Reject, SlashCommand
from domain.verbs import Verb
from memory import findings, gates
from memory.repositories import budgets
from memory.runs import runs
from messages import automation as automation_texts
from messages import gate_answers
from messages import recovery as recovery_texts
from pipeline.automation import level
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.commands.feedback import answer_in_step
from pipeline.deliveries.commands.gate_roles import find_lacking_agent
from pipeline.gates.decide import (
    GateAnswer,
    GateReply,
    decide_gate,
    delegate_gate,
    find_gate,
    find_shown_at,
    find_stale_reason,
)
from pipeline.publishing import comments
from pipeline.publishing.gate_checks import list_gates, show_decision
from safety.authorization import authorise


async def answer_gate(context: CommandContext, asked: SlashCommand) -> GateReply:
    """Execute one of these commands. The gate says who may."""
    written_at = context.comment.written_at
    match asked:
        case Delegate(to="agent"):
            return await _delegate_to_agent(context, asked)
        case Approve():
            answer = GateAnswer(context.sender, Choice.approve, asked.conditions or "", asked.sha, written_at)
            return await _decide(context, asked.gate, answer)
        case Reject():
            if await _stops_merge(context):
                return GateReply(automation_texts.MERGE_STOPPED)
            name, reason = await _parse_rejection(context, asked)
            return await _decide(context, name, GateAnswer(context.sender, Choice.reject, reason, None, written_at))
        case Delegate():
            gate = await find_gate(*context.here, asked.gate)
            if isinstance(gate, str):
                return GateReply(gate)
            return await delegate_gate(context.services, context.guid, gate, asked, context.sender)
        case Continue():
            return await _continue(context, asked)
        case _:
            return await _accept(context)


async def show_decision_here(context: CommandContext, gate_id: str) -> bool:
    """Show a decision in the comment of its gate, if that is here, and react to the command; whether it is shown.

    May be repeated.
    """
    gate = await gates.get(context.services.database, gate_id)
    if gate is None or gate.number != context.number or not await show_decision(context.services, gate):
        return False
    with suppress(CodeHostError):  # such as where whoever wrote it deleted the command
        await comments.react(context.services, context.repository, context.comment.comment, Reaction.done)
    return True


async def retry_recovery(context: CommandContext) -> GateReply | None:
    """``/forge retry`` at the gate ``recovery``: as many attempts again; None if that does not wait here."""
    gate = await _find_newest(context, {recovery_texts.NAME})
    if gate is None:
        return None
    answer = GateAnswer(context.sender, Choice.retry, written_at=context.comment.written_at)
    return replace(await decide_gate(context.services, context.guid, gate, answer), answers=True)


async def _delegate_to_agent(context: CommandContext, asked: Delegate) -> GateReply:
    """Let another agent carry out what the gate ``recovery`` asks about."""
    gate = await _find_newest(context, {recovery_texts.NAME})
    if gate is None or asked.gate not in {None, gate.name, gate.short_id}:
        return GateReply(recovery_texts.AGENTS_ONLY_HERE)
    lacking = await find_lacking_agent(context.services, gate)
    if lacking:
        return GateReply(lacking)
    answer = GateAnswer(context.sender, Choice.other_agent, written_at=context.comment.written_at)
    return await decide_gate(context.services, context.guid, gate, answer)


async def _find_newest(context: CommandContext, names: Collection[str]) -> Gate | None:
    """The newest of these gates that waits here, or that this delivery decided."""
    known = [gate for gate in reversed(await list_gates(*context.here)) if gate.name in names]
    return next((gate for gate in known if gate.is_waiting or context.has_decided(gate)), None)


async def _decide(context: CommandContext, name: str | None, answer: GateAnswer) -> GateReply:
    gate = await _find_own_decision(context, name) or await find_gate(*context.here, name)
    if isinstance(gate, str):
        return GateReply(gate)
    if gate.name == "false_positive":
        return await _answer_false_positive(context, gate, answer)
    return await decide_gate(context.services, context.guid, gate, answer)


async def _answer_false_positive(context: CommandContext, gate: Gate, answer: GateAnswer) -> GateReply:
    """Dismiss or confirm all that the gate asks about, whatever thread it is answered in."""
    shown_at = await find_shown_at(context.services, gate)
    stale = find_stale_reason(gate, answer, shown_at) if gate.is_waiting else None
    if stale is not None:
        return GateReply(stale)
    found = await findings.load_by_fingerprint(*context.rows, gate.request.findings)
    if answer.choice is Choice.reject:
        asked: Dismiss | Confirm = Confirm(reason=answer.words)
    elif answer.words:
        asked = Dismiss(reason=answer.words)
    else:
        return GateReply(gate_answers.ask_for_words(gate))
    return GateReply(await answer_in_step(context, asked, found))


async def _find_own_decision(context: CommandContext, name: str | None) -> Gate | None:
    """The gate that an execution of this delivery decided before it died."""
    known = await list_gates(context.services, context.repository, context.number)
    mine = [gate for gate in known if context.has_decided(gate)]
    return next((gate for gate in mine if name in {None, gate.name, gate.short_id}), None)


async def _parse_rejection(context: CommandContext, asked: Reject) -> tuple[str | None, str]:
    """The gate a rejection names. A gate of the repository's own is the first word of the reason."""
    if asked.gate is not None:
        return asked.gate, asked.reason
    known = await list_gates(context.services, context.repository, context.number)
    first, _, rest = asked.reason.partition(" ")
    return (first, rest.strip()) if any(first == gate.name for gate in known) else (None, asked.reason)


async def _stops_merge(context: CommandContext) -> bool:
    """Whether a rejection stops an announced merge: if no gate waits, and the author may cancel."""
    if await list_gates(*context.here, waiting=True) or await level.find_announced_merge(*context.here) is None:
        return False
    asked = PlainCommand(verb=Verb.cancel)
    actor = await context.load_actor(asked=asked)
    if actor is None or authorise(asked, actor.facts) is not None:
        return False
    return await level.stop_merge(*context.here, f"{context.sender.login} rejected it")


async def _continue(context: CommandContext, asked: Continue) -> GateReply:
    """Grant a slice: at the gate that waits for one, or beforehand."""
    named = BudgetExtension(amount=to_micro(asked.usd or 0), calls=asked.iterations or 0)
    stopped = await _find_newest(context, BUDGET_GATES)
    if stopped is not None:
        answer = GateAnswer(context.sender, Choice.approve, "", None, context.comment.written_at, named)
        return await decide_gate(context.services, context.guid, stopped, answer)
    await context.require_permission(asked)
    return await _extend_budget(context, named)


async def _extend_budget(context: CommandContext, named: BudgetExtension) -> GateReply:
    run, now = await runs.find_newest(*context.rows), context.services.clock.now()
    if run is None or run.state.is_final:
        return GateReply(gate_answers.NOTHING_TO_CONTINUE)
    await budgets.extend_budget(context.database, run, run.budget_phase, named, now, context.guid)
    return GateReply(gate_answers.confirm_extension(named, run.id))


async def _accept(context: CommandContext) -> GateReply:
    """Keep what there is so far, where a guard or a budget stopped the rest."""
    stopped = await _find_newest(context, BUDGET_GATES)
    if stopped is None:
        return GateReply(gate_answers.NOTHING_TO_ACCEPT)
    words = "the current state is accepted"
    answer = GateAnswer(context.sender, Choice.reject, words, None, context.comment.written_at)
    return await decide_gate(context.services, context.guid, stopped, answer)
