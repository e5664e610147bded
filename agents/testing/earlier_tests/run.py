"""Runs the earlier tests of a change on its code, and those that fail on the code they were written for."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.testing.command_detection import ProjectCommand
from agents.testing.earlier_tests.choice import Choice, Entry, choose
from agents.testing.earlier_tests.outcomes import Runs, decide
from agents.testing.test_selection import is_runnable
from agents.testing.tester import Tester
from domain.errors import CodeAccessError
from domain.review.changes import Change
from domain.runs.earlier_tests import MOST_TOLD, NOTHING_EARLIER, EarlierOutcome, EarlierTest, EarlierTests, Fate
from domain.runs.testing import CaseOutcome, Framework, TestCase, TestRun
from workspace.commits import write_tree
from workspace.snapshot import Snapshot


@dataclass(frozen=True)
class EarlierBounds:
    """How much is run.

    :param files: of tests, the most telling first.
    """

    files: int = 60


BOUNDS = EarlierBounds()


async def run_earlier_tests(tester: Tester, change: Change, bounds: EarlierBounds = BOUNDS) -> EarlierTests:
    """Run the tests as they were at the merge base on the program as it is at head.

    Raises no errors: the result says what could not be run.
    """
    try:
        return await _Comparison(tester, change, bounds).run()
    except CodeAccessError as error:
        return EarlierTests(not_run=(str(error)[:1_000],))


class _Comparison:
    def __init__(self, tester: Tester, change: Change, bounds: EarlierBounds) -> None:
        self._tester = tester
        self._change = change
        self._bounds = bounds
        self._seconds = 0.0

    async def run(self) -> EarlierTests:
        base, head = await self._list(self._change.merge_base), await self._list(self._change.head_sha)
        choice = choose(base, head, lambda path: path.endswith(".py") and is_runnable(path))
        files = choice.touched[: self._bounds.files]
        if not files:
            return NOTHING_EARLIER
        tree = await write_tree(self._tester.mirror.git, self._change.head_sha, choice.overlay)
        await self._tester.tell("Running the earlier tests on the new code")
        first, again = await self._run(tree, files, times=2)
        if first.not_run:
            return EarlierTests(not_run=(first.not_run,), seconds=self._seconds)
        overlay = {case.id: case for case in first.cases}
        bad = {case.path for case in first.cases if case.outcome is not CaseOutcome.passed}
        if not bad:
            return EarlierTests(holding=len(overlay), seconds=self._seconds)
        runs = await self._compare(overlay, again, [path for path in files if path in bad], choice, head)
        return self._tell(runs, head)

    async def _compare(
        self,
        overlay: dict[str, TestCase],
        again: TestRun,
        files: Sequence[str],
        choice: Choice,
        head: dict[str, Entry],
    ) -> Runs:
        once, twice = await self._run(self._change.merge_base, files, times=2)
        there = [path for path in files if path in head]
        now = (await self._run(self._change.head_sha, there))[0] if there else TestRun()
        passed = [{case.id for case in each.cases if case.outcome is CaseOutcome.passed} for each in (once, twice)]
        return Runs(
            overlay=overlay,
            again={case.id: case for case in again.cases},
            base=passed[0] & passed[1],
            head={case.id: case for case in now.cases},
        )

    def _tell(self, runs: Runs, head: dict[str, Entry]) -> EarlierTests:
        tests: list[EarlierTest] = []
        for case in runs.overlay.values():
            outcome = decide(case.id, runs)
            if outcome is not EarlierOutcome.holds and case.path:
                tests.append(
                    EarlierTest(
                        id=case.id,
                        path=case.path,
                        line=case.line,
                        outcome=outcome,
                        fate=Fate.rewritten if case.id in runs.head else Fate.removed,
                        output=case.details[-2_000:],
                        head_path=case.path if case.path in head else None,
                    )
                )
        holding = sum(case.outcome is CaseOutcome.passed for case in runs.overlay.values())
        return EarlierTests(tests=tuple(tests[:MOST_TOLD]), holding=holding, seconds=self._seconds)

    async def _list(self, commit: str) -> dict[str, Entry]:
        files = (await Snapshot.of(self._tester.mirror, commit)).files
        return {path: (file.mode, file.blob) for path, file in files.items() if not file.has_odd_name}

    async def _run(self, tree: str, files: Sequence[str], times: int = 1) -> list[TestRun]:
        def build(results: str) -> list[ProjectCommand]:
            report = (
                "-o",
                "junit_family=xunit1",
                f"--junit-xml={results}/junit.xml",
                "--continue-on-collection-errors",
            )
            words = ("python3", "-m", "pytest", *report, *files)
            return times * [ProjectCommand(kind="test", words=words, framework=Framework.pytest, writes_report=True)]

        run = await self._tester.run_commands(tree, build)
        self._seconds += sum(each.seconds for each in run.commands)
        if run.not_run or len(run.commands) != times:
            return times * [run]
        return [TestRun(commands=(each,)) for each in run.commands]
