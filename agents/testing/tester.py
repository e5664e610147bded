"""Tests a commit in the sandbox: chooses tests, runs the repository's commands, and reads their reports.

Exit statuses decide. Reports only explain them, because untrusted code writes them.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from agents.testing import absence, command_detection, coverage
from agents.testing.execution import Dependencies, drop_frames, execute, read_ends
from agents.testing.runners import reports
from agents.testing.runners.python import build_environment
from agents.testing.runners.runner import (
    ProjectCommand,
    RepositoryFacts,
    add_folder,
    drop_folder,
    is_within,
    list_needed,
)
from agents.testing.runners.table import drop_refused
from agents.testing.test_selection import (
    CONFIGURED,
    EVERYTHING,
    MOST_SOURCES,
    UNCHOSEN,
    Selection,
    concerns_code,
    name_tests,
    select_in_worker,
)
from agents.toolbox import Toolbox
from domain.config.configuration import Commands
from domain.errors import CodeAccessError, ToolError
from domain.review.changes import Change
from domain.review.review import RiskLevel
from domain.runs.earlier_tests import Baseline, excuse_commands, excuse_failures, forget_output
from domain.runs.output_lines import count_mistakes, digest_output
from domain.runs.testing import (
    CHECKS,
    LONGEST_MESSAGE,
    MAX_DETAILED,
    CommandKind,
    CommandResult,
    Coverage,
    Framework,
    TestCase,
    TestRun,
    excuse_known,
    measure_diff_coverage,
    merge_retry,
)
from domain.text.redaction import redact_outgoing
from workspace.checkout import Checkout, check_out
from workspace.mirror import Mirror
from workspace.sandbox.processes import Output
from workspace.snapshot import Snapshot

READING_SECONDS = 30.0
"""For a worker that reads a report."""
_REPORT = 20_000_000  # bytes of one report
_SOURCES = 50_000_000  # bytes of all Python files that are looked through for imports
LEFT_NO_REPORT = "It left no report."
_CUT_LINE = 4_000  # characters of a command line
_DETAILS = 1_000  # of a failed test

_MOST_KNOWN = 50  # failed tests of a command that are tried without the change
_NOT_FOUND = 4  # pytest's exit status if a named test does not exist; it then runs none of the others

_NOT_SET_UP = "`{}`, which sets the repository up, failed: mend `commands.setup`."
_NONE_NAMED = "No command for tests takes these files: name files of tests, or ask for all that your changes concern."

_FailedTests = Mapping[int, Sequence[TestCase]]
Tell = Callable[[str], Awaitable[None]]


async def _ignore(_doing: str) -> None:
    return None


@dataclass(frozen=True)
class CommandTimeouts:
    """How long commands may take, in seconds.

    :param command: each command.
    :param retry: the second run of failed tests.
    """

    command: float = 900.0
    retry: float = 300.0


@dataclass(frozen=True)
class _Files:
    """The files of a commit.

    :param manifests: path → content.
    """

    commit: str
    paths: Sequence[str]
    manifests: Mapping[str, str]

    @cached_property
    def facts(self) -> RepositoryFacts:
        return RepositoryFacts(self.paths, self.manifests)

    def commands(self, configured: Commands, checkout: Checkout | None) -> command_detection.DetectedCommands:
        """The commands for a checkout, in the same order for every checkout."""
        results = "" if checkout is None else str(checkout.results_inside)
        return command_detection.detect(self.paths, self.manifests, configured, results)


@dataclass(frozen=True)
class Tester:
    """Tests commits of one repository.

    :param commands: from the configuration on the default branch.
    :param tell: called with what is being done, in a few words.
    :param baseline: what fails without the change; None if failed tests are to be tried without it.
    :param why_all: why all tests run at any risk, one sentence; empty if the risk decides.
    :param compares: whether everything that failed is tried without the change where ``baseline`` is None, and not only
        tests of pytest.
    """

    mirror: Mirror
    toolbox: Toolbox
    commands: Commands
    tell: Tell = _ignore
    bounds: CommandTimeouts = field(default=CommandTimeouts())
    baseline: Baseline | None = None
    why_all: str = ""
    compares: bool = False

    async def test(self, change: Change, level: RiskLevel) -> TestRun:
        """Test the head of a change. Raises no errors: the result says what could not run.

        :param level: the risk of the change, which decides how many tests run.
        """
        return forget_output(await self._run(change, level, ()))

    async def test_named(self, change: Change, names: Sequence[str]) -> TestRun:
        """The same with named tests only: files, or for pytest also single tests."""
        return forget_output(await self._run(change, RiskLevel.low, names))

    async def test_base(self, commit: str) -> TestRun:
        """All tests of a commit that no change is compared with, and what failed commands say without a report."""
        nothing = await self.mirror.change(commit, commit)
        return await self._run(nothing, RiskLevel.high, ())

    async def measure(self, commit: str) -> TestRun:
        """All tests of a commit for their coverage: without checks, and without a second try of what fails."""
        try:
            async with check_out(self.mirror, commit, self.toolbox.sandbox) as checkout:
                files = await self._load_files(commit)
                detected = files.commands(self.commands, checkout).without(CHECKS - {"build"})
                if detected.setups:
                    await self._dependencies.find_cached()
                await self._dependencies.install(checkout)
                return await _CheckoutRunner(self, checkout, files).run_all(detected, EVERYTHING, is_base=True)
        except (ToolError, CodeAccessError) as error:
            return TestRun(not_run=str(error)[:1_000])

    async def run_commands(
        self, tree: str, build: Callable[[str], Sequence[ProjectCommand]], most: float = math.inf
    ) -> TestRun:
        """Run commands of tests on a commit or tree, one after another in one checkout that is set up.

        Raises no errors: the result says what could not run.

        :param build: the commands, given the folder for reports as they see it.
        :param most: seconds for all of them; those that are left then are not run.
        """
        try:
            async with check_out(self.mirror, tree, self.toolbox.sandbox) as checkout:
                wanted = build(str(checkout.results_inside))
                folders = {each.folder for each in wanted}
                failed = await self.set_up(checkout, tree, uses_cache=True, folders=folders)
                if failed is not None:
                    why = _explain_absence(failed) or _NOT_SET_UP.format(failed.line[:300])
                    return TestRun(commands=(failed,), not_run=why)
                running = _CheckoutRunner(self, checkout, await self._load_files(tree))
                results: list[CommandResult] = []
                for each in wanted:
                    left = most - sum(result.seconds for result in results)
                    if left > 0:
                        results.append(await running.run_one(each, left))
        except (ToolError, CodeAccessError) as error:
            return TestRun(not_run=str(error)[:1_000])
        return TestRun(commands=tuple(results))

    async def set_up(
        self, checkout: Checkout, commit: str, *, uses_cache: bool, folders: Collection[str] | None = None
    ) -> CommandResult | None:
        """Set a checkout up for whoever works in it; the command that failed, if one did.

        :param uses_cache: whether downloads of the default branch's set-up may be there.
        :param folders: the parts of the repository that are needed beside its top; None: all that can be set up.
        :raises ToolError: no sandbox here contains untrusted code.
        """
        files = await self._load_files(commit)
        setups = files.commands(self.commands, checkout).setups
        if setups and uses_cache:
            await self._dependencies.find_cached()
            await self._dependencies.install(checkout)
        running = _CheckoutRunner(self, checkout, files)
        for command in _keep_needed(setups, folders):
            result = await running.run_one(command)
            if not result.is_successful and (folders is not None or not command.folder):
                return result
        return None

    async def _run(self, change: Change, level: RiskLevel, names: Sequence[str]) -> TestRun:
        try:
            run = await self._test_head(change, level, names)
        except (ToolError, CodeAccessError) as error:
            run = TestRun(not_run=str(error)[:1_000])
        run = run if self.baseline is None else excuse_failures(run, self.baseline)
        self._dependencies.warm_cache()
        return run

    @cached_property
    def _dependencies(self) -> Dependencies:
        return Dependencies(self.mirror, self.toolbox, self.commands)

    async def _test_head(self, change: Change, level: RiskLevel, names: Sequence[str]) -> TestRun:
        head = change.head_sha
        await self.tell("Checking out")
        async with check_out(self.mirror, head, self.toolbox.sandbox) as checkout:  # fetches every blob
            files = await self._load_files(head)
            detected = files.commands(self.commands, checkout)
            if not detected.tests:
                return TestRun(selection=detected.reason[:1_000])
            chosen = name_tests(names) if names else await self._choose_tests(head, files.paths, change, level)
            if chosen.tests and all(command.is_configured for command in detected.tests):
                chosen = chosen.model_copy(update={"reason": UNCHOSEN}) if names else CONFIGURED
            chosen = chosen.model_copy(update={"leaves": _list_unconcerned(detected, change, chosen)})
            if not chosen.runs_all and not chosen.tests:
                return TestRun(selection=chosen.reason, is_unconcerned=True)
            if detected.setups:
                await self._dependencies.find_cached()
            was_furnished = await self._dependencies.install(checkout)
            running = _CheckoutRunner(self, checkout, files)
            is_base = not change.paths
            run = await running.run_all(detected, chosen, is_base=is_base)
        if was_furnished and not _is_set_up(run):
            running, run = await self._run_without_cache(head, files, chosen, is_base=is_base)
        if names and not run.test_commands and not run.not_run and _is_set_up(run):
            run = run.model_copy(update={"not_run": _NONE_NAMED})
        if running.failed and not run.not_run:
            run = await self._classify_failures(run, change, files, chosen, running.failed)
        if self.compares and self.baseline is None and not run.not_run:
            run = await self._excuse_commands(run, change, files, chosen)
        added = {file.path: frozenset(file.added_lines) for file in change.files}
        measured = None if run.coverage is None else measure_diff_coverage(run.coverage, added)
        reason = " ".join(filter(None, (chosen.reason, detected.reason, running.note_on_programs)))
        found = {"diff_coverage": measured, "selection": reason[:1_000], "runs_all": chosen.runs_all}
        return run.model_copy(update=found)

    async def _run_without_cache(
        self, head: str, files: _Files, chosen: Selection, *, is_base: bool
    ) -> tuple["_CheckoutRunner", TestRun]:
        """The same in an empty home, because a download of an earlier run may have broken the set-up."""
        self._dependencies.disable()
        async with check_out(self.mirror, head, self.toolbox.sandbox) as checkout:
            running = _CheckoutRunner(self, checkout, files)
            detected = files.commands(self.commands, checkout)
            return running, await running.run_all(detected, chosen, is_base=is_base)

    async def _classify_failures(
        self, run: TestRun, change: Change, files: _Files, chosen: Selection, failed: _FailedTests
    ) -> TestRun:
        """The run, with its flaky failures and those that also fail without the change."""
        excused = frozenset(() if self.baseline is None else self.baseline.failing)
        asked = {index: [case for case in cases if case.id not in excused] for index, cases in failed.items()}
        asked = {index: cases for index, cases in asked.items() if cases}
        if asked:
            await self.tell("Running failed tests once more")
            again = await self._rerun_tests(change.head_sha, files, chosen, asked)
            run = merge_retry(run, TestRun(commands=tuple(again))) if again else run
        if self.baseline is not None or change.head_sha == change.merge_base:
            return run
        still = {case.id for case in run.failures}
        there = set((await Snapshot.of(self.mirror, change.merge_base)).files)
        commands = files.commands(self.commands, None).commands
        asked = {
            index: [case for case in cases if case.id in still and case.path in there][:_MOST_KNOWN]
            for index, cases in failed.items()
            if self.compares or commands[index].framework is Framework.pytest
        }
        known = await self._find_failing(change.merge_base, files, chosen, asked)
        return excuse_known(run, still & known)

    async def _find_failing(self, base: str, files: _Files, chosen: Selection, asked: _FailedTests) -> set[str]:
        """The ids of the tests that also fail at another commit."""
        for _ in range(2):
            asked = {index: cases for index, cases in asked.items() if cases}
            if not asked:
                return set()
            await self.tell("Running failed tests without this change")
            results = await self._rerun_tests(base, files, chosen, asked)
            if not any(map(_names_nothing, results)):
                return {case.id for result in results for case in result.cases if case.outcome.is_bad}
            asked = {
                index: [case for case in cases if f"{case.id}\n" not in f"{result.output}\n"]
                for (index, cases), result in zip(asked.items(), results, strict=True)
            }
        return set()

    async def _excuse_commands(self, run: TestRun, change: Change, files: _Files, chosen: Selection) -> TestRun:
        """The run, in which no command counts that fails without the change, too, and names no tests."""
        failed = {(each.kind, each.line) for each in run.failed_commands if not each.cases}
        if not failed or change.head_sha == change.merge_base:
            return run
        there = (await Snapshot.of(self.mirror, change.merge_base)).files
        has_all = all(name.partition("::")[0] in there for name in chosen.tests)

        def choose(commands: Sequence[ProjectCommand]) -> Iterator[ProjectCommand]:
            for each in commands:
                narrowed = command_detection.narrow_command(each, chosen, files.facts)
                if narrowed is not None and (each.kind, narrowed.line) in failed and (has_all or narrowed == each):
                    yield narrowed

        await self.tell("Running failed commands without this change")
        return excuse_commands(run, await self._rerun(change.merge_base, files, choose))

    async def _rerun_tests(
        self, commit: str, files: _Files, chosen: Selection, failed: _FailedTests
    ) -> list[CommandResult]:
        """Run only the failed tests in a fresh checkout; empty if that is not possible.

        Without the change their files run whole but for pytest: only that tells which tests are not there.
        """

        def choose(commands: Sequence[ProjectCommand]) -> Iterator[ProjectCommand]:
            for index, cases in failed.items():
                command = commands[index]
                if commit == files.commit or command.framework is Framework.pytest:
                    yield command_detection.build_retry(command, cases, chosen, files.facts)
                else:
                    whole = name_tests(tuple(dict.fromkeys(case.path for case in cases if case.path)))
                    narrowed = command_detection.narrow_command(command, whole, files.facts) or command
                    yield narrowed.model_copy(update={"kind": "retry"})

        return await self._rerun(commit, files, choose)

    async def _rerun(
        self, commit: str, files: _Files, choose: Callable[[Sequence[ProjectCommand]], Iterable[ProjectCommand]]
    ) -> list[CommandResult]:
        """Run some of the commands in a fresh checkout that is set up; empty if that is not possible."""
        try:
            async with check_out(self.mirror, commit, self.toolbox.sandbox) as checkout:
                commands = files.commands(self.commands, checkout).commands
                await self._dependencies.install(checkout)
                running = _CheckoutRunner(self, checkout, files)
                wanted = [*choose(commands)]
                for command in _keep_needed(commands, {each.folder for each in wanted}):
                    if command.kind == "setup" and not (await running.run_one(command)).is_successful:
                        return []
                return [await running.run_one(command) for command in wanted]
        except (ToolError, CodeAccessError):
            return []  # the failures stay as they are

    async def _load_files(self, commit: str) -> _Files:
        paths = tuple((await Snapshot.of(self.mirror, commit)).files)
        return _Files(commit, paths, await self.load_texts(commit, list_needed(frozenset(paths))))

    async def _choose_tests(self, head: str, paths: Sequence[str], change: Change, level: RiskLevel) -> Selection:
        if self.why_all and concerns_code(change.paths):
            return Selection(runs_all=True, reason=self.why_all)
        await self.tell("Choosing the tests")
        sources = [path for path in paths if path.endswith(".py")]
        texts: Mapping[str, str] = await self.load_texts(head, sources) if len(sources) <= MOST_SOURCES else {}
        return await select_in_worker(paths, texts, change.paths, level, self.toolbox.pool)

    async def load_texts(self, head: str, paths: Collection[str]) -> Mapping[str, str]:
        """The contents of text files, up to a total size."""
        contents = await self.mirror.read(head, [*paths])
        room = _SOURCES
        texts: dict[str, str] = {}
        for path, content in contents.items():
            room -= len(content)
            if room >= 0:
                texts[path] = content.decode(errors="replace")
        return texts


class _CheckoutRunner:
    """Runs commands in one checkout.

    :ivar failed: position of a test command → its tests that failed.
    """

    def __init__(self, tester: Tester, checkout: Checkout, files: _Files) -> None:
        self.failed: dict[int, Sequence[TestCase]] = {}
        self._tester = tester
        self._checkout = checkout
        self._paths = files.paths
        self._commit = files.commit
        self._facts = files.facts
        self._coverage: Coverage | None = None
        self._lacking: list[str] = []

    async def run_all(
        self, detected: command_detection.DetectedCommands, chosen: Selection, *, is_base: bool = False
    ) -> TestRun:
        """Run all commands in order; none after a failed set-up, and no coverage without a test.

        :param is_base: no change asks for a part of the repository, so one that cannot run here is left out.
        """
        results: list[CommandResult] = []
        has_tested = False
        for index, each in enumerate(detected.commands):
            command = command_detection.narrow_command(each, chosen, self._facts)
            if command is None or (command.kind == "coverage" and not has_tested):
                continue
            result = await self.run_one(command)
            lacks = _explain_absence(result)
            is_optional = command.kind in CHECKS or (is_base and bool(command.folder))
            if lacks and is_optional and not command.is_configured:
                self._lacking.append(command.line)
                continue
            results.append(result)
            if command.kind == "setup" and not result.is_successful:
                return TestRun(commands=tuple(results), not_run=lacks)
            if command.kind == "test" and lacks:
                return TestRun(commands=tuple(results), not_run=lacks)
            if command.kind == "test":
                has_tested = True
                if failed := [case for case in result.cases if case.outcome.is_bad]:
                    self.failed[index] = failed
        return TestRun(commands=tuple(results), coverage=self._coverage)

    @property
    def note_on_programs(self) -> str:
        """The commands whose program is not installed, in one sentence; or empty."""
        named = ", ".join(f"`{line[:100]}`" for line in self._lacking)
        return f"Left out, because its program is not installed: {named}." if named else ""

    async def run_one(self, command: ProjectCommand, most: float = math.inf) -> CommandResult:
        """Run a command and read its reports.

        :param most: seconds that it may take, if that is less than its bound.
        """
        tester = self._tester
        if command.kind != "retry":
            await tester.tell(_DOING[command.kind])
        reports_of_command = sorted({command.report.file, "coverage.xml"} - {""})
        if left := [name for name in reports_of_command if self._checkout.may_have_result(name)]:
            await self._checkout.run(("rm", "-rf", *map(self._result_path, left)), seconds=30)
        seconds = min(most, tester.bounds.retry if command.kind == "retry" else tester.bounds.command)
        done, lacks = await execute(
            self._add_environment(command), self._checkout, tester.toolbox, tester.commands, seconds
        )
        code = f"{self._checkout.code_inside}/".encode()  # a temporary folder at level 2
        streams = [part.data.replace(code, b"") for part in (done.stdout, done.stderr) if part.total]
        printed = b"\n".join(streams)
        plain = drop_refused(command.words, printed) if done.status else ()
        if plain and plain != command.words:
            return await self.run_one(command.model_copy(update={"words": plain}), most)
        cases, problem = await self._read_cases(command, done.stdout)
        uncovered = await self._read_coverage(command)
        is_whole = done.stdout.is_complete and done.stderr.is_complete
        is_compared = done.status != 0 and not cases and is_whole
        mistakes, digest = await asyncio.to_thread(_keep, printed, command.kind) if is_compared else (None, "")
        return CommandResult(
            kind=command.kind,
            line=command.line[:_CUT_LINE],
            framework=command.framework,
            exit_status=done.status,
            output=read_ends(*streams),
            seconds=done.seconds,
            cases=cases,
            writes_report=command.writes_report,
            report_problem=(lacks or problem or uncovered)[:500],
            has_bad_coverage=bool(uncovered),
            mistakes=mistakes,
            digest=digest,
        )

    def _add_environment(self, command: ProjectCommand) -> ProjectCommand:
        """The command with what lets its tests import the program, where no configured set-up sees to that."""
        if self._tester.commands.setup is not None:
            return command
        here = self._facts.below(command.folder)
        added = build_environment(here, command.framework, str(self._checkout.code_inside / command.folder))
        return command.model_copy(update={"environment": (*added.items(), *command.environment)})

    async def _read_cases(self, command: ProjectCommand, printed: Output) -> tuple[tuple[TestCase, ...], str]:
        """The cases of its report, and what is wrong with the report, or empty."""
        if command.kind not in {"test", "retry"}:
            return (), ""
        try:
            report, written = command.report, None
            if report.file:
                written = await self._checkout.result(report.file, _REPORT)
            is_printed = (not report.file or report.or_printed) and printed.is_complete
            document = written or (printed.data if is_printed else None)
            if document is None:
                return (), LEFT_NO_REPORT if command.writes_report else ""
            place = await self._locate(command)
            job = partial(reports.parse, command.report.format, document, place)
            cases = await self._tester.toolbox.pool.call(job, READING_SECONDS)
        except ToolError as error:
            return (), str(error)
        placed = [add_folder(case, command.folder) for case in cases]
        return await asyncio.to_thread(_redact_cases, placed), ""

    async def _locate(self, command: ProjectCommand) -> reports.RepositoryPlace:
        """What is needed to know the files of tests: their paths, and their texts where a report names no file.

        All as they are called in the folder of the command.
        """
        root, folder = str(self._checkout.code_inside / command.folder), command.folder
        runner = command_detection.find_runner(command, self._facts)
        owned = [path for path in self._paths if runner is not None and runner.owns(path)]
        paths = [drop_folder(path, folder) for path in owned]
        if command.report.file or not paths:
            return reports.RepositoryPlace(root, paths)
        texts = await self._tester.load_texts(self._commit, owned)
        return reports.RepositoryPlace(root, paths, {drop_folder(path, folder): text for path, text in texts.items()})

    async def _read_coverage(self, command: ProjectCommand) -> str:
        """Read its coverage report; what is wrong with the report, or empty."""
        if command.kind not in {"test", "coverage"}:
            return ""
        try:
            document = await self._checkout.result("coverage.xml", _REPORT)
            if document is not None:
                root = str(self._checkout.code_inside)
                job = partial(coverage.parse, document, root, self._paths)
                self._coverage = await self._tester.toolbox.pool.call(job, READING_SECONDS)
        except ToolError as error:
            return str(error)
        return ""

    def _result_path(self, name: str) -> str:
        return str(Path(self._checkout.results_inside, name))


_DOING: Mapping[CommandKind, str] = {
    "setup": "Setting up",
    "build": "Building",
    "lint": "Checking the style",
    "typecheck": "Checking the types",
    "test": "Running the tests",
    "coverage": "Measuring what the tests ran",
}


def _keep_needed(commands: Sequence[ProjectCommand], folders: Collection[str] | None) -> list[ProjectCommand]:
    """The commands of the top and of some parts of the repository; of all where no parts are named."""
    return [each for each in commands if folders is None or each.folder in {"", *folders}]


def _list_unconcerned(
    detected: command_detection.DetectedCommands, change: Change, chosen: Selection
) -> tuple[str, ...]:
    """The folders of commands in which a change touches nothing, and of whose tests none is chosen."""
    touched = [*change.paths, *(name.partition("::")[0] for name in chosen.tests)]
    folders = dict.fromkeys(command.folder for command in detected.commands if command.folder)
    return tuple(each for each in folders if touched and not any(is_within(path, each) for path in touched))


def _explain_absence(result: CommandResult) -> str:
    """What it lacks and who can mend that; empty where it could run."""
    lacking = absence.find_absence(result)
    why = result.report_problem if result.kind == "setup" else ""
    return "" if lacking is None else f"{lacking} {why or absence.WAY_OUT}"


def _names_nothing(result: CommandResult) -> bool:
    return result.framework is Framework.pytest and result.exit_status == _NOT_FOUND


def _is_set_up(run: TestRun) -> bool:
    return all(result.is_successful for result in run.commands if result.kind == "setup")


def _keep(printed: bytes, kind: CommandKind) -> tuple[dict[str, int] | None, str]:
    """What is kept of an output for a comparison: the mistakes of a check, or a digest of what tests say."""
    said = printed.decode(errors="replace")
    return (count_mistakes(said), "") if kind in CHECKS else (None, digest_output(said))


def _redact_cases(cases: Sequence[TestCase]) -> tuple[TestCase, ...]:
    """The cases, with redacted texts of the first failed ones, and without texts of the others."""
    failed = {case.id for case in [case for case in cases if case.outcome.is_bad][:MAX_DETAILED]}
    return tuple(_redact_case(case) if case.id in failed else _clear_texts(case) for case in cases)


def _redact_case(case: TestCase) -> TestCase:
    details = redact_outgoing(drop_frames(case.details))[-_DETAILS:]  # the error is at the end of a trace
    return case.model_copy(update={"message": redact_outgoing(case.message)[:LONGEST_MESSAGE], "details": details})


def _clear_texts(case: TestCase) -> TestCase:
    return case.model_copy(update={"message": "", "details": ""})
