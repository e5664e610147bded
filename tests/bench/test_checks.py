"""How long a program takes to start at each sandbox level, and the checks against their command lines at once."""

import asyncio
import itertools
import os
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from agents.review.checks.run import run_checks
from agents.toolbox import Toolbox
from tests.bench.languages import LANGUAGES, Language, build_command_lines, download_ast_grep, start_line, write_files
from tests.bench.processor import adopt_orphans, sum_seconds
from tests.unit.checks.building import Versions, change_of
from tests.unit.checks.checking import CountingSandbox
from workspace.sandbox import probing
from workspace.sandbox.sandbox import LIMITS, SandboxCommand

STARTS, ROUNDS = 20, 3
BAR = 2.0  # times the command lines


async def test_start_per_level() -> None:
    """Median of 20 starts of a program that does nothing, level by level in turn."""
    sandbox = await probing.make_sandbox()
    levels = [level for level in sandbox.levels if level.works]
    times: dict[int, list[float]] = {level.level: [] for level in levels}
    with sandbox.folder() as folder:
        for _ in range(STARTS):
            for level in levels:
                done = await sandbox.run(SandboxCommand(("/bin/true",), folder), level.level)
                assert done.status == 0, done.stderr.data
                times[level.level].append(done.seconds * 1000)
    baseline = statistics.median(times[LIMITS])
    print(f"\n\nStart of /bin/true, median of {STARTS}")
    for level in levels:
        median = statistics.median(times[level.level])
        print(f"level {level.level} {level.name:12} {median:6.1f} ms   {median / baseline:5.2f} of level 1")


async def test_checks_against_command_lines(tmp_path: Path) -> None:
    """5 and 20 real files of each language, with some lines added to each; every row in the same run.

    Forge checks both versions of a file, in the sandbox and warm. The command lines read the new one, unconfined.
    """
    ast_grep, rows = download_ast_grep(tmp_path), list[Row]()
    with adopt_orphans():
        async with Toolbox.start() as toolbox:
            print(f"\n\nLayers 1 and 2: seconds and processor seconds, medians of {ROUNDS}. {toolbox.containment}")
            print(f"{'':11}{'files':>5}{'kB':>5}{'Forge':>16}{'command lines':>16}{'ratio':>14}{'programs':>10}")
            for language, count in itertools.product(LANGUAGES, (5, 20)):
                folder = tmp_path / f"{language.name} {count}"
                rows.append(await _measure(language, count, toolbox, ast_grep, folder))
                print(rows[-1])
    repeated = [str(row) for row in rows if row.programs > 2 * len(row.language.tools)]
    assert not repeated, f"a tool is started more often than once for each version: {repeated}"
    slow = [str(row) for row in rows if row.ratio > BAR]
    assert not slow, f"more than {BAR} times the command lines: {slow}"


@dataclass(frozen=True)
class Taken:
    """What something took: seconds by the clock, and of the processors."""

    seconds: float
    work: float

    def __str__(self) -> str:
        return f"{self.seconds:8.2f} ({self.work:5.2f})"


@dataclass(frozen=True)
class Row:
    """A change of some files of one language.

    :param programs: how many Forge starts for one check.
    """

    language: Language
    files: int
    size: int
    ours: Taken
    theirs: Taken
    programs: float

    @property
    def ratio(self) -> float:
        return self.ours.seconds / self.theirs.seconds

    def __str__(self) -> str:
        of_work = self.ours.work / self.theirs.work
        name = f"{self.language.name:11}{self.files:5}{self.size / 1000:5.0f}"
        return f"{name}{self.ours}{self.theirs}{self.ratio:6.2f} ({of_work:5.2f}){self.programs:10g}"


async def _measure(language: Language, count: int, toolbox: Toolbox, ast_grep: Path, folder: Path) -> Row:
    """Check the change and start the command lines in turn."""
    edited, sandbox = _edit(language, count), CountingSandbox(toolbox.sandbox)
    change, versions = change_of(edited)
    heads = {path: str(head) for path, (_, head) in edited.items()}
    lines = build_command_lines(language, write_files(folder, heads), ast_grep)
    counted = replace(toolbox, sandbox=sandbox)

    async def check() -> None:
        result = await run_checks(change, versions, project={}, linters=(), dependencies=None, toolbox=counted)
        assert not [tool.problem for layer in result.layers for tool in layer.tools if tool.problem]
        assert {finding.path for finding in result.findings} == edited.keys()

    async def start_lines() -> None:
        await asyncio.gather(*(start_line(line, folder) for line in lines))

    ours, theirs = await _in_turn(check, start_lines)
    return Row(language, count, sum(map(len, heads.values())), ours, theirs, sandbox.started / ROUNDS)


def _edit(language: Language, count: int) -> Versions:
    """Each file with some lines added, as a change of it."""
    texts = enumerate(language.sample(count))
    return {language.path.format(number): (text, text + language.added) for number, text in texts}


async def _in_turn(*measured: Callable[[], Awaitable[None]]) -> list[Taken]:
    """The medians of each, taken in turn so that what else the machine does hits all of them."""
    taken: list[list[Taken]] = [[] for _ in measured]
    for _ in range(ROUNDS):
        for run, times in zip(measured, taken, strict=True):
            started, before = time.perf_counter(), sum_seconds(os.getpid())
            await run()
            times.append(Taken(time.perf_counter() - started, sum_seconds(os.getpid()) - before))
    return [Taken(*(statistics.median(each) for each in zip(*map(astuple, times), strict=True))) for times in taken]
