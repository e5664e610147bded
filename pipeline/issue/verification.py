"""Looks where the pull request of an issue's run stands: whose its head is, and what its review came to."""

import asyncio
from collections.abc import Sequence

from pydantic import JsonValue

from agents.testing import missing_tests
from domain.config.configuration import Configuration
from domain.github.pull_requests import ChangeRequest, PullRequest
from domain.review.findings import Finding, Severity
from domain.review.review import Conclusion, Review, RiskLevel
from domain.runs.next_step import MOST, Bounce, Owner, Proof, Reviewed, Standing
from domain.runs.run import Phase, ReasonCode, Run, RunState
from domain.runs.task_result import ToFix
from domain.runs.testing import Verdict
from memory.runs import checkpoints, runs
from messages import tests as test_texts
from messages.pull_request import Proved
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.gates.ask import conditions
from pipeline.issue.implementation import Built
from pipeline.issue.pull_request import Opened
from pipeline.issue.testing import Tested, Testing
from pipeline.runs.lifecycle import said
from safety.authorization import refusal

_LOOK = 0.1  # seconds between two looks whether a review is over
_WORTH_MENDING = Severity.warning.rank


class Proving:
    """What is known of one pull request of Forge's own.

    :param level: how risky its plan is.
    """

    def __init__(
        self,
        services: Services,
        journal: WorkflowJournal,
        run: Run,
        opened: Opened,
        configuration: Configuration,
        level: RiskLevel,
    ) -> None:
        self._services = services
        self._journal = journal
        self._run = run
        self.opened = opened
        self._configuration = configuration
        self._level = level

    async def look(self, built: Built, bounces: Sequence[Bounce]) -> JsonValue:
        """How it stands now, as JSON of :class:`Standing`; a review that is over in a moment is waited for."""
        standing = await self._live(built)
        if standing.is_open and standing.head is Owner.run:
            reviewed = await self._reviewed_soon(built.head)
            standing = (await self._live(built)).model_copy(update=reviewed)  # anew: that took a moment
        if standing.reviewed in {Reviewed.approved, Reviewed.changes}:
            standing = await self._with_people(standing, built.head)
        if standing.reviewed is Reviewed.approved:
            tested = await self._tested(built.head)
            standing = standing.model_copy(update={**_proof(tested, bounces), "failing": _failing(tested)})
        return standing.model_dump(mode="json")

    async def _live(self, built: Built) -> Standing:
        live = await self._services.host.pull_request(self._run.repository, self.opened.number)
        return Standing(is_open=live.is_open, is_merged=live.is_merged, head=_owner(live, built))

    async def _with_people(self, standing: Standing, head: str) -> Standing:
        """With what those ask to be changed who may write here, first."""
        host, repository = self._services.host, self._run.repository
        asked: list[ToFix] = []
        for request in await host.change_requests(repository, self.opened.number, head):
            if refusal(await host.permission(repository, request.login, request.account_id), "write") is None:
                asked += _asked(request)
        if not asked:
            return standing
        return standing.model_copy(update={"reviewed": Reviewed.changes, "to_fix": (*asked, *standing.to_fix)})

    async def test(self, built: Built) -> bool:
        """Test the head, once; whether that came to an end."""
        attempt = len(built.mended) + 1
        testing = Testing(
            self._services, self._journal, self._run, self._configuration, built.head, "by the run", attempt
        )
        tested = await testing.test(self._level)
        if tested is not None:
            await self._journal.step("keep the tests", lambda: said(self._keep(tested)))
        return tested is not None

    async def result(self, built: Built, bounces: int) -> Proved:
        """What is left of the review, and how the tests ended, for the description."""
        last = await self._last(built.head)
        review = None if last is None else await checkpoints.load_review(self._services.database, last)
        tested = await self._tested(built.head)
        covered = None if tested is None else tested.run.diff_coverage
        return Proved(
            left=[f"{each.where} {each.rule}" for each in (review.findings if review else ())],
            tests="" if tested is None else test_texts.outcome(tested.run).title,
            coverage=None if covered is None else covered.share,
            bounces=bounces,
            conditions=await conditions(self._services, self._run, proposed=True),
        )

    async def _keep(self, tested: Tested) -> None:
        now = self._services.clock.now()
        await checkpoints.save_tests(self._services.database, self._run, tested.model_dump(mode="json"), now)

    async def _tested(self, head: str) -> Tested | None:
        kept = await checkpoints.load_tests(self._services.database, self._run)
        tested = None if kept is None else Tested.model_validate(kept)
        return tested if tested is not None and tested.head == head else None

    async def _last(self, head: str) -> Run | None:
        """The newest run of the review on a head."""
        past = await runs.of_pull_request(self._services.database, self._run.repository.id, self.opened.number)
        return next((each.run for each in past if each.run.head_sha == head), None)

    async def _reviewed_soon(self, head: str) -> dict[str, object]:
        """What the review came to, which is waited for as long as that is not worth telling people of.

        A run that gives up its place meanwhile reads everything anew when it has its turn again.
        """
        now = asyncio.get_running_loop().time
        until = now() + self._services.worth_telling
        reviewed = await self._reviewed(head)
        while reviewed.get("reviewed", Reviewed.pending) is Reviewed.pending and now() < until:
            await asyncio.sleep(_LOOK)
            reviewed = await self._reviewed(head)
        return reviewed

    async def _reviewed(self, head: str) -> dict[str, object]:
        last = await self._last(head)
        if last is None or last.reason is ReasonCode.superseded:
            return {}
        review = await checkpoints.load_review(self._services.database, last)
        reviewed = _outcome(last, review)
        to_fix = _to_fix(review.findings) if review is not None and reviewed is Reviewed.changes else ()
        return {"reviewed": reviewed, "to_fix": to_fix}


def _proof(tested: Tested | None, bounces: Sequence[Bounce]) -> dict[str, object]:
    """What the tests came to. Those that were taken away are asked back; those that are missing are asked for once."""
    if tested is None:
        return {}
    if tested.verdict is Verdict.failed:
        is_fixable = bool(tested.to_fix)
        to_fix = tested.to_fix if is_fixable else tested.failed
        return {"tested": Proof.failed if is_fixable else Proof.unfixable, "to_fix": (*to_fix, *tested.weakened)}
    if tested.weakened:
        return {"tested": Proof.failed, "to_fix": tested.weakened}
    asked_before = any(each.rule == missing_tests.MISSING for bounce in bounces for each in bounce.to_fix)
    often = sum(bounce.phase is Phase.testing for bounce in bounces) >= MOST[Phase.testing]
    if tested.missing and not asked_before and not often:
        return {"tested": Proof.failed, "to_fix": tested.missing}
    return {"tested": _PROOFS[tested.verdict]}


def _failing(tested: Tested | None) -> int | None:
    ran = tested is not None and tested.verdict is not Verdict.not_run
    return len(tested.run.failures) if tested is not None and ran else None


_PROOFS = {Verdict.passed: Proof.passed, Verdict.no_tests: Proof.missing, Verdict.not_run: Proof.unable}


def _asked(request: ChangeRequest) -> list[ToFix]:
    """What a person's review says, in its body and on lines."""
    rule = f"review by {request.login}"
    said = [ToFix(path="", rule=rule, message=request.body)] if request.body.strip() else []
    return [*said, *(ToFix(path=path, line=line, rule=rule, message=text) for path, line, text in request.comments)]


def _owner(live: PullRequest, built: Built) -> Owner:
    if live.head_sha == built.head:
        return Owner.run
    return Owner.earlier if live.head_sha in built.earlier else Owner.others


def _outcome(run: Run, review: Review | None) -> Reviewed:
    if run.reason is ReasonCode.excluded:
        return Reviewed.approved
    if run.state in {RunState.pending, RunState.running}:
        return Reviewed.pending
    if run.state is RunState.waiting:
        return Reviewed.person
    if run.state is not RunState.completed or review is None:
        return Reviewed.broken
    return _OUTCOMES[review.conclusion]


_OUTCOMES = {
    Conclusion.success: Reviewed.approved,
    Conclusion.neutral: Reviewed.person,  # nobody read all of it: no approval
    Conclusion.failure: Reviewed.changes,
    Conclusion.action_required: Reviewed.person,
    Conclusion.cancelled: Reviewed.pending,
}


def _to_fix(findings: Sequence[Finding]) -> tuple[ToFix, ...]:
    """What the review says, the gravest first; mere remarks are left to people."""
    worth = [finding for finding in findings if finding.severity.rank >= _WORTH_MENDING]
    return tuple(
        ToFix(path=each.path, line=each.line, rule=each.rule, message=each.message)
        for each in sorted(worth, key=lambda finding: finding.weight)
    )
