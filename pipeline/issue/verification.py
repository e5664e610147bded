"""Looks where the pull request of an issue's run stands: whose its head is, and what its review came to."""

import asyncio
from collections.abc import Sequence

from pydantic import JsonValue

from agents.testing import missing_tests
from domain.config.configuration import Configuration
from domain.github.pull_requests import ChangeRequest, PullRequest
from domain.review.findings import Finding, Severity
from domain.review.review import Conclusion, Review, RiskLevel
from domain.runs.next_step import MAX_SEND_BACKS, HeadOwner, PullRequestState, ReviewState, SendBack, VerificationState
from domain.runs.run import Phase, ReasonCode, Run, RunState
from domain.runs.task_result import RequiredFix
from domain.runs.testing import Verdict
from memory.runs import checkpoints, runs
from messages import tests as test_texts
from messages.pull_request import VerifiedResult
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.gates.ask import list_conditions
from pipeline.issue.implementation import BuiltChange
from pipeline.issue.pull_request import OpenedPullRequest
from pipeline.issue.testing import HeadTester, HeadTestResult
from pipeline.runs.lifecycle import answer_nothing
from safety.authorization import refuse_role

_POLL_SECONDS = 0.1  # seconds between two looks whether a review is over
_WORTH_MENDING = Severity.warning.rank


class Verification:
    """What is known of one pull request of Forge's own.

    :param level: how risky its plan is.
    """

    def __init__(
        self,
        services: Services,
        journal: WorkflowJournal,
        run: Run,
        opened: OpenedPullRequest,
        configuration: Configuration,
        level: RiskLevel,
    ) -> None:
        self._services = services
        self._journal = journal
        self._run = run
        self.opened = opened
        self._configuration = configuration
        self._level = level

    async def load_state(self, built: BuiltChange, bounces: Sequence[SendBack]) -> JsonValue:
        """How it stands now, as JSON of :class:`PullRequestState`; a review that is over in a moment is waited for."""
        standing = await self._load_live_state(built)
        if standing.is_open and standing.head is HeadOwner.run:
            reviewed = await self._wait_for_review(built.head)
            standing = (await self._load_live_state(built)).model_copy(update=reviewed)  # anew: that took a moment
        if standing.reviewed in {ReviewState.approved, ReviewState.changes}:
            standing = await self._add_change_requests(standing, built.head)
        if standing.reviewed is ReviewState.approved:
            tested = await self._load_tests(built.head)
            standing = standing.model_copy(update={**_judge_tests(tested, bounces), "failing": _count_failures(tested)})
        return standing.model_dump(mode="json")

    async def _load_live_state(self, built: BuiltChange) -> PullRequestState:
        live = await self._services.host.pull_request(self._run.repository, self.opened.number)
        return PullRequestState(is_open=live.is_open, is_merged=live.is_merged, head=_find_owner(live, built))

    async def _add_change_requests(self, standing: PullRequestState, head: str) -> PullRequestState:
        """With what those ask to be changed who may write here, first."""
        host, repository = self._services.host, self._run.repository
        asked: list[RequiredFix] = []
        for request in await host.change_requests(repository, self.opened.number, head):
            if refuse_role(await host.permission(repository, request.login, request.account_id), "write") is None:
                asked += _list_requested_changes(request)
        if not asked:
            return standing
        return standing.model_copy(update={"reviewed": ReviewState.changes, "to_fix": (*asked, *standing.to_fix)})

    async def test(self, built: BuiltChange) -> bool:
        """Test the head, once; whether that came to an end."""
        attempt = len(built.mended) + 1
        testing = HeadTester(
            self._services, self._journal, self._run, self._configuration, built.head, "by the run", attempt
        )
        tested = await testing.test(self._level)
        if tested is not None:
            await self._journal.step("keep the tests", lambda: answer_nothing(self._save_tests(tested)))
        return tested is not None

    async def build_result(self, built: BuiltChange, bounces: int) -> VerifiedResult:
        """What is left of the review, and how the tests ended, for the description."""
        last = await self._find_newest_review(built.head)
        review = None if last is None else await checkpoints.load_review(self._services.database, last)
        tested = await self._load_tests(built.head)
        covered = None if tested is None else tested.run.diff_coverage
        return VerifiedResult(
            left=[f"{each.where} {each.rule}" for each in (review.findings if review else ())],
            tests="" if tested is None else test_texts.render_outcome(tested.run).title,
            coverage=None if covered is None else covered.share,
            bounces=bounces,
            conditions=await list_conditions(self._services, self._run, proposed=True),
        )

    async def _save_tests(self, tested: HeadTestResult) -> None:
        now = self._services.clock.now()
        await checkpoints.save_tests(self._services.database, self._run, tested.model_dump(mode="json"), now)

    async def _load_tests(self, head: str) -> HeadTestResult | None:
        kept = await checkpoints.load_tests(self._services.database, self._run)
        tested = None if kept is None else HeadTestResult.model_validate(kept)
        return tested if tested is not None and tested.head == head else None

    async def _find_newest_review(self, head: str) -> Run | None:
        """The newest run of the review on a head."""
        past = await runs.list_for_pull_request(self._services.database, self._run.repository.id, self.opened.number)
        return next((each.run for each in past if each.run.head_sha == head), None)

    async def _wait_for_review(self, head: str) -> dict[str, object]:
        """What the review came to, which is waited for as long as that is not worth telling people of.

        A run that gives up its place meanwhile reads everything anew when it has its turn again.
        """
        now = asyncio.get_running_loop().time
        until = now() + self._services.progress_delay
        reviewed = await self._load_review_state(head)
        while reviewed.get("reviewed", ReviewState.pending) is ReviewState.pending and now() < until:
            await asyncio.sleep(_POLL_SECONDS)
            reviewed = await self._load_review_state(head)
        return reviewed

    async def _load_review_state(self, head: str) -> dict[str, object]:
        last = await self._find_newest_review(head)
        if last is None or last.reason is ReasonCode.superseded:
            return {}
        review = await checkpoints.load_review(self._services.database, last)
        reviewed = _judge_review(last, review)
        to_fix = _list_to_fix(review.findings) if review is not None and reviewed is ReviewState.changes else ()
        return {"reviewed": reviewed, "to_fix": to_fix}


def _judge_tests(tested: HeadTestResult | None, bounces: Sequence[SendBack]) -> dict[str, object]:
    """What the tests came to. Those that were taken away are asked back; those that are missing are asked for once."""
    if tested is None:
        return {}
    if tested.verdict is Verdict.failed:
        is_fixable = bool(tested.to_fix)
        to_fix = tested.to_fix if is_fixable else tested.failures
        return {
            "tested": VerificationState.failed if is_fixable else VerificationState.unfixable,
            "to_fix": (*to_fix, *tested.weakened),
        }
    if tested.weakened:
        return {"tested": VerificationState.failed, "to_fix": tested.weakened}
    asked_before = any(each.rule == missing_tests.MISSING for bounce in bounces for each in bounce.to_fix)
    often = sum(bounce.phase is Phase.testing for bounce in bounces) >= MAX_SEND_BACKS[Phase.testing]
    if tested.missing and not asked_before and not often:
        return {"tested": VerificationState.failed, "to_fix": tested.missing}
    return {"tested": _TEST_VERDICTS[tested.verdict]}


def _count_failures(tested: HeadTestResult | None) -> int | None:
    ran = tested is not None and tested.verdict is not Verdict.not_run
    return len(tested.run.failures) if tested is not None and ran else None


_TEST_VERDICTS = {
    Verdict.passed: VerificationState.passed,
    Verdict.no_tests: VerificationState.missing,
    Verdict.not_run: VerificationState.unable,
}


def _list_requested_changes(request: ChangeRequest) -> list[RequiredFix]:
    """What a person's review says, in its body and on lines."""
    rule = f"review by {request.login}"
    said = [RequiredFix(path="", rule=rule, message=request.body)] if request.body.strip() else []
    return [
        *said,
        *(RequiredFix(path=path, line=line, rule=rule, message=text) for path, line, text in request.comments),
    ]


def _find_owner(live: PullRequest, built: BuiltChange) -> HeadOwner:
    if live.head_sha == built.head:
        return HeadOwner.run
    return HeadOwner.earlier if live.head_sha in built.earlier else HeadOwner.others


def _judge_review(run: Run, review: Review | None) -> ReviewState:
    if run.reason is ReasonCode.excluded:
        return ReviewState.approved
    if run.state in {RunState.pending, RunState.running}:
        return ReviewState.pending
    if run.state is RunState.waiting:
        return ReviewState.person
    if run.state is not RunState.completed or review is None:
        return ReviewState.broken
    return _REVIEW_OUTCOMES[review.conclusion]


_REVIEW_OUTCOMES = {
    Conclusion.success: ReviewState.approved,
    Conclusion.neutral: ReviewState.person,  # nobody read all of it: no approval
    Conclusion.failure: ReviewState.changes,
    Conclusion.action_required: ReviewState.person,
    Conclusion.cancelled: ReviewState.pending,
}


def _list_to_fix(findings: Sequence[Finding]) -> tuple[RequiredFix, ...]:
    """What the review says, the gravest first; mere remarks are left to people."""
    worth = [finding for finding in findings if finding.severity.rank >= _WORTH_MENDING]
    return tuple(
        RequiredFix(path=each.path, line=each.line, rule=each.rule, message=each.message)
        for each in sorted(worth, key=lambda finding: finding.sort_key)
    )
