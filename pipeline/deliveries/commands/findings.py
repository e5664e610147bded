"""Executes the commands about findings: ``dismiss``, ``undismiss``, ``explain`` and ``why``."""

from collections.abc import Sequence
from difflib import get_close_matches

from domain.review.avoidance import RULE
from domain.review.findings import Finding
from domain.review.inline_comments import Remark
from domain.slash.commands import AboutFinding, Dismiss, NamesFinding, SlashCommand
from domain.slash.verbs import Verb
from memory.findings import dismissals, findings
from memory.runs import checkpoints
from messages import commands as texts
from messages import memory as memory_texts
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.commands.gate_roles import refuse_at_gate
from pipeline.verdicts import threads, update
from pipeline.verdicts.dismissal import dismiss as dismiss_findings
from pipeline.verdicts.judging import take_back
from pipeline.verdicts.suppression import is_learning_enabled, load_dismissal_history, load_evidence
from safety.gates import needs_security_gate
from safety.suppression import list_to_release


async def dismiss(context: CommandContext, asked: Dismiss) -> str:
    """``/forge dismiss``: do not raise a finding again."""
    return await context.step_with_permission(asked.verb, asked, _dismiss, context, asked)


async def answer_about_finding(context: CommandContext, asked: AboutFinding) -> str:
    """``/forge why`` and ``undismiss``."""
    return await context.step_with_permission(asked.verb, asked, _answer, context, asked)


async def _answer(context: CommandContext, asked: AboutFinding) -> str:
    meant = await find_meant(context, asked.finding)
    if not meant:
        return await answer_no_finding(context, asked)
    finding = next(iter(meant))
    if asked.verb is Verb.undismiss:
        return await _undismiss(context, finding)
    return await _explain_why(context, finding)


async def _dismiss(context: CommandContext, asked: Dismiss) -> str:
    """Dismiss all findings of one comment, or none if one of them needs a higher role."""
    meant = await find_meant(context, asked.finding)
    if not meant:
        return await answer_no_finding(context, asked)
    for finding in meant:
        refused = await _find_refusal(context, finding, asked)
        if refused is not None:
            return refused
    known = await dismissals.find_by_fingerprint(
        context.database, context.repository, context.number, [each.fingerprint for each in meant]
    )
    new = tuple(finding for finding in meant if finding.fingerprint not in known)
    if not new:
        return texts.already_dismissed(meant[0], known[meant[0].fingerprint])
    where = (context.repository, context.number)
    cause = f"{context.guid} dismiss {new[0].id}"
    effect = await dismiss_findings(context.services, *where, new, context.sender, asked.reason, cause)
    await threads.resolve(context.services, *where, new[0])
    if len(meant) > 1:
        return texts.confirm_group_dismissal(new, asked.reason, effect.taught, is_waived=effect.is_waived)
    return texts.confirm_dismissal(new[0], asked.reason, effect.taught, is_waived=effect.is_waived)


async def _undismiss(context: CommandContext, finding: Finding) -> str:
    """Take a dismissal back; of a finding that resembles dismissed ones, the dismissals of those."""
    cause = f"{context.guid} undismiss {finding.id}"
    if finding.rule.startswith(RULE):
        return await take_back(context.services, context.repository, context.number, context.actor, finding, cause)
    where, now = (context.repository, context.number), context.services.clock.now()
    is_undone = await dismissals.undo(context.database, *where, finding, context.sender, now)
    history = None if is_undone else await load_dismissal_history(context.database, context.repository, [finding])
    similar = () if history is None else list_to_release(finding, history)
    if similar:
        ids = [past.id for past in similar]
        await dismissals.undo_all(context.database, *where, ids, context.sender, now)
    await update.update_verdict(context.services, *where, cause)
    if similar:
        return memory_texts.confirm_similar_undismissal(finding, similar)
    return texts.confirm_undismissal(finding) if is_undone else texts.not_dismissed(finding)


async def _explain_why(context: CommandContext, finding: Finding) -> str:
    where = (context.repository, context.number)
    is_learning = await is_learning_enabled(context.services, context.repository)
    return memory_texts.answer_why(await load_evidence(context.database, *where, finding, is_learning=is_learning))


async def _find_refusal(context: CommandContext, finding: Finding, asked: Dismiss) -> str | None:
    """A finding that a gate asks about needs the role of that gate, too."""
    services = context.services
    if finding.rule.startswith(RULE):
        return await refuse_at_gate(context, "false_positive", asked)
    review = await checkpoints.load_latest_review(services.database, context.repository.id, context.number)
    current = () if review is None else review.findings
    if not needs_security_gate(finding) or finding.fingerprint not in {each.fingerprint for each in current}:
        return None
    return await refuse_at_gate(context, "security_findings", asked)


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
