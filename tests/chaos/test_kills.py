"""The long sweep (T-D1): kill −9 at every step and write, at pairs of points by chance, and in the worst moments."""

import os
from pathlib import Path

import pytest

from tests.chaos.driver import sample, stage
from tests.chaos.recording import record
from tests.chaos.scenes import prepare
from tests.chaos.sweep import SCENES, Sweep
from tests.databases import Backend

SEEDS = 60
INTERRUPTED = 20  # points of a review at which something else happens
PARTS = 10  # of the seeds; each begins with an empty database
MOST = {"sqlite": 40, "postgresql": 10}
"""Points of one scene that are played, evenly spread; all of them on SQLite with ``CHAOS_ALL=1``, which takes
half a day: the run of an issue has 450."""
OTHERS = {"sqlite": 20, "postgresql": 5}
_MIDDLE = (", checkpoint", ", roll-back", ": act: ")


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
        record(f"{scene}, killed at one point, {backend}", len(points), result)


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
        record(f"{scene}, killed at one point, {backend}", len(points), result)


@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("scene", ["superseded", "closed"])
async def test_interrupted_at_every_point(scene: str, kill: bool, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        await prepare(there)
        points = await Sweep(there, "reviewed").rehearse()
        result = await Sweep(there, scene).interrupt_at(sample(points, INTERRUPTED), kill=kill)
        record(f"{scene} at each point{', then killed there' if kill else ''}, sqlite", len(points), result)


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
        record(f"{scene}, killed twice by chance, seeds {part} + {PARTS}n, {backend}", len(points), sweep.result)
