"""Reads and resolves the threads of Forge's own comments."""

from collections.abc import Collection, Sequence

import structlog
from pydantic import JsonValue

from domain.commands import RecordThread
from domain.errors import Behind, Forbidden, NotFound, Unprocessable
from domain.github.conversation import ReviewThread
from domain.review.findings import Category, Finding, Severity
from domain.review.inline_comments import Remark
from domain.review.review import Review
from domain.runs.run import RepositoryRef, Run
from domain.slash.commands import Dismiss
from domain.text.escaping import suggestion_block
from memory.findings import dismissals, findings
from memory.runs import checkpoints
from messages import commands as command_texts
from messages import review as review_texts
from pipeline.context import Services
from pipeline.gates.actor import load_actor
from pipeline.publishing import comments, reviews
from pipeline.verdicts import update
from pipeline.verdicts.dismissal import dismiss
from safety.authorization import authorise
from safety.resolved_findings import is_gone, is_present

log = structlog.get_logger(__name__)

RESOLVED = "resolved without a change"


async def settle(services: Services, run: Run, review: Review, gone: Collection[str] = ()) -> Sequence[str]:
    """Make the comments of findings that are gone say so, and resolve their threads; the findings' names.

    What somebody replied to stays open, but its suggestion cannot be applied any more either. Where what a thread is
    about is there again, Forge opens it again, unless a person resolved it. A thread that GitHub refuses to change
    keeps no other from it.

    :param gone: names of layer 3's findings that the model called gone when it read the new lines.
    """
    carried = await findings.load_by_comment(services.database, run.repository.id, run.number)
    if not carried:
        return []
    known = {finding.fingerprint for remark in carried.values() for finding in remark}
    settled: list[str] = []
    for thread in await services.host.review_threads(run.repository, run.number):
        remark = carried.get(thread.comments[0].id, ()) if thread.comments else ()
        over = [
            finding
            for finding in remark
            if is_gone(finding, review, known, is_outdated=thread.is_outdated, called_gone=finding.id in gone)
        ]
        if remark:
            try:
                settled += await _settle_thread(services, run, review, thread, remark, over)
            except (Forbidden, NotFound, Unprocessable) as error:
                log.warning("thread.not_settled", run=run.id, thread=thread.id, error=str(error))
    return settled


async def _settle_thread(
    services: Services, run: Run, review: Review, thread: ReviewThread, remark: Remark, over: Sequence[Finding]
) -> Sequence[str]:
    """Have one thread say what is true; the names of the findings that it settles.

    :param over: what is gone of what its comment says.
    """
    first = thread.comments[0]
    wanted = _render_comment(first.body, remark, {finding.id for finding in over}, review)
    if wanted is not None:
        await reviews.edit_comment(services, run, first.id, wanted)
    if thread.is_resolved and thread.resolved_by in {None, first.author_id}:
        await _reopen(services, run, review, thread, remark)
    if not over or not _is_own(thread):
        return []
    if len(over) == len(remark) and not thread.is_resolved:
        await reviews.resolve_thread(services, run.repository, thread.id)
    return [finding.id for finding in over]


async def _reopen(services: Services, run: Run, review: Review, thread: ReviewThread, remark: Remark) -> None:
    """Open a thread that Forge resolved if something of it stands, also by what was dismissed since the review."""
    stands = {each.fingerprint for each in review.findings} & {each.fingerprint for each in remark}
    if stands - set(await dismissals.find_by_fingerprint(services.database, run.repository, stands)):
        await reviews.reopen_thread(services, run.repository, thread.id)


def _render_comment(body: str, remark: Remark, gone: Collection[str], review: Review) -> str | None:
    """What a comment must say from now on; None if what it says is true, but for lines that moved."""
    is_over, remark = body.startswith(review_texts.OUTDATED), review_texts.sort_as_listed(remark, body)
    if len(gone) == len(remark):
        return None if is_over else review_texts.render_outdated(remark, review.head_sha)
    first, *others = (_update_finding(finding, review, body) for finding in remark)
    if others:
        wanted = review_texts.render_comment((first, *others), gone)
        return None if review_texts.strip_line_numbers(wanted) == review_texts.strip_line_numbers(body) else wanted
    is_back = is_over and is_present(first, review)
    return review_texts.render_comment((first,)) if is_back or _offers_another(body, first) else None


def _update_finding(finding: Finding, review: Review, body: str) -> Finding:
    """The finding as it was said, with its fix only as far as the comment offers exactly that and it still fits."""
    current = next((each for each in review.all_findings if each.fingerprint == finding.fingerprint), finding)
    is_offered = current.fix is not None and _contains(body, suggestion_block(current.fix.replacement))
    return finding if is_offered else finding.model_copy(update={"fix": None})


def _offers_another(body: str, finding: Finding) -> bool:
    return finding.fix is None and "```suggestion" in body


def _contains(body: str, part: str) -> bool:
    return " ".join(part.split()) in " ".join(body.split())


def _is_own(thread: ReviewThread) -> bool:
    """Whether nobody but Forge said anything in it."""
    own = thread.comments[0].author_id
    return thread.is_whole and all(comment.author_id == own for comment in thread.comments)


async def resolve(services: Services, repository: RepositoryRef, number: int, finding: Finding) -> None:
    """Resolve the thread of a finding that a person settled with words, if nothing else is said there."""
    carried = await findings.load_by_comment(services.database, repository.id, number)
    for thread in await services.host.review_threads(repository, number):
        remark = carried.get(thread.comments[0].id, ()) if thread.comments else ()
        if thread.is_resolved or not any(_is_same(each, finding) for each in remark):
            continue
        others = [each.fingerprint for each in remark if not _is_same(each, finding)]
        dismissed = await dismissals.find_by_fingerprint(services.database, repository, others) if others else {}
        if all(each in dismissed for each in others):
            await reviews.resolve_thread(services, repository, thread.id)


def _is_same(one: Finding, other: Finding) -> bool:
    """A credential that moved is still the same one."""
    return one.fingerprint == other.fingerprint or (one.is_credential and one.trail == other.trail)


async def record_resolution(services: Services, guid: str, command: RecordThread, *, is_early: bool) -> JsonValue:
    """What a person says by resolving a thread, or by opening it again; what became of it.

    :param is_early: it may be looked at again.
    :raises Behind: if it is, and GitHub has not shown yet which comment carries which finding.
    """
    carried = await findings.load_by_comment(services.database, command.repository.id, command.number)
    remark = carried.get(command.root)
    if remark is None:
        if is_early and await findings.has_unplaced(services.database, command.repository.id, command.number):
            raise Behind("It is not known yet what this thread is about.", "Forge looks again.")
        return "not a thread of a finding"
    refused = await _find_refusal(services, command)
    if refused is not None:
        return refused
    if command.is_resolved:
        return await _dismiss(services, guid, command, remark)
    known = await dismissals.find_by_fingerprint(
        services.database, command.repository, [each.fingerprint for each in remark]
    )
    back = [each for each in remark if each.fingerprint in known and known[each.fingerprint].reason == RESOLVED]
    if not back:
        return "nothing to take back"
    now = services.clock.now()
    for finding in back:
        await dismissals.undo(services.database, command.repository, command.number, finding, command.sender, now)
    await update.update_verdict(services, command.repository, command.number, guid)
    return f"{_format_names(back)} {'counts' if len(back) == 1 else 'count'} again"


async def _find_refusal(services: Services, command: RecordThread) -> str | None:
    """Resolving a thread says what ``/forge dismiss`` says, so it needs the same permission."""
    standing = await load_actor(services, command.repository, command.number, command.sender)
    refused = authorise(Dismiss(reason=RESOLVED), standing.facts)
    return None if refused is None else f"only a hint: {refused.code.value}"


async def _dismiss(services: Services, guid: str, command: RecordThread, remark: Remark) -> str:
    """What still stands and is resolved without a change is dismissed; what is critical needs words."""
    review = await checkpoints.load_latest_review(services.database, command.repository.id, command.number)
    if review is None or review.head_sha != command.head_sha:
        return "the head is being reviewed"
    there = {each.fingerprint for each in (*review.findings, *review.in_history)}
    standing = [finding for finding in remark if finding.fingerprint in there]
    if not standing:
        return f"{_format_names(remark)} {'is' if len(remark) == 1 else 'are'} gone"
    meant = [each for each in standing if each.severity is not Severity.critical or each.category != Category.security]
    if not meant:
        return f"{_format_names(standing)} is critical: only a command dismisses it"
    where = (command.repository, command.number)
    taught = await dismiss(services, *where, tuple(meant), command.sender, RESOLVED, guid)
    text = command_texts.confirm_resolved_dismissal(meant, command.sender.login, taught)
    await comments.reply_in_thread(services, command.repository, command.number, command.root, guid, text)
    return f"{_format_names(meant)} {'is' if len(meant) == 1 else 'are'} dismissed"


def _format_names(remark: Sequence[Finding]) -> str:
    return ", ".join(finding.id for finding in remark)
