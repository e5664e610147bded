"""Tests a commit in the sandbox: chooses the tests, runs the repository's commands, reads what they report.

Exit statuses decide; reports, which code of others writes, only explain them.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from agents.testing import command_detection
from agents.testing.command_detection import MANIFESTS, Command, Detected
from agents.testing.dependency_cache import Dependencies
from agents.testing.execution import execute
from agents.testing.test_selection import MOST_SOURCES, Selection
from agents.testing.worker_reports import read_cobertura, read_junit, select_tests
from agents.toolbox import Toolbox
from domain.config.configuration import Commands
from domain.errors import CodeAccessError, ToolError
from domain.review.changes import Change
from domain.review.review import RiskLevel
from domain.runs.testing import (
    LONGEST_MESSAGE,
    LONGEST_OUTPUT,
    MOST_TOLD,
    CommandResult,
    Coverage,
    Framework,
    Kind,
    TestCase,
    TestRun,
    diff_coverage,
    merge,
    without_known,
)
from domain.text.escaping import visible
from domain.text.redaction import outgoing
from workspace.checkout import Checkout, checked_out
from workspace.mirror import Mirror
from workspace.snapshot import Snapshot

_REPORT = 20_000_000  # bytes of one report
_SOURCES = 50_000_000  # bytes of all Python files that are looked through for imports
_CUT_LINE = 4_000  # characters of a command line
_DETAILS = 1_000  # of a failed test

_MOST_KNOWN = 50  # failed tests of a command that are tried without the change
_NOT_FOUND = 4  # how pytest ends if a test that is named is not there: it runs none of the others then
_EXTRA: frozenset[Kind] = frozenset({"build", "lint", "typecheck"})
_NO_RUNNER = (
    "The program of `{}` is not there. Install it in `commands.setup`, or have whoever operates Forge name a folder "
    "that holds it in FORGE_SANDBOX_TOOLS."
)

_Failed = Mapping[int, Sequence[TestCase]]
Tell = Callable[[str], Awaitable[None]]


async def _nobody(_doing: str) -> None:
    return None


@dataclass(frozen=True)
class Bounds:
    """How long commands may take, in seconds.

    :param command: each of them; :param retry: the failed tests once more.
    """

    command: float = 900.0
    retry: float = 300.0


@dataclass(frozen=True)
class _Files:
    """What is known of the files of a commit.

    :param manifests: path → content.
    """

    paths: Sequence[str]
    manifests: Mapping[str, str]

    def commands(self, configured: Commands, checkout: Checkout | None) -> Detected:
        """What to run in a checkout, in the same order in each of them."""
        results = "" if checkout is None else str(checkout.results_seen)
        return command_detection.detect(self.paths, self.manifests, configured, results)


@dataclass(frozen=True)
class Tester:
    """Tests commits of one repository.

    :param commands: what its configuration says, from its default branch.
    :param tell: is told in a few words what is being done.
    """

    mirror: Mirror
    toolbox: Toolbox
    commands: Commands
    tell: Tell = _nobody
    bounds: Bounds = field(default=Bounds())

    async def test(self, change: Change, level: RiskLevel) -> TestRun:
        """Test the head of a change; never an error: what could not be run is said.

        :param level: the risk of the change, which decides how many tests are run.
        """
        try:
            run = await self._tested(change, level)
        except (ToolError, CodeAccessError) as error:
            run = TestRun(not_run=str(error)[:1_000])
        self._dependencies.fill()
        return run

    @cached_property
    def _dependencies(self) -> Dependencies:
        return Dependencies(self.mirror, self.toolbox, self.commands)

    async def _tested(self, change: Change, level: RiskLevel) -> TestRun:
        head = change.head_sha
        await self.tell("Checking out")
        async with checked_out(self.mirror, head, self.toolbox.sandbox) as checkout:  # from now on every blob is here
            files = await self._files(head)
            detected = files.commands(self.commands, checkout)
            if not detected.tests:
                return TestRun(selection=detected.reason[:1_000])
            chosen = await self._chosen(head, files.paths, change, level)
            if not chosen.runs_all and not chosen.tests:
                return TestRun(selection=chosen.reason, is_unconcerned=True)
            if detected.setups:
                await self._dependencies.look()
            was_furnished = await self._dependencies.furnish(checkout)
            running = _Running(self, checkout, files.paths)
            run = await running.all(detected, chosen)
        if was_furnished and not _is_set_up(run):
            running, run = await self._without_furniture(head, files, chosen)
        if running.failed and not run.not_run:
            run = await self._weighed(run, change, files, chosen, running.failed)
        added = {file.path: frozenset(file.added_lines) for file in change.files}
        measured = None if run.coverage is None else diff_coverage(run.coverage, added)
        reason = " ".join(filter(None, (chosen.reason, detected.reason, running.left_out)))
        return run.model_copy(update={"diff_coverage": measured, "selection": reason[:1_000]})

    async def _without_furniture(self, head: str, files: _Files, chosen: Selection) -> tuple["_Running", TestRun]:
        """The same in an empty home: what others downloaded must not be why a set-up fails."""
        self._dependencies.do_without()
        async with checked_out(self.mirror, head, self.toolbox.sandbox) as checkout:
            running = _Running(self, checkout, files.paths)
            return running, await running.all(files.commands(self.commands, checkout), chosen)

    async def _weighed(
        self, run: TestRun, change: Change, files: _Files, chosen: Selection, failed: _Failed
    ) -> TestRun:
        """The failures told apart: what passes in a fresh checkout, and what fails without the change, too."""
        await self.tell("Running failed tests once more")
        again = await self._repeated(change.head_sha, files, chosen, failed)
        run = merge(run, TestRun(commands=tuple(again))) if again else run
        still = {case.id for case in run.failures}
        there = set((await Snapshot.of(self.mirror, change.merge_base)).files)
        commands = files.commands(self.commands, None).commands
        asked = {
            index: [case for case in cases if case.id in still and case.path in there][:_MOST_KNOWN]
            for index, cases in failed.items()
            if commands[index].framework is Framework.pytest
        }
        known = await self._failing(change.merge_base, files, chosen, asked)
        return without_known(run, still & known)

    async def _failing(self, base: str, files: _Files, chosen: Selection, asked: _Failed) -> set[str]:
        """The ids of those tests that fail at another commit, too."""
        for _ in range(2):
            asked = {index: cases for index, cases in asked.items() if cases}
            if not asked:
                return set()
            await self.tell("Running failed tests without this change")
            results = await self._repeated(base, files, chosen, asked)
            if not any(result.exit_status == _NOT_FOUND for result in results):
                return {case.id for result in results for case in result.cases if case.outcome.is_bad}
            asked = {
                index: [case for case in cases if f"{case.id}\n" not in f"{result.output}\n"]
                for (index, cases), result in zip(asked.items(), results, strict=True)
            }
        return set()

    async def _repeated(self, commit: str, files: _Files, chosen: Selection, failed: _Failed) -> list[CommandResult]:
        """Failed tests, and no others, in a fresh checkout that is set up anew; nothing where that is not possible."""
        try:
            async with checked_out(self.mirror, commit, self.toolbox.sandbox) as checkout:
                commands = files.commands(self.commands, checkout).commands
                await self._dependencies.furnish(checkout)
                running = _Running(self, checkout, files.paths)
                for command in commands:
                    if command.kind == "setup" and not (await running.one(command)).succeeded:
                        return []
                return [
                    await running.one(command_detection.again(commands[index], cases, chosen))
                    for index, cases in failed.items()
                ]
        except (ToolError, CodeAccessError):
            return []  # what failed stands as it is

    async def _files(self, commit: str) -> _Files:
        paths = tuple((await Snapshot.of(self.mirror, commit)).files)
        return _Files(paths, await self._texts(commit, [path for path in MANIFESTS if path in set(paths)]))

    async def _chosen(self, head: str, paths: Sequence[str], change: Change, level: RiskLevel) -> Selection:
        await self.tell("Choosing the tests")
        sources = [path for path in paths if path.endswith(".py")]
        texts: Mapping[str, str] = await self._texts(head, sources) if len(sources) <= MOST_SOURCES else {}
        return await select_tests(paths, texts, change.paths, level, {}, self.toolbox.pool)

    async def _texts(self, head: str, paths: Collection[str]) -> Mapping[str, str]:
        """The contents of text files, as far as there is room for them."""
        contents = await self.mirror.read(head, [*paths])
        room = _SOURCES
        texts: dict[str, str] = {}
        for path, content in contents.items():
            room -= len(content)
            if room >= 0:
                texts[path] = content.decode(errors="replace")
        return texts


class _Running:
    """Runs commands in one checkout.

    :ivar failed: position of a test command → its tests that failed.
    """

    def __init__(self, tester: Tester, checkout: Checkout, paths: Sequence[str]) -> None:
        self.failed: dict[int, Sequence[TestCase]] = {}
        self._tester = tester
        self._checkout = checkout
        self._paths = paths
        self._coverage: Coverage | None = None
        self._lacking: list[str] = []

    async def all(self, detected: Detected, chosen: Selection) -> TestRun:
        """Everything in its order; nothing after a set-up that failed, and no measuring without a test."""
        results: list[CommandResult] = []
        has_tested = False
        for index, each in enumerate(detected.commands):
            command = command_detection.narrowed(each, chosen)
            if command is None or (command.kind == "coverage" and not has_tested):
                continue
            result = await self.one(command)
            if command_detection.is_missing(result) and command.kind in _EXTRA and not command.is_configured:
                self._lacking.append(command.line)
                continue
            results.append(result)
            if command.kind == "setup" and not result.succeeded:
                break
            if command.kind == "test" and command_detection.is_missing(result):
                return TestRun(commands=tuple(results), not_run=_NO_RUNNER.format(command.line[:300]))
            if command.kind == "test":
                has_tested = True
                if failed := [case for case in result.cases if case.outcome.is_bad]:
                    self.failed[index] = failed
        return TestRun(commands=tuple(results), coverage=self._coverage)

    @property
    def left_out(self) -> str:
        """What was found to be run and is not installed, one sentence; empty if nothing."""
        named = ", ".join(f"`{line[:100]}`" for line in self._lacking)
        return f"Left out, because its program is not there: {named}." if named else ""

    async def one(self, command: Command) -> CommandResult:
        """Run a command and read what it leaves."""
        tester = self._tester
        if command.kind != "retry":
            await tester.tell(_DOING[command.kind])
        await self._checkout.run(("rm", "-rf", *map(self._result, _REPORTS)), seconds=30)
        seconds = tester.bounds.retry if command.kind == "retry" else tester.bounds.command
        done, lacks = await execute(command, self._checkout, tester.toolbox, tester.commands, seconds)
        printed = b"\n".join(part.data for part in (done.stdout, done.stderr) if part.total)
        cases, problem = await self._cases(command)
        problem = lacks or problem or await self._measure(command)
        return CommandResult(
            kind=command.kind,
            line=command.line[:_CUT_LINE],
            framework=command.framework,
            exit_status=done.status,
            output=_end(printed),
            seconds=done.seconds,
            cases=cases,
            writes_report=command.writes_report,
            report_problem=problem[:500],
        )

    async def _cases(self, command: Command) -> tuple[tuple[TestCase, ...], str]:
        """The cases of its report; and what is wrong with it, if something is."""
        if command.kind not in {"test", "retry"}:
            return (), ""
        try:
            document = await self._checkout.result("junit.xml", _REPORT)
            if document is None:
                return (), "It left no report." if command.writes_report else ""
            root = str(self._checkout.seen)
            cases = await read_junit(document, root, self._tester.toolbox.pool)
        except ToolError as error:
            return (), str(error)
        return await asyncio.to_thread(_told, cases), ""

    async def _measure(self, command: Command) -> str:
        """Take in the coverage it left; what is wrong with that, if something is."""
        if command.kind not in {"test", "coverage"}:
            return ""
        try:
            document = await self._checkout.result("coverage.xml", _REPORT)
            if document is not None:
                root = str(self._checkout.seen)
                self._coverage = await read_cobertura(document, root, self._paths, self._tester.toolbox.pool)
        except ToolError as error:
            return str(error)
        return ""

    def _result(self, name: str) -> str:
        return str(Path(self._checkout.results_seen, name))


_REPORTS = ("junit.xml", "coverage.xml")
_DOING: Mapping[Kind, str] = {
    "setup": "Setting up",
    "build": "Building",
    "lint": "Checking the style",
    "typecheck": "Checking the types",
    "test": "Running the tests",
    "coverage": "Measuring what the tests ran",
}


def _is_set_up(run: TestRun) -> bool:
    return all(result.succeeded for result in run.commands if result.kind == "setup")


def _end(printed: bytes) -> str:
    """The end of an output, in which nothing is hidden and no credential is left."""
    text = outgoing(visible(printed[-4 * LONGEST_OUTPUT :].decode(errors="replace")))
    return text[-LONGEST_OUTPUT:]


def _told(cases: Sequence[TestCase]) -> tuple[TestCase, ...]:
    """The cases with what the first failed ones say, in which no credential is left; the others say nothing."""
    failed = {case.id for case in [case for case in cases if case.outcome.is_bad][:MOST_TOLD]}
    return tuple(_without_secrets(case) if case.id in failed else _silent(case) for case in cases)


def _without_secrets(case: TestCase) -> TestCase:
    details = outgoing(case.details)[-_DETAILS:]  # what went wrong stands at the end of a trace
    return case.model_copy(update={"message": outgoing(case.message)[:LONGEST_MESSAGE], "details": details})


def _silent(case: TestCase) -> TestCase:
    return case.model_copy(update={"message": "", "details": ""})
