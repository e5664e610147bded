"""Reads and resolves the threads of Forge's own comments (DESIGN §6)."""

from collections.abc import Collection, Sequence

from pydantic import JsonValue

from domain import replies
from domain.commands import NoteThread
from domain.conversation import ReviewThread
from domain.findings import Category, Finding, Layer, Severity
from domain.review import Review
from domain.runs import RepositoryRef, Run
from domain.slash import Dismiss
from memory import checkpoints, dismissals, findings
from pipeline import reconclude
from pipeline.dismissing import dismiss
from pipeline.services import Services
from pipeline.standing import look
from safety.authority import authorise

RESOLVED = "resolved without a change"


async def settle(services: Services, run: Run, review: Review, gone: Collection[str] = ()) -> Sequence[str]:
    """Resolve the threads of findings that are gone; the findings' names.

    :param gone: names of layer 3's findings that the model called gone when it read the new lines.
    """
    carried = await findings.by_comment(services.database, run.repository.id, run.number)
    if not carried:
        return []
    settled: list[str] = []
    for thread in await services.host.review_threads(run.repository, run.number):
        finding = carried.get(thread.comments[0].id) if thread.comments else None
        if finding is not None and _is_done(thread, finding, review, gone):
            await services.host.resolve_thread(run.repository, thread.id)
            settled.append(finding.id)
    return settled


async def resolve(services: Services, repository: RepositoryRef, number: int, finding: Finding) -> None:
    """Resolve the thread of a finding that a person settled with words."""
    carried = await findings.by_comment(services.database, repository.id, number)
    for thread in await services.host.review_threads(repository, number):
        about = carried.get(thread.comments[0].id) if thread.comments else None
        if about is not None and _is_same(about, finding) and not thread.is_resolved:
            await services.host.resolve_thread(repository, thread.id)


def _is_same(one: Finding, other: Finding) -> bool:
    """A credential that moved is still the same one."""
    return one.fingerprint == other.fingerprint or (one.is_credential and one.trail == other.trail)


def _is_done(thread: ReviewThread, finding: Finding, review: Review, gone: Collection[str]) -> bool:
    """DESIGN §6: the finding is gone, GitHub calls the thread outdated, and no person replied after it.

    A credential is never gone: it is in the history when its line is deleted, and only a person knows it is revoked.
    """
    there = {known for each in review.found for known in (each.fingerprint, each.trail)}
    own = thread.comments[0].author_id
    return (
        not thread.is_resolved
        and not finding.is_credential
        and thread.is_outdated
        and thread.is_whole
        and finding.fingerprint not in there
        and finding.trail not in there
        and (finding.layer is not Layer.model or finding.id in gone)
        and all(comment.author_id == own for comment in thread.comments)
    )


async def note(services: Services, guid: str, command: NoteThread) -> JsonValue:
    """What a person says by resolving a thread, or by opening it again; what became of it."""
    carried = await findings.by_comment(services.database, command.repository.id, command.number)
    finding = carried.get(command.root)
    if finding is None:
        return "not a thread of a finding"
    refused = await _refusal(services, command)
    if refused is not None:
        return refused
    if command.is_resolved:
        return await _dismiss(services, guid, command, finding)
    known = (await dismissals.among(services.database, command.repository, [finding.fingerprint])).get(
        finding.fingerprint
    )
    if known is None or known.reason != RESOLVED:
        return "nothing to take back"
    now = services.clock.now()
    await dismissals.undo(services.database, command.repository, command.number, finding, command.sender, now)
    await reconclude.check(services, command.repository, command.number, guid)
    return f"{finding.id} counts again"


async def _refusal(services: Services, command: NoteThread) -> str | None:
    """Resolving a thread says what ``/forge dismiss`` says, so it needs the same permission."""
    standing = await look(services, command.repository, command.number, command.sender)
    refused = authorise(Dismiss(reason=RESOLVED), standing.facts)
    return None if refused is None else f"only a hint: {refused.code.value}"


async def _dismiss(services: Services, guid: str, command: NoteThread, finding: Finding) -> str:
    """A finding that still stands and is resolved without a change is dismissed; a critical one needs words."""
    review = await checkpoints.latest_review(services.database, command.repository.id, command.number)
    if review is None or review.head_sha != command.head_sha:
        return "the head is being reviewed"
    if finding.fingerprint not in {each.fingerprint for each in (*review.findings, *review.in_history)}:
        return f"{finding.id} is gone"
    if finding.severity is Severity.critical and finding.category is Category.security:
        return f"{finding.id} is critical: only a command dismisses it"
    where = (command.repository, command.number)
    taught = await dismiss(services, *where, finding, command.sender, RESOLVED, guid)
    text = replies.dismissed_by_resolving(finding, command.sender.login, taught)
    await services.publisher.reply_in_thread(command.repository, command.number, command.root, guid, text)
    return f"{finding.id} is dismissed"
