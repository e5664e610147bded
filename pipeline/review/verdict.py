"""Carries the review of a run from its analysis to the verdict: comments, questions to people, check."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from functools import partial

import structlog

from agents.review.layers import CheckedChange, ModelPart
from domain.errors import Forbidden, ForgeError
from domain.review.findings import Finding, Layer
from domain.review.review import Conclusion, Decision, Remark, Review
from domain.runs.earlier_tests import EarlierTests
from domain.runs.run import Run
from memory import findings
from memory.runs import checkpoints
from messages import automation as automation_texts
from messages import review as review_texts
from pipeline.checkout import fetch_mirror, load_change
from pipeline.context import Services
from pipeline.publishing import reviews
from pipeline.publishing.reviews import PostedReview
from pipeline.review import status
from pipeline.review.analysis import build_review
from pipeline.run_context import RunContext, run_while_current
from pipeline.verdicts.approval import withdraw_approvals
from pipeline.verdicts.earlier_tests import RULE, EarlierTestRuns, find_lost_tests, refuse_fork
from pipeline.verdicts.gates import GatesOutcome, ReviewGates
from pipeline.verdicts.rendering import render_verdict
from pipeline.verdicts.settings import RunSettings

log = structlog.get_logger(__name__)


class ReviewVerdict:
    """The review of one run, as one execution of the run carries it from step to step.

    One execution reads the checkpoint in the first step that it makes itself. A test run beside it may add to that
    until people are asked, so it is read again there. Every step may be repeated after a crash.
    """

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._services = context.services
        self._run = context.run
        self._review: Review | None = None

    async def is_reviewed(self) -> bool:
        """Whether the review phase was completed before, such as ahead of a gate."""
        self._review = await checkpoints.load_review(self._services.database, self._run)
        return self._review is not None

    async def build(self, checked: CheckedChange, model: ModelPart) -> Decision:
        """Build the review from all layers, and keep it as the phase's checkpoint."""
        self._review = await build_review(self._services, self._run, checked, model)
        return self._review.decision

    async def post(self, settings: RunSettings) -> PostedReview:
        """Post the review's comments; or why GitHub or the repository does not want them."""
        services, run, review = self._services, self._run, await self._get_review()
        chosen, earlier = await choose_remarks(services, run, review, settings)
        remarks = [remark for remark in chosen if not _is_about_lost_test(remark)]  # which are posted by themselves
        asking = ReviewGates(services, run, settings.configuration, settings.pull_request)
        shown = await asking.expect_verdict(review)
        post = partial(reviews.post_review, services, run, shown, remarks, len(earlier))
        return await self._post(settings, remarks, post)

    async def ask_earlier_tests(self, settings: RunSettings) -> bool:
        """Add to the review what the tests of before say of its code; whether any of them has to be told.

        Until then the check shows the verdict so far, and nobody approves or merges.
        """
        services, run, review = self._services, self._run, await self._get_review()
        if review.earlier is None:  # nor asked at this head before, such as ahead of a gate
            asking = self._run_earlier_tests(settings, review)
            said, found = await run_while_current(services, run, asking)
            now = services.clock.now()
            self._review = await checkpoints.add_earlier_tests(services.database, run, said, found, now)
        return bool(await self._choose_lost(settings))

    async def post_lost_tests(self, settings: RunSettings) -> PostedReview:
        """Post comments on the tests that fail and that nothing stands in for."""
        services, run, review = self._services, self._run, await self._get_review()
        remarks = await self._choose_lost(settings)
        return await self._post(settings, remarks, partial(reviews.post_lost_tests, services, run, review, remarks))

    async def ask_people(self, settings: RunSettings) -> GatesOutcome:
        """Ask people what the review has to ask; their answers make the verdict, for this and later executions."""
        services, run = self._services, self._run
        asking = ReviewGates(services, run, settings.configuration, settings.pull_request)
        while True:  # a test run beside this one may add to the review
            review = await load_review(services, run)
            outcome, self._review = await asking.ask_people(review)
            if await checkpoints.replace_review(services.database, run, review, self._review, services.clock.now()):
                return outcome

    async def conclude(self, settings: RunSettings, unposted: str | None, told: str | None) -> Conclusion:
        """Show the verdict in the check, and in the body of the review, if that tells another one.

        :param unposted: why there are no comments.
        :param told: what the body tells; None: nobody knows.
        """
        services, run = self._services, self._run
        if unposted is not None or told is not None:  # otherwise an earlier execution knew
            self._review = await checkpoints.keep_unposted(services.database, run, unposted or "")
        review = await self._get_review()
        remarks, earlier = await choose_remarks(services, run, review, settings)
        is_silent = bool(review.unposted) or settings.configuration.review.dry_run
        inline = [finding for remark in remarks for finding in remark if not is_silent]
        commented = {finding.id for finding in inline}.union(earlier)
        bare = [finding for finding in review.findings if finding.id not in commented]
        text = await render_verdict(services, run, review, settings, inline, len(earlier))
        await status.conclude_or_change(self._context, review.conclusion, text, bare)
        if told != review_texts.tell_outcome(review):
            await reviews.retell_verdict(services, run, review)
        if review.decision is not Decision.approve:
            await withdraw_approvals(services, run, all_of_them=True)
        return review.conclusion

    async def _post(
        self, settings: RunSettings, remarks: Sequence[Remark], post: Callable[[], Awaitable[PostedReview]]
    ) -> PostedReview:
        if remarks and not await status.may_comment(self._context, settings.configuration):
            return PostedReview(unposted=automation_texts.NO_COMMENTS)
        if not remarks or settings.configuration.review.dry_run:
            return PostedReview()
        try:
            return await post()
        except Forbidden as error:
            log.warning("review.unposted", run=self._run.id, error=str(error))
            return PostedReview(unposted=review_texts.explain_unposted(error))

    async def _choose_lost(self, settings: RunSettings) -> Sequence[Remark]:
        """The comments on tests that fail, but for those that an earlier review has."""
        remarks, _ = await choose_remarks(self._services, self._run, await self._get_review(), settings)
        return [remark for remark in remarks if _is_about_lost_test(remark)]

    async def _run_earlier_tests(
        self, settings: RunSettings, review: Review
    ) -> tuple[EarlierTests, tuple[Finding, ...]]:
        services, run, configuration = self._services, self._run, settings.configuration
        mirror = await fetch_mirror(services, run)
        change = await load_change(mirror, run)
        said = await refuse_fork(services, run, settings.pull_request, change)
        if said is None:
            shown = await choose_remarks(services, run, review, settings)
            tell = partial(self._show_so_far, review, *shown)
            said = await EarlierTestRuns(services, run, configuration, tell).find_or_run(mirror, change)
        return said, await find_lost_tests(services, run, configuration, change, said)

    async def _show_so_far(
        self, review: Review, remarks: Sequence[Remark], earlier: Collection[str], doing: str
    ) -> None:
        inline = [finding for remark in remarks for finding in remark]
        status.show_so_far(self._context, review_texts.render_earlier_tests(review, inline, len(earlier), doing))

    async def _get_review(self) -> Review:
        if self._review is None:
            self._review = await load_review(self._services, self._run)
        return self._review


def _is_about_lost_test(remark: Remark) -> bool:
    return remark[0].rule == RULE and remark[0].layer is Layer.static


async def choose_remarks(
    services: Services, run: Run, review: Review, settings: RunSettings
) -> tuple[Sequence[Remark], Collection[str]]:
    """What the comments of a review say, and which of its findings (their ids) have a comment from an earlier one."""
    posted = await findings.load_posted_before(services.database, run)
    remarks = reviews.choose_inline(review, posted, settings.configuration.review.max_comments)
    return remarks, {finding.id for finding in review.findings if finding.fingerprint in posted}


async def load_review(services: Services, run: Run) -> Review:
    """The review of a run from its checkpoint.

    :raises ForgeError: if it was deleted.
    """
    review = await checkpoints.load_review(services.database, run)
    if review is None:
        raise ForgeError("The checkpoint of the review phase is gone.", "Press Review again.")
    return review
