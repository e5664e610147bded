"""Loads how the review and tests of a run's pull request ended, writes that into it, and marks it ready."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from agents.testing import coverage
from domain.github.conversation import Issue
from domain.github.pull_requests import ChangeRequest, PullRequest
from domain.review.findings import Finding, Severity
from domain.review.review import Conclusion, Review
from domain.runs.earlier_tests import EarlierTest
from domain.runs.next_step import MAX_SEND_BACKS, HeadOwner, PullRequestState, ReviewState, SendBack, VerificationState
from domain.runs.patches import RequiredFix
from domain.runs.run import Phase, ReasonCode, Run, RunState
from domain.runs.testing import SuiteVerdict
from memory.runs import checkpoints, runs
from messages import pull_request as pull_request_texts
from messages import tests as test_texts
from messages.pull_request import VerifiedResult
from pipeline.gates.ask import list_conditions
from pipeline.issue.draft_commits import BuiltChange
from pipeline.issue.head_examination import HeadTestResult
from pipeline.publishing import pull_requests
from pipeline.publishing.publisher import write_once
from pipeline.run_context import RunContext
from pipeline.verdicts.earlier_tests import name_test
from safety.authorization import refuse_role

_POLL_SECONDS = 0.1  # between two checks whether a review is over
_FIXED_FROM = Severity.warning.rank  # on; people decide about the rest


@dataclass(frozen=True)
class OwnPullRequest:
    """The pull request that a run opened.

    :param context: of the run.
    :param number: of the pull request.
    """

    context: RunContext
    number: int

    async def load(self, built: BuiltChange, send_backs: Sequence[SendBack]) -> PullRequestState:
        """The state now. A review that is about to end is waited for."""
        state = await self._load_live_state(built)
        if state.is_open and state.head is HeadOwner.run:
            reviewed = await self._wait_for_review(built.head)
            state = (await self._load_live_state(built)).model_copy(update=reviewed)  # the wait took a moment
        if state.reviewed in {ReviewState.approved, ReviewState.changes}:
            state = await self._add_change_requests(state, built.head)
        if state.reviewed is ReviewState.approved:
            tested = await self.load_tests(built.head)
            compared = None if tested is None else tested.compared
            measured = {"failing": _count_failures(tested), "coverage_delta": compared and compared.delta}
            is_flaky = tested is not None and bool(tested.run.flaky)
            judged = {**_judge_tests(tested, send_backs), **measured, "is_flaky": is_flaky}
            state = state.model_copy(update=judged)
        return state

    async def load_tests(self, head: str) -> HeadTestResult | None:
        """The test result of a head."""
        kept = await checkpoints.load_tests(self.context.database, self.context.run)
        tested = None if kept is None else HeadTestResult.model_validate(kept)
        return tested if tested is not None and tested.head == head else None

    async def is_approved(self, head: str) -> bool:
        """Whether the review of a head approved it, and nobody who may write asks for changes."""
        reviewed = (await self._load_review_state(head)).get("reviewed")
        if reviewed is not ReviewState.approved:
            return False
        state = await self._add_change_requests(PullRequestState(is_open=True, reviewed=reviewed), head)
        return state.reviewed is ReviewState.approved

    async def build_result(self, head: str, tested: HeadTestResult | None, send_backs: int) -> VerifiedResult:
        """The result of a head for the description: open findings and tests."""
        last = await self._find_review_run(head)
        review = None if last is None else await checkpoints.load_review(self.context.database, last)
        covered = None if tested is None else tested.run.diff_coverage
        return VerifiedResult(
            left=[f"{each.where} {each.rule}" for each in (review.findings if review else ())],
            tests="" if tested is None else test_texts.render_outcome(tested.run).title,
            coverage=None if covered is None else covered.share,
            send_backs=send_backs,
            conditions=await list_conditions(self.context.services, self.context.run, proposed=True),
        )

    async def write_result(self, head: str, result: VerifiedResult) -> None:
        """Write the result into the description; people's words in it stay."""
        host, repository, number = self.context.services.host, self.context.run.repository, self.number

        async def write() -> int:
            live = await host.issue(repository, number)
            body = await self._add_to_description(live, result)
            if body is not None:
                await pull_requests.describe(self.context.services, repository, number, live.title, body)
            return number

        await write_once(self.context.services, self.context.run, f"result {head}", "description", write)

    async def mark_ready(self, head: str, result: VerifiedResult, step: str, text: str) -> bool:
        """End the draft, write the result, and show below the issue how the run ended, all in one request.

        :param step: names the last state of the comment below the issue.
        :param text: of that comment.
        :returns: False, and nothing is written, if the pull request is closed or its head is another.
        """
        live = await self.context.services.host.pull_request(self.context.run.repository, self.number)
        if not live.is_open or live.head_sha != head:
            return False
        write = partial(self._write_ready, result, step, text)
        await write_once(self.context.services, self.context.run, f"ready {head}", "pull_request_state", write)
        return True

    async def _write_ready(self, result: VerifiedResult, step: str, text: str) -> int:
        host, repository, number = self.context.services.host, self.context.run.repository, self.number
        body = await self._add_to_description(await host.issue(repository, number), result)
        edit = await self.context.status.build_edit(text)
        if await pull_requests.mark_ready(self.context.services, repository, number, body, edit):
            await self.context.status.record_shown(step, edit)
        return number

    async def _add_to_description(self, live: Issue, result: VerifiedResult) -> str | None:
        """The description with the result; None if it stays the same."""
        body = pull_request_texts.add_result(live.body, result, await self.context.load_cost())
        return None if body is None or body == live.body else body

    async def _load_live_state(self, built: BuiltChange) -> PullRequestState:
        live = await self.context.services.host.pull_request(self.context.run.repository, self.number)
        return PullRequestState(is_open=live.is_open, is_merged=live.is_merged, head=_find_owner(live, built))

    async def _add_change_requests(self, state: PullRequestState, head: str) -> PullRequestState:
        """The state with the changes that people with write access request, first."""
        host, repository = self.context.services.host, self.context.run.repository
        asked: list[RequiredFix] = []
        for request in await host.change_requests(repository, self.number, head):
            if refuse_role(await host.permission(repository, request.login, request.account_id), "write") is None:
                asked += _list_requested_changes(request)
        if not asked:
            return state
        return state.model_copy(update={"reviewed": ReviewState.changes, "to_fix": (*asked, *state.to_fix)})

    async def _wait_for_review(self, head: str) -> dict[str, object]:
        """The result of the review, after waiting as long as is too short to show.

        If the run has to wait longer, it loads everything again afterwards.
        """
        now = asyncio.get_running_loop().time
        until = now() + self.context.services.progress_delay
        reviewed = await self._load_review_state(head)
        while reviewed.get("reviewed", ReviewState.pending) is ReviewState.pending and now() < until:
            await asyncio.sleep(_POLL_SECONDS)
            reviewed = await self._load_review_state(head)
        return reviewed

    async def _load_review_state(self, head: str) -> dict[str, object]:
        last = await self._find_review_run(head)
        if last is None or last.reason is ReasonCode.superseded:
            return {}
        review = await checkpoints.load_review(self.context.database, last)
        reviewed = _judge_review(last, review)
        to_fix = _list_to_fix(review) if review is not None and reviewed is ReviewState.changes else ()
        return {"reviewed": reviewed, "to_fix": to_fix}

    async def _find_review_run(self, head: str) -> Run | None:
        """The newest run of the review on a head."""
        repository_id = self.context.run.repository.id
        return await runs.find_newest(self.context.database, repository_id, self.number, head_sha=head)


def _judge_tests(tested: HeadTestResult | None, send_backs: Sequence[SendBack]) -> dict[str, object]:
    """The result of the tests. What hides a failure is always sent back, missing tests once."""
    if tested is None:
        return {}
    if tested.verdict is SuiteVerdict.failed:
        is_fixable = bool(tested.to_fix)
        to_fix = tested.to_fix if is_fixable else tested.failures
        return {
            "tested": VerificationState.failed if is_fixable else VerificationState.unfixable,
            "to_fix": (*to_fix, *tested.weakened),
            "blames_environment": not tested.weakened and tested.blames_environment,
        }
    if tested.weakened:
        return {"tested": VerificationState.failed, "to_fix": tested.weakened}
    asked_before = any(each.rule == coverage.MISSING for sent_back in send_backs for each in sent_back.to_fix)
    is_exhausted = sum(each.phase is Phase.testing for each in send_backs) >= MAX_SEND_BACKS[Phase.testing]
    if tested.missing and not asked_before and not is_exhausted:
        return {"tested": VerificationState.failed, "to_fix": tested.missing}
    return {"tested": _TEST_VERDICTS[tested.verdict]}


def _count_failures(tested: HeadTestResult | None) -> int | None:
    ran = tested is not None and tested.verdict is not SuiteVerdict.not_run
    return len(tested.run.failures) if tested is not None and ran else None


_TEST_VERDICTS = {
    SuiteVerdict.passed: VerificationState.passed,
    SuiteVerdict.no_tests: VerificationState.missing,
    SuiteVerdict.not_run: VerificationState.unable,
}


def _list_requested_changes(request: ChangeRequest) -> list[RequiredFix]:
    """A person's review: its body, and its comments on lines."""
    rule = f"review by {request.login}"
    said = [("", None, request.body)] if request.body.strip() else []
    who, editors = request.account_id, tuple(sorted(request.editors))
    return [
        RequiredFix(path=path, line=line, rule=rule, message=text, by_id=who, edited_by=editors)
        for path, line, text in (*said, *request.comments)
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
    Conclusion.neutral: ReviewState.person,  # not all of it was read: no approval
    Conclusion.failure: ReviewState.changes,
    Conclusion.action_required: ReviewState.person,
    Conclusion.cancelled: ReviewState.pending,
}


def _list_to_fix(review: Review) -> tuple[RequiredFix, ...]:
    """The findings to fix, the gravest first; of a test of before that fails, with what it demanded and printed."""
    grave = [finding for finding in review.findings if finding.severity.rank >= _FIXED_FROM]
    lost = {name_test(each): each for each in (review.earlier.obligations if review.earlier is not None else ())}
    return tuple(
        _build_fix(each, lost.get(each.fingerprint)) for each in sorted(grave, key=lambda finding: finding.sort_key)
    )


def _build_fix(finding: Finding, test: EarlierTest | None) -> RequiredFix:
    return RequiredFix(
        path=finding.path,
        line=finding.line,
        rule=finding.rule,
        message=finding.message,
        confidence=finding.confidence,
        demanded=() if test is None else test.demanded,
        output="" if test is None else test.output,
    )
