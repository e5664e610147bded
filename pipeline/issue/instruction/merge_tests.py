"""Runs the tests of both sides of a merge and of its result, before it is pushed."""

from dataclasses import dataclass, field

from agents.testing.absence import WAY_OUT, find_absence
from agents.testing.tester import Tester
from domain.config.configuration import Configuration
from domain.runs.testing import SuiteVerdict, TestRun, decide_verdict
from messages import instructions as texts
from messages import tests as test_texts
from pipeline.checkout import fetch_commits
from pipeline.issue.instruction.draft_tests import DraftTests, TestedDraft
from pipeline.run_context import RunContext, run_while_current
from safety.conflicts import SideTests, find_broken
from workspace.mirror import Mirror


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
            return TestedDraft(title=texts.leave_to_workflows())
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
        tester = Tester(await self._open(), services.toolbox, self.configuration.commands)
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
