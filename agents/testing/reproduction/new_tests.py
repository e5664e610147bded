"""Runs new tests with the change they were written for and without it: one that passes without it shows nothing."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile

from agents.testing.earlier_tests.choice import is_of_tests
from agents.testing.earlier_tests.reading import Reader
from agents.testing.earlier_tests.run import restore_mixed
from agents.testing.earlier_tests.running import FileRunner, Ran, Runners, find_version
from agents.testing.earlier_tests.texts import Version, demands_something
from agents.testing.test_selection import is_runnable
from agents.testing.tester import CommandTimeouts, Tester
from domain.errors import CodeAccessError, ToolError
from domain.runs.testing import CaseOutcome, TestCase
from domain.value import Value
from workspace.commits import write_tree

_Known = tuple[Sequence[Version], Sequence[Version]]
_NOTHING: _Known = ((), ())
_TIMES = 2  # each side is run: what ends differently shows nothing


class IdleTest(Value):
    """A new test that passes without the change, too, or demands nothing.

    :param start, end: its first and last line, from 1; 0 if they are not known.
    """

    name: str
    start: int = 0
    end: int = 0


class NewTests(Value):
    """What running files of new tests showed; in journals.

    :param proven: the files whose new tests pass with the change, and of which at least one fails without it.
    :param unloaded: those of them that cannot be loaded without the change, as what they import is not there.
    :param failing: path → what is wrong, of files of which a test does not pass with the change.
    :param idle: path → its new tests that show nothing.
    :param unknown: files of tests that no runner takes which Forge knows.
    :param not_run: why they could not be run, one sentence; then the others are empty.
    """

    proven: tuple[str, ...] = ()
    unloaded: tuple[str, ...] = ()
    failing: dict[str, str] = {}
    idle: dict[str, tuple[IdleTest, ...]] = {}
    unknown: tuple[str, ...] = ()
    not_run: str = ""


async def prove_new_tests(
    tester: Tester, base: str, before: str, tip: str, paths: Sequence[str], seconds: float
) -> NewTests:
    """What new tests show of a change. Raises no errors: the answer says why they were not run.

    :param base: the commit without the change; :param before: the one with it; :param tip: with the tests as well.
        The tester's mirror has them.
    :param paths: the files that differ between the last two.
    :param seconds: of the sandbox, for all runs.
    """
    reader = Reader(tester.mirror, tester.toolbox)
    running = FileRunner(replace(tester, bounds=CommandTimeouts(command=seconds), baseline=None), seconds)
    try:
        files, there = await reader.list_files(tip), await reader.list_files(base)
        runners = await Runners.of(reader, tip, files)
        own = [path for path in paths if path in files and runners.has(path)]
        unknown = [path for path in paths if path in files and is_runnable(path) and path not in own]
        new = await _find_new(reader, before, tip, own)
        with_change = await running.repeat(tip, own, runners, _TIMES)
        of_tests = [path for path in {**there, **files} if is_of_tests(path) and there.get(path) != files.get(path)]
        mixed = await restore_mixed(tester, reader, (tip, files), (base, there))
        laid = {**{path: files.get(path) for path in of_tests}, **mixed}
        tree = await write_tree(tester.mirror.git, base, laid)
        both = {path: entry for path, entry in {**there, **laid}.items() if entry is not None}
        without = await running.repeat(tree, own, await Runners.of(reader, base, both), _TIMES)
    except (CodeAccessError, ToolError) as error:
        return NewTests(not_run=str(error))
    not_run = [why for ran in (*with_change, *without) for why in ran.not_run]
    if not_run:
        return NewTests(not_run=not_run[0])
    return _judge(own, new, with_change, without).model_copy(update={"unknown": tuple(unknown)})


def cut_tests(text: str, tests: Collection[IdleTest]) -> str:
    """A file without some of its tests, and the empty lines below each, as far as it is known where they stand."""
    lines = text.split("\n")
    for test in sorted(tests, key=lambda test: -test.start):
        if test.start:
            below = takewhile(lambda line: not line.strip(), lines[test.end :])
            del lines[test.start - 1 : test.end + len([*below])]
    return "\n".join(lines).rstrip("\n") + "\n"


async def _find_new(reader: Reader, before: str, tip: str, paths: Sequence[str]) -> Mapping[str, _Known]:
    """Path → all of its tests, and those that are new or changed; a file that cannot be parsed is left out."""
    old = await reader.find_versions(await reader.read(before, paths))
    now = await reader.find_versions(await reader.read(tip, paths))
    return {
        path: (every, [each for each in every if each.code not in [known.code for known in old.get(path, [])]])
        for path, every in now.items()
    }


def _judge(
    paths: Sequence[str],
    new: Mapping[str, _Known],
    with_change: Sequence[Ran],
    without: Sequence[Ran],
) -> NewTests:
    proven: list[str] = []
    failing: dict[str, str] = {}
    idle: dict[str, tuple[IdleTest, ...]] = {}
    for path in paths:
        cases = _list_new_cases(path, new.get(path, _NOTHING), with_change[0])
        wrong = _find_wrong(path, cases, with_change)
        if wrong:
            failing[path] = wrong
            continue
        empty = {each.test.name for each in new.get(path, _NOTHING)[1] if not demands_something(each)}
        failed = {name for name, each in cases.items() if any(_fails(path, case, without) for case in each)}
        showing = failed - empty
        if showing:
            proven.append(path)
        left = [name for name in cases if name not in showing]
        if left:
            idle[path] = tuple(_describe(name, new.get(path, _NOTHING)) for name in left)
    unloaded = tuple(path for path in proven if all(path in ran.loading for ran in without))
    return NewTests(proven=tuple(proven), unloaded=unloaded, failing=failing, idle=idle)


def _list_new_cases(path: str, known: _Known, ran: Ran) -> dict[str, list[TestCase]]:
    """Name of a new test → its cases; a test that cannot be told from those before counts as new."""
    found: dict[str, list[TestCase]] = {}
    for case in ran.cases.values():
        if case.path != path or case.outcome is CaseOutcome.skipped:
            continue
        version = find_version(case, known[0])
        if version is None or version in known[1]:
            found.setdefault(case.id if version is None else version.test.name, []).append(case)
    return found


def _find_wrong(path: str, cases: Mapping[str, Sequence[TestCase]], runs: Sequence[Ran]) -> str:
    """What is wrong with a file where the change is there; empty if its new tests pass each time."""
    for ran in runs:
        if path in ran.loading:
            return ran.loading[path] or "It cannot be loaded."
        for case in ran.cases.values():
            if case.path == path and case.outcome.is_bad:
                return f"{case.id} fails: {case.message or case.details}"
    return "" if cases else "No new test of it ran."


def _fails(path: str, case: TestCase, runs: Sequence[Ran]) -> bool:
    """Whether a test fails each time, or its file cannot be loaded, as what it imports is not there."""
    found = [ran.cases.get(case.id) for ran in runs]
    return all(
        path in ran.loading or (ended is not None and ended.outcome.is_bad)
        for ran, ended in zip(runs, found, strict=True)
    )


def _describe(name: str, known: _Known) -> IdleTest:
    found = next((each.test for each in known[1] if each.test.name == name), None)
    return IdleTest(name=name) if found is None else IdleTest(name=name, start=found.start, end=found.end)
