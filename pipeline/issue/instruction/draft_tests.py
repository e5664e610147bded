"""Runs the tests that concern what was made of an instruction, or both sides of a merge, before it is pushed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from agents.testing.absence import WAY_OUT, find_absence
from agents.testing.reproduction.new_tests import NewTests
from agents.testing.reproduction.run import Ending, EndingKind, try_with
from domain.config.configuration import Configuration
from domain.review.findings import Finding, Reproduction
from domain.runs.next_step import SendBack
from domain.runs.patches import MOST_FIXES, RequiredFix
from domain.runs.run import Phase
from domain.runs.testing import SuiteVerdict, TestRun, decide_verdict
from domain.value import Value
from messages import instructions as texts
from messages import proofs
from messages import tests as test_texts
from pipeline.checkout import fetch_commits
from pipeline.issue.coding.draft_checks import DraftChecks
from pipeline.issue.instruction.goal import TEST_SECONDS
from pipeline.run_context import RunContext, run_while_current
from safety.conflicts import SideTests, find_broken
from workspace.mirror import Mirror


class TestedDraft(Value):
    """How the tests ended that concern a change; in journals.

    :param title: in a few words.
    :param to_fix: the tests that fail because of it, or prove nothing.
    :param proof: what its new tests show of the pull request; None where nothing has to be proven.
    """

    title: str
    is_failed: bool = False
    to_fix: tuple[RequiredFix, ...] = ()
    proof: NewTests | None = None

    def send_back(self, head: str) -> SendBack:
        """The return of a change for mending.

        :param head: the commit that was tested.
        """
        return SendBack(phase=Phase.testing, head=head, to_fix=self.to_fix)


@dataclass(frozen=True)
class DraftTests:
    """The tests of one instruction; what fails without its change, too, is no failure of it.

    :param goal: findings that it fixes: the tests that show some of them have to pass.
    """

    context: RunContext
    configuration: Configuration
    goal: Sequence[Finding] = ()

    @cached_property
    def _checks(self) -> DraftChecks:
        return DraftChecks(self.context, self.configuration, None)

    async def run(self, commit: str) -> TestedDraft:
        """Run the tests that concern the change up to a commit."""
        if not self._checks.can_test:
            return TestedDraft(title=texts.LEFT_TO_WORKFLOWS)
        return await self.context.journal.step("test the draft", self._run, commit)

    async def _run(self, commit: str) -> TestedDraft:
        run = await self._checks.test(commit, ())
        shown = [(each, test) for each in self.goal if (test := proofs.find_shown_test(each)) is not None]
        tried = [(each, await self._try(commit, test)) for each, test in shown]
        failed = [
            RequiredFix(path=case.path or "", line=case.line, rule=case.id, message=case.message)
            for case in run.failures
        ]
        still = [each for each, ending in tried if ending.kind is EndingKind.failed]
        passing = [each.id for each, ending in tried if ending.kind is EndingKind.passed]
        return TestedDraft(
            title=texts.join_outcomes(test_texts.render_line(run), passing, [each.id for each in still]),
            is_failed=bool(still) or decide_verdict(run) is SuiteVerdict.failed,
            to_fix=(*map(self.demand, still), *failed)[:MOST_FIXES],
        )

    async def _try(self, commit: str, test: Reproduction) -> Ending:
        """How the test that shows a finding ends."""
        context, configuration = self.context, self.configuration
        seconds = float(configuration.review.proof_seconds or TEST_SECONDS)
        tester = context.build_tester(await context.fetch_mirror(), configuration)
        return await run_while_current(context.services, context.run, try_with(tester, commit, {}, test, seconds))

    def demand(self, finding: Finding) -> RequiredFix:
        """A finding as it is shown to whoever fixes it: what a test prints only where they may see every file."""
        message = proofs.describe_goal(finding, shows_output=not self.configuration.review.never_send)
        return RequiredFix(id=finding.id, path=finding.path, line=finding.line, rule=finding.rule, message=message)


@dataclass(frozen=True)
class MergeTests:
    """The tests of one merge: what passes on a side has to pass in the result.

    :param base: the commit that is taken in; the other side is the run's head.
    :param resolved: files in which conflicts were resolved. Where there is none, git merged by itself, and the tests
        are those of any other change.
    """

    context: RunContext
    configuration: Configuration
    base: str
    resolved: tuple[str, ...] = ()
    _sides: list[SideTests] = field(default_factory=list[SideTests])

    async def run(self, commit: str) -> TestedDraft:
        """Run the tests of a result."""
        if not self.resolved:
            return await DraftTests(self.context, self.configuration).run(commit)
        if self.configuration.testing.runner == "actions":
            return TestedDraft(title=texts.LEFT_TO_WORKFLOWS)
        if not self._sides:
            for side, sha in (("branch", self.context.run.head_sha), ("base", self.base)):
                self._sides.append(await self.context.journal.step(f"test the {side}", self._test_side, sha))
        return await self.context.journal.step("test the merge", self._test_result, commit)

    async def _test_side(self, commit: str) -> SideTests:
        return SideTests.of(await self._test(commit))

    async def _test_result(self, commit: str) -> TestedDraft:
        run = await self._test(commit)
        broken = find_broken(run, self._sides, await self._load_texts_before())
        title = test_texts.render_line(run)
        if decide_verdict(run) is SuiteVerdict.failed and not broken:
            lacking = next(filter(None, map(find_absence, run.failed_commands)), None)
            remedy = f". {lacking} {WAY_OUT.rstrip('.')}" if lacking else ""
            title = f"{test_texts.render_failed_before(run)}{remedy}"
        return TestedDraft(title=title, is_failed=bool(broken), to_fix=broken)

    async def _test(self, commit: str) -> TestRun:
        services = self.context.services
        tester = self.context.build_tester(await self._open(), self.configuration)
        return await run_while_current(services, self.context.run, tester.test_base(commit))

    async def _load_texts_before(self) -> dict[str, str]:
        """The files in which conflicts were resolved, as they were at the merge base."""
        mirror = await self._open()
        before, *_ = await mirror.merge_bases(self.base, self.context.run.head_sha)
        found = await mirror.read(before, self.resolved)
        return {path: found.get(path, b"").decode(errors="replace") for path in self.resolved}

    async def _open(self) -> Mirror:
        services, run = self.context.services, self.context.run
        return await fetch_commits(services, run.repository, run.number, run.head_sha, self.base)
