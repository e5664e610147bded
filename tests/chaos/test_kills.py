"""The long sweep (T-D1): kill −9 at every step and write, at pairs of points by chance, and in the worst moments."""

import fcntl
import os
from pathlib import Path

import pytest

from tests.chaos.driver import sample, stage
from tests.chaos.scenes import prepare
from tests.chaos.sweep import SCENES, Result, Sweep
from tests.databases import Backend

MISSED = 0.1  # of what is played; more would prove too little
SEEDS = 60
INTERRUPTED = 20  # points of a review at which something else happens
PARTS = 10  # of the seeds; each begins with an empty database
MOST = {"sqlite": 40, "postgresql": 10}
"""Points of one scene that are played, evenly spread; all of them on SQLite with ``CHAOS_ALL=1``, which takes
half a day: the run of an issue has 450."""
OTHERS = {"sqlite": 20, "postgresql": 5}
_MIDDLE = (", checkpoint", ", roll-back", ": act: ")

_RESULT = Path(__file__).parent / "last-result.md"
_HEAD = """\
# The last sweep of kills

Written by `make chaos`. Each line: what was played how often (once undisturbed, then once for each point that was
chosen), how many processes were killed with SIGKILL, how many points were not reached in three attempts because another
workflow was quicker, and how often the end was not that of an undisturbed run, or an invariant of docs/threats.md did
not hold.

| what | points | played | kills | not reached | wrong |
| --- | --- | --- | --- | --- | --- |
"""


@pytest.mark.parametrize(
    "scene", ["reviewed", "pushed", "superseded", "closed", "asked", "expired", "issue", "planned"]
)
@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_killed_at_every_point(backend: Backend, scene: str, tmp_path: Path) -> None:
    async with stage(backend, tmp_path) as there:
        await prepare(there, SCENES[scene])
        sweep = Sweep(there, scene)
        points = await sweep.rehearse()
        is_whole = backend == "sqlite" and "CHAOS_ALL" in os.environ
        result = await sweep.kill_at(points if is_whole else sample(points, MOST[backend]))
        _record(f"{scene}, killed at one point, {backend}", len(points), result)


@pytest.mark.parametrize("scene", ["commanded", "delegated", "taken back"])
@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_killed_in_a_shadow(backend: Backend, scene: str, tmp_path: Path) -> None:
    """At every point in the middle of a checkpoint, a roll-back or a command, and at some of the others."""
    async with stage(backend, tmp_path) as there:
        await prepare(there, SCENES[scene])
        sweep = Sweep(there, scene)
        points = await sweep.rehearse()
        middle = [each for each in points if any(name in each.where for name in _MIDDLE)]
        others = [each for each in points if each not in middle]
        chosen = {*middle, *sample(others, OTHERS[backend])}
        result = await sweep.kill_at([each for each in points if each in chosen])
        _record(f"{scene}, killed at one point, {backend}", len(points), result)


@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("scene", ["superseded", "closed"])
async def test_interrupted_at_every_point(scene: str, kill: bool, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        await prepare(there)
        points = await Sweep(there, "reviewed").rehearse()
        result = await Sweep(there, scene).interrupt_at(sample(points, INTERRUPTED), kill=kill)
        _record(f"{scene} at each point{', then killed there' if kill else ''}, sqlite", len(points), result)


@pytest.mark.parametrize("part", range(PARTS))
async def test_killed_twice(part: int, tmp_path: Path) -> None:
    scene = ("reviewed", "superseded", "closed", "pushed")[part % 4]
    backend: Backend = "postgresql" if part % 5 == 4 else "sqlite"
    async with stage(backend, tmp_path) as there:
        await prepare(there)
        sweep = Sweep(there, scene)
        points = await sweep.rehearse()
        for seed in range(part, SEEDS, PARTS):
            await sweep.kill_twice(seed)
        _record(f"{scene}, killed twice by chance, seeds {part} + {PARTS}n, {backend}", len(points), sweep.result)


def _record(what: str, points: int, result: Result) -> None:
    """Put one line into the file of results, in place of that of an earlier run; fail if anything was wrong."""
    line = f"| {what} | {points} | {result.played} | {result.kills} | {len(result.missed)} | {len(result.wrong)} |"
    print(line, *result.missed, *result.wrong, sep="\n")
    with _RESULT.open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        lines = [each for each in file.read().splitlines() if each.startswith("| ")][2:]
        kept = [each for each in lines if not each.startswith(f"| {what} |")]
        file.truncate(0)
        file.write(_HEAD + "\n".join(sorted([*kept, line])) + "\n")
    assert result.wrong == []
    assert len(result.missed) <= MISSED * result.played
