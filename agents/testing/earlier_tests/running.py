"""Runs files of tests on a tree, and says how each of their tests ended and what could not be loaded."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from agents.testing.absence import WAY_OUT, find_absence
from agents.testing.earlier_tests.choice import Entry
from agents.testing.earlier_tests.names import find_missing
from agents.testing.earlier_tests.outcomes import SharedChange
from agents.testing.earlier_tests.reading import Reader
from agents.testing.earlier_tests.texts import Version
from agents.testing.runners.runner import ProjectCommand, RepositoryFacts, Runner, list_needed
from agents.testing.runners.table import list_runners
from agents.testing.tester import LEFT_NO_REPORT, Tester
from domain.runs.earlier_tests import BaseRun
from domain.runs.testing import LONGEST_ID, CaseOutcome, CommandResult, Framework, TestCase, TestRun
from domain.text.escaping import cut_words


@dataclass(frozen=True)
class Ran:
    """How files of tests ended.

    :param cases: id → how it ended, of tests and not of files that could not be loaded.
    :param loading: path → what it printed, of the files that could not be loaded.
    :param not_run: why some did not run, one sentence each.
    :param has_begun: False: nothing could be run at all.
    :param hushed: ids of tests that are bad although their command ended with zero.
    :param mixing: the frameworks whose report did not say which of several files a test is in, or was not readable, or
        which one file that cannot be loaded kept from running any other.
    """

    cases: Mapping[str, TestCase] = field(default_factory=dict[str, TestCase])
    loading: Mapping[str, str] = field(default_factory=dict[str, str])
    not_run: tuple[str, ...] = ()
    has_begun: bool = True
    hushed: frozenset[str] = frozenset()
    mixing: frozenset[Framework] = frozenset()


class BaseRunKeeper(Protocol):
    """Keeps how files of tests ended on the code they were written for, for the next change of the same base."""

    async def find(self, files: Sequence[str]) -> BaseRun | None:
        """What is kept of exactly these files."""
        ...

    async def save(self, files: Sequence[str], base: BaseRun) -> None:
        """Keep it."""
        ...


TOO_LONG = "`{}` took too long and was ended: name a faster command, or fewer tests in one file."
_MOST_KEPT = 5_000  # cases of one run
_NOT_BELIEVED = "`{}` ended with {}, although its report tells of no failure, so Forge does not go by it."
_LEAVES_REPORT = re.compile(r" (?:-o junit_|--(?:json|junit-xml|outputFile|reporter|test-reporter)\b)")
_TIME_IS_UP = "Their time was up before all of them had run."
_BY_FILE = frozenset({Framework.mocha})  # before version 8, no test is told with its file
_LOADS_ALL = frozenset({Framework.rspec, Framework.minitest, Framework.phpunit})  # before any test runs
_ALONE = frozenset({Framework.node, Framework.tape, Framework.ava})  # whose reports never tell it
_WARNING = "::Warning"  # by which PHPUnit says that a class has no tests
_NO_REPORT = "`{}` ended without saying how its tests ended."


def name_call(result: CommandResult) -> str:
    """A command as people call it, without what has it leave a report."""
    return cut_words(_LEAVES_REPORT.split(result.line, maxsplit=1)[0], 100)


def read_result(result: CommandResult, files: Sequence[str]) -> Ran:
    """What a command of tests showed of some files.

    An exit status of zero is not believed where a case is bad; a case that no report tells proves nothing.
    """
    if absence := find_absence(result):
        return Ran(not_run=(f"{absence} {WAY_OUT}",), has_begun=False)
    if result.exit_status is None:
        return Ran(not_run=(TOO_LONG.format(name_call(result)),))
    if not result.is_successful and result.cases and not any(case.outcome.is_bad for case in result.cases):
        return Ran(not_run=(_NOT_BELIEVED.format(name_call(result), result.exit_status),))
    tests = [case for case in result.cases if not stands_for_file(case) and not _names_whole_file(case, files)]
    tests = [case for case in tests if not (result.framework is Framework.phpunit and case.id.endswith(_WARNING))]
    own = [_place(case, files) for case in tests]
    if result.framework is Framework.unittest:  # only a subtest that fails has a row of its own
        own = [case.model_copy(update={"id": case.id.partition(" ")[0]}) for case in own]
    cases = {case.id: case for case in own}
    whole = [case for case in result.cases if stands_for_file(case) and case.path]
    told = {case.path or "": case.details or case.message for case in whole}
    loading = {path: text if find_missing(text) else result.output for path, text in told.items()}
    seen = {case.path for case in cases.values()}
    silent = [path for path in files if path not in seen and path not in loading]
    if silent and not result.is_successful:
        loading.update(dict.fromkeys(silent, result.output))
    unproven = _NO_REPORT.format(name_call(result)) if result.is_successful and not result.cases else ""
    is_mixing = len(files) > 1 and any(case.path is None for case in tests)
    mixing = frozenset({result.framework} & _BY_FILE if is_mixing else ())
    is_stopped = not cases and not result.is_successful and result.framework in _LOADS_ALL
    if len(files) > 1 and (is_stopped or _is_unreadable(result)):
        mixing = frozenset({result.framework})
    hushed = frozenset(name for name, case in cases.items() if case.outcome.is_bad and result.is_successful)
    not_run = (unproven,) if unproven and not result.has_no_tests else ()
    return Ran(cases, loading, not_run, hushed=hushed, mixing=mixing)


def _is_unreadable(result: CommandResult) -> bool:
    """Whether a report is there and cannot be read, as one file has tens of thousands of tests."""
    is_broken = bool(result.report_problem) and not result.has_bad_coverage
    return is_broken and not result.cases and result.report_problem != LEFT_NO_REPORT


def _place(case: TestCase, files: Sequence[str]) -> TestCase:
    """The case with its file, where its report does not tell it and only one was run."""
    # A test that is inherited is where it is written, and a package of Go runs whole.
    is_told = case.path in files or (case.path or "").endswith((".py", "_test.go"))
    if is_told or len(files) != 1:
        return case
    name = case.id if case.id.startswith(files[0]) else f"{files[0]}::{case.id}"
    return case.model_copy(update={"path": files[0], "id": name[:LONGEST_ID]})


def _names_whole_file(case: TestCase, files: Sequence[str]) -> bool:
    """Whether a failed case has the name of a file, as node:test calls one that it cannot load."""
    return case.outcome.is_bad and case.id.endswith(tuple(f"{mark}{path}" for path in files for mark in ("/", "::")))


_NOT_IMPORTED = "Failed to import test module"  # unittest says so of a file, as if that were a test


def stands_for_file(case: TestCase) -> bool:
    """Whether a case of a report stands for a whole file that could not be loaded."""
    if not case.outcome.is_bad:
        return False
    if _NOT_IMPORTED in case.details:
        return True
    if not case.path:
        return False
    module = case.path.removesuffix(".py").replace("/", ".")
    return case.id in {case.path, f"{case.path}::{module}", f"{case.path}::{case.path.rpartition('/')[2]}"}


_ROW = re.compile(r"\[.*\]$| with data set (?:#\d+|\"[^\n]*\"|@\S+)(?: \(.*\))?$", re.DOTALL)
_NUMBERED = re.compile(r" with data set #\d+$")
_OF_DATA_SET = re.compile(r" with data set .*$", re.DOTALL)


def find_numbered(name: str) -> str | None:
    """The test of a row that is called by its number alone; None if it is no such row."""
    return find_table(name) if _NUMBERED.search(name) else None


def find_table(name: str) -> str | None:
    """The test of a row of PHPUnit, by whatever that is called; None if it is none."""
    found = _OF_DATA_SET.search(name)
    return None if found is None else name[: found.start()]


def find_version(case: TestCase, versions: Sequence[Version]) -> Version | None:
    """The text of a test, by the name that its runner has for it."""
    name = _ROW.sub("", case.id)
    squashed = _squash(name)
    parts = [_squash(part) for part in re.split(r"::| › | > |/|#|\\|\.(?=\w+$)| — |\(|::", name)]
    rated = [(_rate(each, squashed, parts, case), each) for each in versions]
    best = max(rated, key=lambda pair: pair[0], default=None)
    return best[1] if best is not None and best[0] > 0 else None


def _rate(version: Version, name: str, parts: Sequence[str], case: TestCase) -> float:
    own = _squash(version.test.name)
    if not own:
        return 0
    matches = own in parts or name.endswith(own) or _matches_template(version.test.name, case.id)
    if not matches:
        return 0
    around = sum(_squash(group) in name for group in version.test.groups)
    is_at = case.line is not None and version.test.start <= case.line <= version.test.end
    is_whole = version.test.name in case.id  # of names that differ by signs alone
    return 1 + len(own) / 1_000 + around / 10 + is_at + is_whole / 1_000_000


def _matches_template(title: str, name: str) -> bool:
    """Whether a name may come from a title with places for values, such as ``adds %d`` or ``adds ${a}``."""
    if not re.search(r"%[a-z#$]|\$\{?\w|#\{", title):
        return False
    parts = [re.escape(part) for part in re.split(r"%[a-z#$]|\$\{[^}]*\}|\$\w+(?:\.\w+)*|#\{[^}]*\}", title)]
    return re.search(".{0,200}".join(parts) + "$", name, re.DOTALL) is not None


def _squash(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).lower()


def list_passed(ran: Ran) -> set[str]:
    """The ids of the tests that passed."""
    return {name for name, case in ran.cases.items() if case.outcome is CaseOutcome.passed}


class Runners:
    """Which runner collects tests from which file of one commit."""

    def __init__(self, facts: RepositoryFacts) -> None:
        self._runners = list_runners(facts)

    @classmethod
    async def of(cls, reader: Reader, commit: str, files: Mapping[str, Entry]) -> "Runners":
        """The runners of a commit."""
        return cls(RepositoryFacts(files, await reader.read(commit, list_needed(files))))

    def find(self, path: str) -> Runner | None:
        """The runner that collects tests from a file."""
        return next((runner for runner in self._runners if runner.owns(path)), None)

    def has(self, path: str) -> bool:
        """Whether a runner collects tests from a file."""
        return self.find(path) is not None

    def leaves_out(self, path: str) -> bool:
        """Whether the repository keeps a file from its runner, as samples that only look like tests."""
        return any(runner.leaves_out(path) for runner in self._runners)

    def build(
        self, files: Sequence[str], results: str, alone: Collection[Framework]
    ) -> list[tuple[ProjectCommand, list[str]]]:
        """The commands for some files, each with the files that it runs, in the order in which all would run.

        So a file that only loads after another one does.

        :param alone: the frameworks that run a file at a time.
        """
        owned = [(runner, [path for path in files if self.find(path) is runner]) for runner in self._runners]
        parts = [
            (runner, each)
            for runner, part in owned
            if part
            for each in ([[path] for path in part] if runner.framework in alone else [sorted(part)])
        ]
        return [(runner.build(part, results, is_measured=False), part) for runner, part in parts]

    def build_all(self, paths: Sequence[str], results: str) -> list[tuple[ProjectCommand, list[str]]]:
        """The commands for all tests of the runners that would collect tests from some files."""
        found = dict.fromkeys(runner for path in paths if (runner := self.find(path)) is not None)
        return [(runner.build((), results, is_measured=False), []) for runner in found]


@dataclass(frozen=True)
class Sides:
    """Both sides of a change, and what is laid over its code.

    :param old: the merge base; :param base: its files; :param new: the head; :param head: its files.
    :param tree: head with :param overlay: on it.
    :param underlay: what puts the tests of head on the program of the merge base.
    :param moved: path at the merge base → at head, of renamed files.
    :param runners: of the merge base; :param now: of head.
    :param asking: how the program asks whether a test runs it; the overlay has it find none.
    """

    old: str
    new: str
    base: Mapping[str, Entry]
    head: Mapping[str, Entry]
    tree: str
    overlay: Mapping[str, Entry | None]
    underlay: Mapping[str, Entry | None]
    moved: Mapping[str, str]
    runners: Runners
    now: Runners
    asking: Sequence[SharedChange] = ()


_Build = Callable[[str], list[tuple[ProjectCommand, list[str]]]]
"""The folder for results → commands, each with the files that it is given."""


class FileRunner:
    """Runs files of tests in fresh checkouts.

    :param most: seconds of the sandbox, after which nothing more is begun.
    :ivar seconds: of the sandbox, so far.
    :ivar seen: paths of the files of which a run told something.
    """

    def __init__(self, tester: Tester, most: float) -> None:
        self._tester = tester
        self._most = most
        self._alone = _ALONE
        self.seconds = 0.0
        self.seen: set[str] = set()

    async def run(self, tree: str, files: Sequence[str], runners: Runners) -> Ran:
        """Run files once."""
        return (await self.repeat(tree, files, runners, 1))[0]

    async def repeat(self, tree: str, files: Sequence[str], runners: Runners, times: int) -> list[Ran]:
        """Run files several times in one checkout."""
        read = await self._run(tree, partial(runners.build, files, alone=self._alone), times)
        mixing = frozenset(each for ran in read for each in ran.mixing)
        if mixing:
            self._alone |= mixing
            return await self.repeat(tree, files, runners, times)
        for each in read:
            self.seen.update(each.loading, (case.path or "" for case in each.cases.values()))
        return read

    async def run_all(self, tree: str, paths: Sequence[str], runners: Runners) -> Ran:
        """Run whatever the runners of some files collect on their own."""
        return (await self._run(tree, partial(runners.build_all, paths), 1))[0]

    async def run_command(self, tree: str, build: Callable[[str], list[ProjectCommand]], times: int) -> TestRun:
        """Run commands several times in one checkout.

        :param build: them, given the folder for results.
        """
        if self.seconds > self._most:
            return TestRun(not_run=_TIME_IS_UP)
        run = await self._tester.run_commands(tree, lambda results: times * build(results), self._most - self.seconds)
        self.seconds += sum(each.seconds for each in run.commands)
        return run

    async def _run(self, tree: str, build: _Build, times: int) -> list[Ran]:
        own = [part for _, part in build("")]
        if not own:  # nothing collects tests from these files any more
            return times * [Ran()]
        if self.seconds > self._most:
            return times * [Ran(not_run=(_TIME_IS_UP,))]
        run = await self.run_command(tree, lambda results: [command for command, _ in build(results)], times)
        if run.not_run:
            return times * [Ran(not_run=(run.not_run,), has_begun=False)]
        read = [read_result(result, part) for result, part in zip(run.commands, times * own, strict=False)]
        read += (times * len(own) - len(read)) * [Ran(not_run=(_TIME_IS_UP,))]
        return [_join(read[start : start + len(own)]) for start in range(0, len(read), len(own))]


def pack_runs(runs: Sequence[Ran]) -> BaseRun | None:
    """What can be kept of runs of the same tests: nothing if they differ, or if anything failed or was lacking.

    So what is kept never excuses a test that fails: what failed may have been mended meanwhile.
    """
    first = runs[0].cases
    outcomes = [{name: case.outcome for name, case in each.cases.items()} for each in runs]
    if any(each != outcomes[0] for each in outcomes) or any(each.not_run or each.loading for each in runs):
        return None
    if not 0 < len(first) <= _MOST_KEPT or any(case.outcome.is_bad for case in first.values()):
        return None
    return BaseRun(cases=tuple(case.model_copy(update={"message": "", "details": ""}) for case in first.values()))


def _join(parts: Sequence[Ran]) -> Ran:
    cases = {name: case for part in parts for name, case in part.cases.items()}
    loading = {path: output for part in parts for path, output in part.loading.items()}
    reasons = dict.fromkeys(why for part in parts for why in part.not_run)
    mixing = frozenset(each for part in parts for each in part.mixing)
    hushed = frozenset(name for part in parts for name in part.hushed)
    has_begun = any(part.has_begun for part in parts)
    return Ran(cases, loading, tuple(reasons), has_begun=has_begun, hushed=hushed, mixing=mixing)
