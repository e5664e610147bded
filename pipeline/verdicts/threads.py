"""Settles the threads of Forge's comments as their findings change, and takes out of a verdict what is gone."""

import re
from collections.abc import Collection, Mapping, Sequence

import structlog

from domain.errors import Forbidden, NotFound, Unprocessable
from domain.github.conversation import ReviewThread
from domain.review.feedback import drop_graver
from domain.review.findings import Finding
from domain.review.review import Remark, Review
from domain.runs.run import RepositoryRef, Run, RunState
from domain.text.escaping import suggestion_block
from memory import findings
from memory.learned import feedback
from memory.runs import checkpoints, instructions, model_answers, runs
from messages import inline_comments as comment_texts
from pipeline.context import Services
from pipeline.publishing import reviews
from pipeline.run_context import RunContext
from pipeline.verdicts.update import update_verdict
from safety.suppression import is_gone, is_present

log = structlog.get_logger(__name__)

_SAYS_NOTHING = re.compile(r"\s*(?:/forge[ \t]+(?:explain|why|help|view|diff|history|fix)\b[^\n]*\s*)+", re.IGNORECASE)
"""A comment of commands that only show something, or have Forge fix it."""
_MOST = 30  # instructions of a pull request that are looked at


async def settle_gone(context: RunContext, gone: Mapping[str, str]) -> None:
    """Settle findings of the review of a head; may be repeated. A review that is under way does it when it ends.

    :param context: of the run for which somebody looked; its head is the one on which they are gone.
    :param gone: fingerprint → name.
    """
    database, run = context.database, context.run
    await model_answers.keep(database, run, model_answers.GONE, dict(gone), context.now())
    last = await runs.find_newest(database, run.repository.id, run.number)
    if last is not None and last.state is RunState.completed and last.head_sha == run.head_sha:
        await _settle(context.services, last, gone)


async def settle_found_gone(services: Services, reviewed: Run) -> None:
    """Settle what instructions found to be gone while the head they worked on was reviewed; may be repeated."""
    newest = await instructions.list_newest(services.database, reviewed.repository.id, reviewed.number, _MOST)
    here = [run.id for run in newest if run.head_sha == reviewed.head_sha and run.id > reviewed.id]
    found = await model_answers.find_all(services.database, here, model_answers.GONE)
    gone = {fingerprint: name for each in found.values() for fingerprint, name in each.items()}
    if gone:
        await _settle(services, reviewed, gone)


async def _settle(services: Services, reviewed: Run, gone: Mapping[str, str]) -> None:
    while (review := await checkpoints.load_review(services.database, reviewed)) is not None:
        left = review.model_copy(
            update={"findings": tuple(each for each in review.findings if each.fingerprint not in gone)}
        )
        if await checkpoints.replace_review(services.database, reviewed, review, left, services.clock.now()):
            break
    await update_verdict(services, reviewed.repository, reviewed.number, f"{reviewed.id} settled")
    after = await checkpoints.load_review(services.database, reviewed)
    if after is not None:
        await settle(services, reviewed, after, list(gone.values()))


async def settle(
    services: Services, run: Run, review: Review, gone: Collection[str] = (), passing: Collection[str] = ()
) -> Sequence[str]:
    """Mark the comments of findings that are gone as outdated, and resolve their threads; the findings' names.

    A thread with replies stays open, but its suggestion is removed. If a finding is back, Forge opens its thread
    again, unless a person resolved it. If GitHub refuses to change one thread, the others are still settled.

    :param gone: names of layer 3's findings that the model called gone when it read the new lines.
    :param passing: names of those whose test, which showed them, passes now.
    """
    carried = await findings.load_by_comment(services.database, run.repository.id, run.number)
    if not carried:
        return []
    known = {finding.fingerprint for remark in carried.values() for finding in remark}
    settled, called = list[str](), {*gone, *passing}
    for thread in await services.host.review_threads(run.repository, run.number):
        remark = carried.get(thread.comments[0].id, ()) if thread.comments else ()
        over = [finding for finding in remark if is_gone(finding, review, known, called_gone=finding.id in called)]
        if remark:
            try:
                settled += await _settle_thread(services, run, review, thread, remark, over, passing)
            except (Forbidden, NotFound, Unprocessable) as error:
                log.warning("thread.not_settled", run=run.id, thread=thread.id, error=str(error))
    return settled


async def _settle_thread(
    services: Services,
    run: Run,
    review: Review,
    thread: ReviewThread,
    remark: Remark,
    over: Sequence[Finding],
    passing: Collection[str],
) -> Sequence[str]:
    """Bring one thread up to date; the names of the findings that it settles.

    :param over: the findings of its comment that are gone; :param passing: names of those whose test passes.
    """
    first = thread.comments[0]
    wanted = _render_comment(first.body, remark, {finding.id for finding in over}, review, passing)
    if wanted is not None:
        await reviews.edit_comment(services, run, first.id, wanted)
    if thread.is_resolved and thread.resolved_by in {None, first.author_id}:
        await _reopen(services, run, review, thread, remark)
    if not over or not _is_own(thread):
        return []
    others = [finding.fingerprint for finding in remark if finding not in over]
    dismissed = await feedback.find_dismissed(services.database, run.repository, run.number, others)
    if len(dismissed) == len(others) and not thread.is_resolved:
        await reviews.resolve_thread(services, run.repository, thread.id)
    return [finding.id for finding in over]


async def _reopen(services: Services, run: Run, review: Review, thread: ReviewThread, remark: Remark) -> None:
    """Open a thread that Forge resolved if one of its findings counts again and nobody dismissed it since."""
    here = {each.fingerprint for each in remark}
    back = [each for each in review.findings if each.fingerprint in here]
    names = {each.fingerprint for each in back}
    dismissed = await feedback.find_dismissed(services.database, run.repository, run.number, names)
    if names - drop_graver(dismissed, back).keys():
        await reviews.reopen_thread(services, run.repository, thread.id)


def _render_comment(
    body: str, remark: Remark, gone: Collection[str], review: Review, passing: Collection[str]
) -> str | None:
    """The new text of a comment; None if its text is right, apart from lines that moved."""
    is_over, remark = body.startswith(comment_texts.OUTDATED), comment_texts.sort_as_listed(remark, body)
    if len(gone) == len(remark):
        return None if is_over else comment_texts.render_outdated(remark, review.head_sha, passing)
    first, *others = (_update_finding(finding, review, body) for finding in remark)
    if others:
        wanted = comment_texts.render_comment((first, *others), gone)
        return None if comment_texts.strip_line_numbers(wanted) == comment_texts.strip_line_numbers(body) else wanted
    is_back = is_over and is_present(first, review)
    offers_another = first.fix is None and "```suggestion" in body
    return comment_texts.render_comment((first,)) if is_back or offers_another else None


def _update_finding(finding: Finding, review: Review, body: str) -> Finding:
    """The finding as posted. It keeps its fix only if the comment offers exactly that fix and it still fits."""
    current = next((each for each in review.all_findings if each.fingerprint == finding.fingerprint), finding)
    is_offered = current.fix is not None and _contains(body, suggestion_block(current.fix.replacement))
    return finding if is_offered else finding.model_copy(update={"fix": None})


def _contains(body: str, part: str) -> bool:
    return " ".join(part.split()) in " ".join(body.split())


def _is_own(thread: ReviewThread) -> bool:
    """Whether only Forge commented in it, and people who had it explain itself, or fix it."""
    own = thread.comments[0].author_id
    return thread.is_whole and all(
        comment.author_id == own or _SAYS_NOTHING.fullmatch(comment.body) is not None for comment in thread.comments
    )


async def resolve(services: Services, repository: RepositoryRef, number: int, finding: Finding) -> None:
    """Resolve the thread of a finding that a person dismissed in words, if its comment has no other that counts."""
    carried = await findings.load_by_comment(services.database, repository.id, number)
    review = await checkpoints.load_latest_review(services.database, repository.id, number)
    for thread in await services.host.review_threads(repository, number):
        remark = carried.get(thread.comments[0].id, ()) if thread.comments else ()
        if thread.is_resolved or not any(_is_same(each, finding) for each in remark):
            continue
        others = [each for each in remark if not _is_same(each, finding) and _may_count(each, review)]
        dismissed = await feedback.find_dismissed(
            services.database, repository, number, [each.fingerprint for each in others]
        )
        if all(each.fingerprint in dismissed for each in others):
            await reviews.resolve_thread(services, repository, thread.id)


def _may_count(finding: Finding, review: Review | None) -> bool:
    """Whether the newest review found it, perhaps elsewhere; without one nobody knows. A credential always may."""
    there = () if review is None else review.all_findings
    is_there = any(finding.fingerprint == each.fingerprint or finding.trail == each.trail for each in there)
    return review is None or finding.is_credential or is_there


def _is_same(one: Finding, other: Finding) -> bool:
    """A credential that moved is still the same."""
    return one.fingerprint == other.fingerprint or (one.is_credential and one.trail == other.trail)
