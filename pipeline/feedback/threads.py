"""Handles that a person resolves a thread of Forge, or opens it again: that decides about its findings."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from domain.commands import RecordThread
from domain.errors import Behind
from domain.review.findings import Category, Finding, Severity
from domain.review.review import Remark
from domain.slash import Dismiss
from domain.verbs import VERBS, Verb
from memory import findings
from memory.learned import feedback
from memory.repositories import permits
from memory.runs import checkpoints
from messages import commands as command_texts
from pipeline.automation.follow_up import follow_up
from pipeline.consistent_reads import read_when_visible
from pipeline.context import DeliveryContext, Services
from pipeline.gates.actor import load_actor_for, note_assent
from pipeline.publishing import comments
from pipeline.verdicts import update
from pipeline.verdicts.dismissal import dismiss, is_confirmed
from safety.authorization import CommandRefusal, RefusalCode, authorise

RESOLVED = "resolved without a change"


async def handle_thread(context: DeliveryContext, command: RecordThread) -> str:
    """Record the resolution and do what follows, as after ``/forge dismiss``; how that ended."""
    record = partial(_record, context.services, context.guid, command)
    outcome = await read_when_visible(context.services, context.journal, "note the thread", record, command.root)

    async def show() -> str:
        return outcome  # the thread shows it already

    return await follow_up(context, command.repository, command.number, VERBS[Verb.dismiss].effects, show)


async def _record(services: Services, guid: str, command: RecordThread, root: int | None) -> str:
    """Dismiss the findings of a resolved thread, or take that back when it is opened again; the outcome.

    :param root: None once the thread is not looked up again.
    :raises Behind: if it may be, and GitHub has not shown yet which comment is about which finding.
    """
    carried = await findings.load_by_comment(services.database, command.repository.id, command.number)
    remark = carried.get(command.root)
    if remark is None:
        if root is not None and await findings.has_unplaced(services.database, command.repository.id, command.number):
            raise Behind("It is not known yet what this thread is about.", "Forge looks again.")
        return "not a thread of a finding"
    refused = await _find_refusal(services, command)
    if refused is not None:
        if refused.code is RefusalCode.second:
            await _note_first(services, guid, command, refused)
        return f"only a hint: {refused.code.value}"
    if command.is_resolved:
        return await _dismiss(services, guid, command, remark)
    known = await feedback.find_dismissed(
        services.database, command.repository, command.number, [each.fingerprint for each in remark]
    )
    back = [each for each in remark if each.fingerprint in known and known[each.fingerprint].reason == RESOLVED]
    if not back:
        return "nothing to take back"
    now = services.clock.now()
    for finding in back:
        await feedback.undo(services.database, command.repository, command.number, finding, command.sender, now)
    await update.update_verdict(services, command.repository, command.number, guid)
    return f"{_format_names(back)} {'counts' if len(back) == 1 else 'count'} again"


async def _find_refusal(services: Services, command: RecordThread) -> CommandRefusal | None:
    """Resolving a thread is like ``/forge dismiss``, so it needs the same permission; one person opens it again.

    It gives no reason, so authors cannot do it, not even where nobody else may dismiss.
    """
    asked = Dismiss(reason=RESOLVED)
    about = f"thread {command.root}"
    actor = await load_actor_for(services, asked, command.repository, command.number, command.sender, about=about)
    facts = replace(actor.facts, is_alone=False)
    return authorise(asked, facts if command.is_resolved else replace(facts, doubt=None))


async def _note_first(services: Services, guid: str, command: RecordThread, refused: CommandRefusal) -> None:
    """Keep that one of two people resolved the thread, and say once that it takes another."""
    there = await permits.load_assents(services.database, command.repository, command.number, refused.assent)
    await note_assent(services, command.repository, command.number, command.sender, refused)
    if command.sender.id not in there:
        text = command_texts.ask_to_resolve_too(refused)
        await comments.reply_in_thread(services, command.repository, command.number, command.root, guid, text)


async def _dismiss(services: Services, guid: str, command: RecordThread, remark: Remark) -> str:
    """Dismiss the findings that still count; a critical one needs a command."""
    review = await checkpoints.load_latest_review(services.database, command.repository.id, command.number)
    if review is None or review.head_sha != command.head_sha:
        return "the head is being reviewed"
    there = {each.fingerprint for each in (*review.findings, *review.in_history)}
    counting = [finding for finding in remark if finding.fingerprint in there]
    if not counting:
        return f"{_format_names(remark)} {'is' if len(remark) == 1 else 'are'} gone"
    where = (command.repository, command.number)
    milder = [each for each in counting if each.severity is not Severity.critical or each.category != Category.security]
    meant = [each for each in milder if not await is_confirmed(services, *where, each)]
    if not meant:
        return f"{_format_names(counting)} is critical or confirmed: only a command dismisses it"
    effect = await dismiss(services, *where, tuple(meant), command.sender, RESOLVED, guid)
    text = command_texts.confirm_resolved_dismissal(meant, command.sender.login, effect.taught)
    await comments.reply_in_thread(services, command.repository, command.number, command.root, guid, text)
    return f"{_format_names(meant)} {'is' if len(meant) == 1 else 'are'} dismissed"


def _format_names(remark: Sequence[Finding]) -> str:
    return ", ".join(finding.id for finding in remark)
