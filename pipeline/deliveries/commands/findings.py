"""Finds the findings that commands name, and executes ``why`` and ``undismiss``."""

from collections.abc import Sequence
from difflib import get_close_matches

from domain.errors import NotAllowed
from domain.review.findings import Finding
from domain.review.review import Remark
from domain.slash import AboutFinding, NamesFinding, SlashCommand
from domain.verbs import Verb
from memory import findings
from memory.learned import feedback
from memory.runs import checkpoints
from messages import commands as texts
from messages import feedback as feedback_texts
from messages import memory as memory_texts
from pipeline.deliveries.commands.context import CommandContext
from pipeline.gates.actor import CommandActor
from pipeline.verdicts import update
from pipeline.verdicts.suppression import is_learning_enabled, load_dismissal_history, load_evidence
from safety.gate_requests import may_overrule
from safety.suppression import list_to_release


async def explain_why(context: CommandContext, asked: AboutFinding) -> str:
    """``/forge why``"""
    finding = (await require_meant(context, asked))[0]
    is_learning = await is_learning_enabled(context.services, context.repository)
    evidence = await load_evidence(context.database, *context.place, finding, is_learning=is_learning)
    return memory_texts.answer_why(evidence)


async def undismiss(context: CommandContext, asked: AboutFinding) -> str:
    """``/forge undismiss``: take back what was said about a finding, or about those that it resembles."""
    finding, now = (await require_meant(context, asked))[0], context.services.clock.now()
    refused = await find_overruled(context, context.actor, [finding])
    if refused is not None:
        return refused
    is_undone = await feedback.undo(context.database, *context.place, finding, context.sender, now)
    history = None if is_undone else await load_dismissal_history(context.database, context.repository, [finding])
    similar = () if history is None else list_to_release(finding, history)
    if similar:
        ids = [past.id for past in similar]
        await feedback.undo_all(context.database, *context.place, ids, context.sender, now)
    await update.update_verdict(context.services, *context.place, f"{context.guid} undismiss {finding.id}")
    if similar:
        return memory_texts.confirm_similar_undismissal(finding, similar)
    return texts.confirm_undismissal(finding) if is_undone else texts.not_dismissed(finding)


async def find_overruled(context: CommandContext, actor: CommandActor, found: Sequence[Finding]) -> str | None:
    """Why somebody may not take back what was said against the change; None if they may."""
    said = await feedback.load_standing(*context.rows, found)
    for each in found:
        before = said.get(each.fingerprint)
        if before is not None and not may_overrule(before, actor.facts, actor.sender.id):
            return feedback_texts.refuse_to_overrule(each, before)
    return None


async def find_meant(context: CommandContext, name: str | None) -> Remark:
    """The finding a command names, or those of the thread it replies in."""
    if name is not None:
        found = await findings.find_by_name(*context.rows, name)
        return () if found is None else (found,)
    carried = await findings.load_by_comment(*context.rows)
    return carried.get(context.comment.comment.thread or 0, ())


async def require_meant(context: CommandContext, asked: NamesFinding) -> Remark:
    """The same, at least one.

    :raises NotAllowed: there is none; with those that do exist.
    """
    found = await find_meant(context, asked.finding)
    if not found:
        raise NotAllowed(await answer_no_finding(context, asked))
    return found


async def answer_no_finding(context: CommandContext, asked: NamesFinding) -> str:
    """The answer to a command about a finding that does not exist, with those that do."""
    if asked.finding is None:
        return texts.which_finding(asked.verb)
    names = await findings.list_names(context.database, context.repository.id, context.number)
    near = get_close_matches(asked.finding.upper(), names, 2, 0.7)
    return texts.no_such_finding(asked.finding, near, () if near else await _list_choices(context, asked.verb))


async def find_missing(context: CommandContext, asked: SlashCommand) -> str:
    """The answer to a command that names a finding which does not exist, so that no role would help; else nothing."""
    if not isinstance(asked, NamesFinding) or asked.finding is None or await find_meant(context, asked.finding):
        return ""
    return await answer_no_finding(context, asked)


async def _list_choices(context: CommandContext, verb: Verb) -> Sequence[Finding]:
    """The findings a verb could have named: of the newest review those that are open, or that were dismissed."""
    review = await checkpoints.load_latest_review(*context.rows)
    if review is None:
        return ()
    if verb is Verb.undismiss:
        return (*review.dismissed, *(each.finding for each in review.held), *review.in_history_dismissed)
    return (*review.findings, *review.in_history)
