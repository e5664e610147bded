"""Verifies a run's pull request: loads its state, tests its head, looks for red checks, and sums up the result."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from domain.runs.next_step import PullRequestState, SendBack, VerificationState
from domain.runs.output_lines import pick_telling_line
from domain.runs.patches import MOST_FIXES, RED_CHECK, RequiredFix
from memory.runs import checkpoints
from messages import tests as test_texts
from messages.pull_request import VerifiedResult
from pipeline.gates.ask import list_conditions
from pipeline.issue.avoidance import AvoidanceTerms
from pipeline.issue.built_change import BuiltChange
from pipeline.issue.issue_input import PlannedIssue
from pipeline.issue.pull_request_state import PullRequestStateLoader
from pipeline.issue.red_checks import RedCheck, load_red_checks_of_run, run_again
from pipeline.issue.test_result import HeadTestResult
from pipeline.issue.testing import HeadTester
from pipeline.run_context import RunContext
from pipeline.verdicts.settings import load_request

_WITHOUT_FAILURE = frozenset({VerificationState.passed, VerificationState.missing, VerificationState.unable})
"""What Forge's own tests say where the checks of others have the last word."""
_LONGEST_END = 1_600  # characters of what a check says, beside the line that tells most


@dataclass(frozen=True)
class Verification:
    """The verification of one pull request.

    :param number: of the pull request.
    """

    context: RunContext
    planned: PlannedIssue
    number: int

    @cached_property
    def _state(self) -> PullRequestStateLoader:
        return PullRequestStateLoader(self.context, self.number)

    async def load_state(self, built: BuiltChange, send_backs: Sequence[SendBack]) -> PullRequestState:
        """The state of the pull request now."""
        return await self.context.journal.step("how it stands", self._load_state, built, send_backs)

    async def _load_state(self, built: BuiltChange, send_backs: Sequence[SendBack]) -> PullRequestState:
        state = await self._state.load(built, send_backs)
        red = await self._list_red(built.head) if state.tested in _WITHOUT_FAILURE else ()
        if not red:
            return state
        to_fix = tuple(map(_build_fix, red[:MOST_FIXES]))
        return state.model_copy(update={"tested": VerificationState.failed, "to_fix": to_fix})

    async def _list_red(self, head: str) -> Sequence[RedCheck]:
        """The red checks of other Apps, once all have ended, and the jobs that failed once have run again."""
        red = await load_red_checks_of_run(self.context.services, self.context.run, self.number, head)
        return () if red and await run_again(self.context, head) else red

    async def test(self, built: BuiltChange) -> bool:
        """Test the head once; False while the repository's own workflows run."""
        attempt = len(built.fixes) + 1
        configuration, baseline = self.planned.configuration, self.planned.baseline
        terms = AvoidanceTerms(asked=await load_request(self.context.database, self.context.run))
        tester = HeadTester(
            self.context, configuration, built.head, "by the run", attempt, baseline=baseline, terms=terms
        )
        tested = await tester.test(self.planned.plan.level)
        if tested is not None:
            await self.context.journal.step("keep the tests", self._save_tests, tested)
        return tested is not None

    async def build_result(self, built: BuiltChange, send_backs: int) -> VerifiedResult:
        """The result for the description: open findings and tests."""
        return await build_result(self._state, built.head, await self._state.load_tests(built.head), send_backs)

    async def _save_tests(self, tested: HeadTestResult) -> None:
        value = tested.model_dump(mode="json")
        await checkpoints.save_tests(self.context.database, self.context.run, value, self.context.now())


async def build_result(
    state: PullRequestStateLoader, head: str, tested: HeadTestResult | None, send_backs: int
) -> VerifiedResult:
    """The result of a head for the description: open findings and tests."""
    context = state.context
    last = await state.find_review_run(head)
    review = None if last is None else await checkpoints.load_review(context.database, last)
    covered = None if tested is None else tested.run.diff_coverage
    return VerifiedResult(
        left=[f"{each.where} {each.rule}" for each in (review.findings if review else ())],
        tests="" if tested is None else test_texts.render_outcome(tested.run).title,
        coverage=None if covered is None else covered.share,
        send_backs=send_backs,
        conditions=await list_conditions(context.services, context.run, proposed=True),
    )


def _build_fix(red: RedCheck) -> RequiredFix:
    """What a red check demands: the line of it that tells most, and its end."""
    end = red.said[-_LONGEST_END:].strip() or "It is red, and says nothing."
    message = "\n".join(dict.fromkeys([pick_telling_line(red.said.strip() or end), end]))
    return RequiredFix(path="", rule=f"{RED_CHECK}{red.name}", message=message, edited_by=red.by)
