"""Looks where the pull request of an issue's run stands: whose its head is, and what its review came to."""

from collections.abc import Sequence

from pydantic import JsonValue

from domain.findings import Finding, Severity
from domain.ports import PullRequest
from domain.review import Conclusion, Review
from domain.rounds import Owner, Proof, Reviewed, Standing
from domain.runs import ReasonCode, Run, RunState
from domain.work import ToFix
from memory import checkpoints, runs
from pipeline.handing_in import Opened
from pipeline.implementing import Built
from pipeline.services import Services

_WORTH_MENDING = Severity.warning.rank


class Proving:
    """What is known of one pull request of Forge's own."""

    def __init__(self, services: Services, run: Run, opened: Opened) -> None:
        self._services = services
        self._run = run
        self._opened = opened

    async def look(self, built: Built) -> JsonValue:
        """How it stands now, as JSON of :class:`Standing`."""
        live = await self._services.host.pull_request(self._run.repository, self._opened.number)
        standing = Standing(is_open=live.is_open, is_merged=live.is_merged, head=_owner(live, built))
        if standing.is_open and standing.head is Owner.run:
            standing = standing.model_copy(update=await self._reviewed(built.head))
        return standing.model_dump(mode="json")

    async def _reviewed(self, head: str) -> dict[str, object]:
        past = await runs.of_pull_request(self._services.database, self._run.repository.id, self._opened.number)
        last = next((each.run for each in past if each.run.head_sha == head), None)
        if last is None or last.reason is ReasonCode.superseded:
            return {}
        review = await checkpoints.load_review(self._services.database, last)
        reviewed = _outcome(last, review)
        to_fix = _to_fix(review.findings) if review is not None and reviewed is Reviewed.changes else ()
        return {"reviewed": reviewed, "tested": Proof.missing, "to_fix": to_fix}


def _owner(live: PullRequest, built: Built) -> Owner:
    if live.head_sha == built.head:
        return Owner.run
    return Owner.earlier if live.head_sha in built.earlier else Owner.others


def _outcome(run: Run, review: Review | None) -> Reviewed:
    if run.reason is ReasonCode.excluded:
        return Reviewed.approved
    if run.state in {RunState.pending, RunState.running}:
        return Reviewed.pending
    if run.state is not RunState.completed or review is None:
        return Reviewed.person
    return _OUTCOMES[review.conclusion]


_OUTCOMES = {
    Conclusion.success: Reviewed.approved,
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
