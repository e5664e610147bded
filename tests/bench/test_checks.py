"""How long a program takes to start at each sandbox level, and the checks against their command lines at once."""

import asyncio
import shutil
import statistics
import sys
import sysconfig
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import dbos
import sqlalchemy

from agents.review.checks.run import run_checks
from agents.toolbox import Toolbox
from tests.unit.checks.building import Versions, change_of
from workspace.sandbox import probing
from workspace.sandbox.sandbox import LIMITS, SandboxCommand

STARTS, ROUNDS = 20, 5


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
    """5 and 20 real files, each with some lines added, in the sandbox and warm; every row in the same run."""
    async with Toolbox.start() as toolbox:
        print(f"\n\nLayers 1 and 2, median of {ROUNDS}. {toolbox.containment}")
        for count in (5, 20):
            sources = _sources(count)
            ours, theirs = await _compare(sources, toolbox, _copy(sources, tmp_path / str(count)))
            size = sum(len(source.read_bytes()) for source in sources) / 1000
            line = f"Forge {ours:5.2f} s   command lines {theirs:5.2f} s   {ours / theirs:5.2f}"
            print(f"{count:2} files, {size:4.0f} kB: {line}")


async def _compare(sources: Sequence[Path], toolbox: Toolbox, folder: Path) -> list[float]:
    """The seconds of Forge, and those of ruff, bandit and detect-secrets started at once."""
    change, versions = change_of(_edit(sources))

    async def checks() -> None:
        result = await run_checks(change, versions, project={}, linters=(), dependencies=None, toolbox=toolbox)
        assert not [tool.problem for layer in result.layers for tool in layer.tools if tool.problem]

    async def lines() -> None:
        await asyncio.gather(*(_run(line, folder) for line in _command_lines(folder)))

    return await _in_turn(checks, lines)


def _sources(count: int) -> list[Path]:
    """Modules of installed packages, of ordinary size, always the same for the same versions."""
    folders = [Path(package.__file__ or "").parent for package in (sqlalchemy, dbos)]
    modules = sorted(module for folder in folders for module in folder.rglob("*.py"))
    ordinary = [module for module in modules if 5_000 < module.stat().st_size < 60_000]
    return ordinary[:: len(ordinary) // count][:count]


def _edit(sources: Sequence[Path]) -> Versions:
    """Each file with a function added in the middle, as a change of it."""
    added = "\n\ndef added(command):\n    return subprocess.run(command, shell=True)\n\n\n"
    versions: dict[str, tuple[str, str]] = {}
    for number, source in enumerate(sources):
        text = source.read_text()
        versions[f"pkg/module_{number}.py"] = (text, text + added)
    return versions


def _copy(sources: Sequence[Path], folder: Path) -> Path:
    folder.mkdir()
    for number, source in enumerate(sources):
        shutil.copyfile(source, folder / f"module_{number}.py")
    return folder


def _command_lines(folder: Path) -> list[list[str]]:
    scripts = Path(sysconfig.get_path("scripts"))
    files = [str(file) for file in sorted(folder.iterdir())]
    return [
        [str(scripts / "ruff"), "check", "--isolated", "--no-cache", "--output-format=json", "--exit-zero", *files],
        [sys.executable, "-m", "bandit", "-q", "-f", "json", "--exit-zero", *files],
        [sys.executable, "-m", "detect_secrets", "scan", *files],
    ]


async def _run(line: Sequence[str], folder: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *line, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
    )
    _, said = await process.communicate()
    assert process.returncode == 0, said.decode()


async def _in_turn(*measured: Callable[[], Awaitable[None]]) -> list[float]:
    """The median seconds of each, taken in turn so that what else the machine does hits all of them."""
    times: list[list[float]] = [[] for _ in measured]
    for _ in range(ROUNDS):
        for run, taken in zip(measured, times, strict=True):
            started = time.perf_counter()
            await run()
            taken.append(time.perf_counter() - started)
    return [statistics.median(taken) for taken in times]
