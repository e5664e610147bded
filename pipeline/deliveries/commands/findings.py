"""Finds the findings that commands name, and executes ``why``."""

from collections.abc import Sequence
from difflib import get_close_matches

from domain.review.findings import Finding
from domain.review.inline_comments import Remark
from domain.slash.commands import AboutFinding, NamesFinding, SlashCommand
from domain.slash.verbs import Verb
from memory.findings import findings
from memory.runs import checkpoints
from messages import commands as texts
from messages import memory as memory_texts
from pipeline.deliveries.commands.context import CommandContext
from pipeline.verdicts.suppression import is_learning_enabled, load_evidence


async def explain_why(context: CommandContext, asked: AboutFinding) -> str:
    """``/forge why``"""
    return await context.step_with_permission(asked.verb, asked, _explain_why, context, asked)


async def _explain_why(context: CommandContext, asked: AboutFinding) -> str:
    meant = await find_meant(context, asked.finding)
    if not meant:
        return await answer_no_finding(context, asked)
    where = (context.repository, context.number)
    is_learning = await is_learning_enabled(context.services, context.repository)
    return memory_texts.answer_why(await load_evidence(context.database, *where, meant[0], is_learning=is_learning))


async def find_meant(context: CommandContext, name: str | None) -> Remark:
    """The finding a command names, or those of the thread it replies in."""
    if name is not None:
        found = await findings.find_by_name(context.database, context.repository.id, context.number, name)
        return () if found is None else (found,)
    carried = await findings.load_by_comment(context.database, context.repository.id, context.number)
    return carried.get(context.comment.comment.thread or 0, ())


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
    review = await checkpoints.load_latest_review(context.database, context.repository.id, context.number)
    if review is None:
        return ()
    if verb is Verb.undismiss:
        return (*review.dismissed, *(each.finding for each in review.held), *review.in_history_dismissed)
    return (*review.findings, *review.in_history)
