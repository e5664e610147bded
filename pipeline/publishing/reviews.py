"""Posts reviews and their inline comments, and settles the threads of these."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress

import structlog

from domain.errors import Behind, NotFound, Unprocessable
from domain.github.pull_requests import DraftReview, InlineComment
from domain.review.findings import Severity
from domain.review.inline_comments import Remark, group_remarks
from domain.review.review import Review
from domain.runs.run import RepositoryRef, Run
from domain.text.redaction import redact_outgoing
from domain.value import Value
from memory import findings
from memory.process import halts
from memory.runs import outbox
from messages import earlier_tests as earlier_texts
from messages import inline_comments as comment_texts
from messages import review as review_texts
from pipeline.context import Services
from pipeline.publishing.publisher import Find, require_current, write_once

log = structlog.get_logger(__name__)


class PostedReview(Value):
    """The outcome of posting a run's review; in journals.

    :param unposted: why there are no comments.
    :param told: the verdict that its body tells; None: there is no body, or it was posted before.
    :param review_id: of a review whose comments GitHub did not all show at once; otherwise 0.
    :param comments: how many it has.
    """

    unposted: str | None = None
    told: str | None = None
    review_id: int = 0
    comments: int = 0


def choose_inline(review: Review, posted_before: Collection[str], most: int) -> list[Remark]:
    """The inline comments: of new findings, on lines of the diff, the gravest first.

    Findings of severity info get a comment only if it has a tool's fix to click on; the others are in the check.

    :param posted_before: fingerprints of findings that have a comment from an earlier review.
    :param most: the repository's limit per review.
    """
    new = [finding for finding in review.findings if finding.on_diff and finding.fingerprint not in posted_before]
    told = [finding for finding in new if not finding.is_note]
    worth = [finding for finding in told if finding.severity is not Severity.info or finding.fix is not None]
    return group_remarks(sorted(worth, key=lambda finding: finding.sort_key))[:most]


async def post_review(
    services: Services, run: Run, review: Review, remarks: Sequence[Remark], posted_before: int
) -> PostedReview:
    """Post the review of this run with a comment for each remark, and record which comment is about what.

    :param review: with the verdict as it will be shown, so that its body and the check say one thing.
    :param posted_before: how many findings have a comment from an earlier review.
    """
    marker = services.markers.make("review", run.id)
    inline = [finding for remark in remarks for finding in remark]
    body = review_texts.render_body(review, inline, posted_before, marker)
    unplaced = review_texts.render_unplaced_body(review, inline, marker)
    return await _post(services, run, "review", remarks, marker, (body, unplaced), review_texts.tell_outcome(review))


async def retell(services: Services, run: Run, tell: Callable[[str], str]) -> bool:
    """Change the body of the run's review; whether the run posted one. May be repeated.

    :param tell: the new body for the one that is there.
    """
    review_id = await outbox.find_remote_id(services.database, run.id, "review", "review")
    if not review_id:
        return False
    await halts.require_none(services.database)
    with suppress(NotFound):
        body = await services.host.review_body(run.repository, run.number, review_id)
        changed = tell(body)
        if changed != body:
            await services.host.edit_review(run.repository, run.number, review_id, changed)
    return True


async def retell_verdict(services: Services, run: Run, review: Review) -> None:
    """Let the body of the run's review tell the verdict of now; may be repeated."""
    told = review_texts.tell_outcome(review)
    await retell(services, run, lambda body: review_texts.replace_outcome(body, told))


async def post_lost_tests(services: Services, run: Run, review: Review, remarks: Sequence[Remark]) -> PostedReview:
    """Post what the tests of before say, which is known only after the review is posted.

    :param remarks: about tests that fail and that nothing stands in for.
    """
    marker = services.markers.make("earlier-tests", run.id)
    inline = [finding for remark in remarks for finding in remark]
    lost = () if review.earlier is None else review.earlier.lost
    body = earlier_texts.render_lost_body(lost, marker)
    unplaced = review_texts.render_unplaced_body(review, inline, marker)
    return await _post(services, run, "earlier tests", remarks, marker, (body, unplaced))


async def _post(
    services: Services,
    run: Run,
    step: str,
    remarks: Sequence[Remark],
    marker: str,
    bodies: tuple[str, str],
    outcome: str = "",
) -> PostedReview:
    """Post a review once.

    :param step: names it in the outbox.
    :param bodies: with the comments, and where GitHub does not take their places.
    :param outcome: the verdict that they tell.
    """
    told: str | None = None
    unplaced: str | None = None
    placed = 0  # of a review that is found after a crash; GitHub may have refused its comments
    inline = [finding for remark in remarks for finding in remark]
    draft = DraftReview(
        head_sha=run.head_sha,
        body=redact_outgoing(bodies[0]),
        comments=tuple(_build_comment(remark) for remark in remarks),
    )

    async def find() -> int | None:
        return await services.host.find_review(run.repository, run.number, marker)

    async def create() -> int:
        nonlocal placed, told, unplaced
        told = outcome
        try:
            review_id = await services.host.create_review(run.repository, run.number, draft)
            placed = len(remarks)
            return review_id
        except Unprocessable:
            unplaced = review_texts.UNPLACED
            plain = draft.model_copy(update={"body": redact_outgoing(bodies[1]), "comments": ()})
            return await services.host.create_review(run.repository, run.number, plain)

    review_id = await write_once(services, run, step, "review", create, find=find)
    await findings.mark_posted(services.database, run, [finding.fingerprint for finding in inline])
    try:
        await record_comments(services, run, remarks, review_id, placed)
    except Behind:  # the verdict does not wait for that
        return PostedReview(told=told, review_id=review_id, comments=placed)
    return PostedReview(unposted=unplaced, told=told)


async def record_comments(
    services: Services, run: Run, remarks: Sequence[Remark], review_id: int, expected: int
) -> None:
    """Record which comments of the run's review are about which findings, so that their threads can be settled.

    :param expected: how many comments the review must have.
    :raises Behind: if GitHub does not show as many yet. Those it shows are recorded.
    """
    bodies: Mapping[int, str] = {}
    with suppress(NotFound):
        bodies = await services.host.comments_of_review(run.repository, run.number, review_id)
    about = [(comment, remark) for remark in remarks for comment, body in bodies.items() if remark[0].id in body]
    named = {finding.id: comment for comment, remark in about for finding in remark}
    await findings.note_comments(services.database, run, named)
    if len(about) < expected:
        raise Behind(f"GitHub does not show yet what was posted on #{run.number}.", "Forge looks again.")


async def edit_comment(services: Services, run: Run, comment_id: int, text: str) -> None:
    """Change an inline comment; may be repeated.

    :raises Superseded: if another run owns the pull request.
    """
    await require_current(services, run)
    try:
        await services.host.edit_review_comment(run.repository, comment_id, redact_outgoing(text))
    except NotFound:  # a person deleted it, and it stays deleted
        log.info("remark.gone", run=run.id, comment=comment_id)


async def resolve_thread(services: Services, repository: RepositoryRef, thread_id: str) -> None:
    """Resolve a review thread; may be repeated."""
    await services.host.resolve_thread(repository, thread_id)


async def reopen_thread(services: Services, repository: RepositoryRef, thread_id: str) -> None:
    """Open a resolved review thread again; may be repeated."""
    await services.host.unresolve_thread(repository, thread_id)


async def approve_once(services: Services, run: Run, step: str, body: str, *, find: Find) -> int:
    """Approve exactly the head of a run, once; the review's id.

    :param find: finds an approval that must not be repeated, whoever gave it.
    """

    async def approve() -> int:
        given = await find()
        return given or await services.host.approve(run.repository, run.number, run.head_sha, redact_outgoing(body))

    return await write_once(services, run, step, "review", approve, find=find)


async def dismiss_approval(services: Services, run: Run, review_id: int, text: str) -> None:
    """Dismiss an approval of Forge, and record that no person did.

    :raises Unprocessable: if it is dismissed already.
    :raises Halted: if the operator told Forge to stop.
    """
    await halts.require_none(services.database)
    await services.host.dismiss_approval(run.repository, run.number, review_id, text)
    await outbox.record_withdrawal(services.database, run, review_id, services.clock.now())


def _build_comment(remark: Remark) -> InlineComment:
    start, end = remark[0].comment_lines
    return InlineComment(
        path=remark[0].path, start_line=start, line=end, body=redact_outgoing(comment_texts.render_comment(remark))
    )
