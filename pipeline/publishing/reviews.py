"""Posts reviews and their inline comments, with a run and without one, and settles the threads of these."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import structlog

from domain.errors import Behind, NotFound, Unprocessable
from domain.github.pull_requests import DraftReview, InlineComment, ReviewEvent
from domain.review.findings import Finding, Severity
from domain.review.review import Remark, Review, group_remarks
from domain.runs.run import RepositoryRef, Run
from domain.text.escaping import Markers
from domain.text.redaction import redact_outgoing
from domain.value import Value
from github.host import GitHubHost
from memory import findings
from memory.process import halts
from memory.runs import outbox
from messages import earlier_tests as earlier_texts
from messages import inline_comments as comment_texts
from messages import review as review_texts
from messages import single_review as texts
from pipeline.context import Services
from pipeline.publishing.publisher import Find, require_current, write_once

log = structlog.get_logger(__name__)

_KIND = "single"
_ANY = f"<!-- forge:{_KIND}:"
_MARKERS = Markers(b"a review without a server")
"""No key is kept between two reviews, so a marker counts only under the account that posts."""


class SinglePosted(Value):
    """What was posted.

    :param comments: how many inline comments were added.
    :param named: the findings that have a comment now, also an earlier one.
    :param is_new: false if the review of this head was there already; its text was then brought up to date.
    :param note: what people should know about it, in sentences.
    """

    review_id: int
    comments: int
    named: tuple[Finding, ...]
    is_new: bool
    note: str = ""


async def post_single_review(
    host: GitHubHost, repository: RepositoryRef, number: int, review: Review, most: int, event: ReviewEvent
) -> SinglePosted:
    """Post the review of a head, or bring the text of the one that is there up to date.

    Findings with a comment of an earlier review by the same account get no second one.

    :param most: inline comments at most.
    :param event: what the review is to GitHub; a comment where GitHub does not let this account say more.
    :raises CodeHostError: if GitHub lets the token post nothing, or cannot be reached. It may have been posted.
    """
    marker = _MARKERS.make(_KIND, review.head_sha)
    own = [each for each in await host.own_remarks(repository, number, with_reviews=True) if _ANY in each.body]
    there = next((each for each in own if marker in each.body), None)
    others = [each.id for each in own if each is not there]
    before = await _filter_named(host, repository, number, others, review)
    if there is not None:
        here = await _filter_named(host, repository, number, [there.id], review)
        body = _render_body(review, (*before, *here), len(before), marker, "")
        if body != there.body:
            await host.edit_review(repository, number, there.id, body)
        return SinglePosted(review_id=there.id, comments=0, named=(*before, *here), is_new=False)
    remarks = choose_inline(review, {finding.fingerprint for finding in before}, most)
    return await _SinglePost(host, repository, number, review, before, marker).post(remarks, event)


async def _filter_named(
    host: GitHubHost, repository: RepositoryRef, number: int, reviews: Sequence[int], review: Review
) -> list[Finding]:
    """The findings that have a comment in these reviews."""
    bodies: list[str] = []
    for review_id in reviews:
        with suppress(NotFound):  # a comment below the pull request that quotes a marker
            bodies += (await host.comments_of_review(repository, number, review_id)).values()
    named = texts.list_named(bodies)
    return [finding for finding in review.findings if finding.id in named]


def _render_body(review: Review, named: Sequence[Finding], before: int, marker: str, note: str) -> str:
    """:param named: the findings with a comment."""
    known = {finding.fingerprint for finding in named}
    listed = [finding for finding in review.findings if finding.fingerprint not in known]
    return redact_outgoing(texts.render_single_body(review, listed, before, marker, note))


@dataclass(frozen=True)
class _SinglePost:
    """One review on its way to GitHub."""

    host: GitHubHost
    repository: RepositoryRef
    number: int
    review: Review
    before: Sequence[Finding]
    marker: str

    async def post(self, remarks: Sequence[Remark], event: ReviewEvent) -> SinglePosted:
        """Post it as wanted; where GitHub refuses that, as a comment; where it refuses positions, without them."""
        ways = [(remarks, event, "")]
        if event is not ReviewEvent.comment:
            ways.append((remarks, ReviewEvent.comment, "GitHub did not let this account {}, so it comments only: {}"))
        if remarks:
            ways.append(((), ReviewEvent.comment, "GitHub did not accept the position of a comment."))
        said = ""
        refused: Unprocessable | None = None
        for comments, kind, why in ways:
            note = why.format(_DOES[event], said)
            try:
                return await self._create(comments, kind, note)
            except Unprocessable as error:
                refused, said = error, error.message
        assert refused is not None  # there is at least one way
        raise refused

    async def _create(self, remarks: Sequence[Remark], event: ReviewEvent, note: str) -> SinglePosted:
        new = [finding for remark in remarks for finding in remark]
        named = (*self.before, *new)
        draft = DraftReview(
            head_sha=self.review.head_sha,
            body=_render_body(self.review, named, len(self.before), self.marker, note),
            comments=tuple(_build_comment(each, has_server=False) for each in remarks),
            event=event,
        )
        review_id = await self.host.create_review(self.repository, self.number, draft)
        return SinglePosted(review_id=review_id, comments=len(remarks), named=named, is_new=True, note=note)


def _build_comment(remark: Remark, *, has_server: bool = True) -> InlineComment:
    """:param has_server: answers to it are heard."""
    start, end = remark[0].comment_lines
    body = redact_outgoing(comment_texts.render_comment(remark, has_server=has_server))
    return InlineComment(path=remark[0].path, start_line=start, line=end, body=body)


_DOES = {
    ReviewEvent.comment: "comment",
    ReviewEvent.approve: "approve",
    ReviewEvent.request_changes: "request changes",
}


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
    find = partial(services.host.find_review, run.repository, run.number, marker)

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
