"""Asks people the questions that a review raises, and applies their answers to its verdict."""

from collections.abc import Mapping, Sequence
from enum import StrEnum

from domain.config.conditions import Fact
from domain.config.configuration import Configuration
from domain.gates import Gate, GateRequest, GateState
from domain.github.pull_requests import PullRequest
from domain.review.findings import Severity
from domain.review.review import Decision, Review
from domain.runs.run import Run
from memory import gates, reservations
from pipeline.context import Services
from pipeline.gates.ask import open_gate
from pipeline.publishing.gate_checks import show_gates
from pipeline.verdicts.earlier_tests import load_approved
from pipeline.verdicts.suppression import apply_dismissals
from safety.eligibility import NEWCOMERS
from safety.gates import (
    OF_OTHER_PHASES,
    apply_answers,
    apply_blocking_gates,
    list_postponed,
    list_requests,
    list_unapproved,
    mark_open,
)


class GatesOutcome(StrEnum):
    """What the gates of a review mean for its run."""

    passed = "passed"
    waiting = "waiting"
    rejected = "rejected"
    expired = "expired"


class ReviewGates:
    """The questions of one review to people."""

    def __init__(self, services: Services, run: Run, configuration: Configuration, pull_request: PullRequest) -> None:
        self._services = services
        self._run = run
        self._configuration = configuration
        self._pull_request = pull_request

    async def ask_people(self, review: Review) -> tuple[GatesOutcome, Review]:
        """Ask the open questions, and void those that are settled; the verdict, which is answered too.

        May be repeated.
        """
        # Once more: people may have dismissed findings since the review was built.
        review = await apply_dismissals(self._services, self._run, review, self._configuration)
        await self._take_back(review)
        known = await gates.list_for_run(self._services.database, self._run.id)
        wanted = await self._list_wanted(review, known)
        live = [await open_gate(self._services, self._run, request) for request in wanted]
        outcome = _choose_outcome(live)
        ended = outcome in {GatesOutcome.rejected, GatesOutcome.expired}
        goes_on = outcome is GatesOutcome.waiting
        elsewhere = [gate for gate in known if gate.name in OF_OTHER_PHASES]
        keep = [gate.id for gate in (*elsewhere, *live) if goes_on]  # a run that ended asks nothing any more
        why = "ended" if ended else "settled"
        await gates.void(self._services.database, self._run.id, keep, why, self._services.clock.now())
        every = await show_gates(self._services, self._run)
        verdict = apply_blocking_gates(
            apply_answers(review, every), [gate for gate in every if gate.id in {each.id for each in live}]
        )
        return outcome, await self._name_postponed(verdict)

    async def show_taken_back(self, review: Review) -> None:
        """Void what confirmed a finding that nobody confirms any more, and show that; may be repeated.

        :raises Superseded: if another run owns the pull request.
        """
        if await self._take_back(review):
            await show_gates(self._services, self._run)

    async def expect_verdict(self, review: Review) -> Review:
        """The review with the verdict that it has as long as its questions wait, with the answers so far.

        :param review: with dismissals applied, without answers.
        """
        known = await gates.list_for_run(self._services.database, self._run.id)
        answered = apply_answers(review, known)
        return await self._name_postponed(mark_open(answered, await self.list_unanswered(review, known)))

    async def list_unanswered(self, review: Review, known: Sequence[Gate]) -> Sequence[GateRequest]:
        """The questions that must be approved before this review may approve.

        :param review: with dismissals applied, without answers.
        """
        return list_unapproved(await self._list_wanted(review, known), known)

    async def _name_postponed(self, review: Review) -> Review:
        """The review with what people are asked once nothing blocks, so that they hear of it before the last fix."""
        if review.decision is not Decision.request_changes or self._configuration.review.dry_run:
            return review
        later = list_postponed(review, self._configuration, await self._build_context(review))
        return review.model_copy(update={"reasons": (*review.reasons, *later)})

    async def _take_back(self, review: Review) -> Sequence[str]:
        known = await gates.list_for_run(self._services.database, self._run.id)
        ids = _list_taken_back(review, known)
        await gates.take_back(self._services.database, ids, self._services.clock.now())
        return ids

    async def _list_wanted(self, review: Review, known: Sequence[Gate]) -> Sequence[GateRequest]:
        if self._configuration.review.dry_run:  # nothing is posted, so nobody can answer
            return []
        context = await self._build_context(review)
        accepted = await load_approved(self._services, self._run, self._run.number)
        return list_requests(review, review.changed, self._configuration, context, known, accepted)

    async def _build_context(self, review: Review) -> Mapping[str, Fact]:
        """The values that conditions of the repository's own gates may use."""
        pull_request = self._pull_request
        count = {each: sum(finding.severity is each for finding in review.findings) for each in Severity}
        return {
            "review.lines_changed": review.additions + review.deletions,
            "review.files_changed": review.files,
            "review.risk": review.risk.score_unasked,
            "review.risk_level": review.risk.level_unasked.value,
            "review.findings": len(review.findings),
            "review.critical": count[Severity.critical],
            "review.errors": count[Severity.error],
            "review.warnings": count[Severity.warning],
            "review.rules": tuple(dict.fromkeys(finding.rule for finding in review.findings)),
            "review.categories": tuple(dict.fromkeys(finding.category.value for finding in review.findings)),
            "review.decision": review.decision.value,
            "review.not_looked_at": sum(entry.matters for entry in review.not_looked_at),
            "review.base": pull_request.base_ref,
            "review.from_fork": pull_request.is_from_fork(self._run.repository.id),
            "review.first_time": pull_request.author_association in NEWCOMERS,
            "review.author": pull_request.author_login,
            "review.paths": review.changed,
            "run.cost": await reservations.load_cost(self._services.database, self._run.id) / 1_000_000,
            "run.trigger": self._run.trigger.value,
        }


def _list_taken_back(review: Review, known: Sequence[Gate]) -> Sequence[str]:
    """The ids of the gates that confirmed a finding, which nobody does any more."""
    judged = [gate for gate in known if gate.name == "false_positive" and gate.state is GateState.rejected]
    return [gate.id for gate in judged if not {*gate.request.findings} & {*review.judged.confirmed}]


def _choose_outcome(live: Sequence[Gate]) -> GatesOutcome:
    states = {gate.state for gate in live}
    for state, outcome in (
        (GateState.rejected, GatesOutcome.rejected),
        (GateState.expired, GatesOutcome.expired),
        (GateState.waiting, GatesOutcome.waiting),
    ):
        if state in states:
            return outcome
    return GatesOutcome.passed
