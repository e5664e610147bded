"""Posts one review of a pull request without a run: with any token, once for each head."""

from collections.abc import Sequence
from contextlib import suppress

from domain.errors import NotFound, Unprocessable
from domain.github.pull_requests import DraftReview, InlineComment, ReviewEvent
from domain.ports import CodeHost
from domain.review.findings import Finding
from domain.review.review import Remark, Review
from domain.runs.run import RepositoryRef
from domain.text.escaping import Markers
from domain.text.redaction import redact_outgoing
from domain.value import Value
from messages import single_review as texts
from messages.inline_comments import render_comment
from pipeline.publishing.reviews import choose_inline

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
    host: CodeHost, repository: RepositoryRef, number: int, review: Review, most: int, event: ReviewEvent
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
    host: CodeHost, repository: RepositoryRef, number: int, reviews: Sequence[int], review: Review
) -> list[Finding]:
    """The findings that have a comment in these reviews."""
    bodies: list[str] = []
    for review_id in reviews:
        with suppress(NotFound):  # a comment below the pull request that quotes a marker
            bodies += (await host.comments_of_review(repository, number, review_id)).values()
    named = texts.list_named(bodies)
    return [finding for finding in review.findings if finding.id in named]


class _SinglePost:
    """One review on its way to GitHub."""

    def __init__(
        self,
        host: CodeHost,
        repository: RepositoryRef,
        number: int,
        review: Review,
        before: Sequence[Finding],
        marker: str,
    ) -> None:
        self._host = host
        self._repository = repository
        self._number = number
        self._review = review
        self._before = before
        self._marker = marker

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
        named = (*self._before, *new)
        draft = DraftReview(
            head_sha=self._review.head_sha,
            body=_render_body(self._review, named, len(self._before), self._marker, note),
            comments=tuple(map(_build_comment, remarks)),
            event=event,
        )
        review_id = await self._host.create_review(self._repository, self._number, draft)
        return SinglePosted(review_id=review_id, comments=len(remarks), named=named, is_new=True, note=note)


_DOES = {
    ReviewEvent.comment: "comment",
    ReviewEvent.approve: "approve",
    ReviewEvent.request_changes: "request changes",
}


def _render_body(review: Review, named: Sequence[Finding], before: int, marker: str, note: str) -> str:
    """:param named: the findings with a comment."""
    known = {finding.fingerprint for finding in named}
    listed = [finding for finding in review.findings if finding.fingerprint not in known]
    return redact_outgoing(texts.render_single_body(review, listed, before, marker, note))


def _build_comment(remark: Remark) -> InlineComment:
    start, end = remark[0].comment_lines
    body = redact_outgoing(render_comment(remark, has_server=False))
    return InlineComment(path=remark[0].path, start_line=start, line=end, body=body)
