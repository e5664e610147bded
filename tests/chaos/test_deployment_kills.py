"""Killed with SIGKILL at every step of a deployment, Forge brings it to the same end, and starts no workflow twice."""

import os
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from tests.chaos.deployments import Deployed, prepare_deployments
from tests.chaos.driver import Point, sample, stage
from tests.chaos.recording import record
from tests.chaos.scenes import Scene
from tests.chaos.sweep import Sweep
from tests.world.toy_service import run_service

MOST = 40
"""Points of one scene that are played, evenly spread; all of them with ``CHAOS_ALL=1``."""


@pytest.mark.parametrize("scene", ["deployed", "rolled back"])
async def test_killed_at_every_step_of_a_deployment(scene: str, tmp_path: Path) -> None:
    async with run_service() as service, stage("sqlite", tmp_path) as there:
        await prepare_deployments(there, service)
        await Sweep(there, "deployed").rehearse()  # so that there is something to go back to
        sweep = Sweep(there, scene)
        points = await sweep.rehearse()
        assert sweep.result.wrong == []
        result = await sweep.kill_at(_choose(points))
        record(f"{scene}, killed at one point, sqlite", len(points), result)


async def test_killed_while_a_roll_back_settles(tmp_path: Path) -> None:
    """While the figures still remember the bad version: it comes to the same end, and nothing is deployed twice."""
    async with run_service() as service, stage("sqlite", tmp_path) as there:
        await prepare_deployments(there, service)
        await Sweep(there, "deployed").rehearse()
        well = service.history[-1][0]
        service.remembers = 3
        sweep = Sweep(there, "rolled back")
        await sweep.rehearse()
        assert (sweep.result.wrong, service.history[-1]) == ([], (well, 100))

        def settles(scene: Scene) -> bool:
            assert isinstance(scene, Deployed)
            return (scene.sha, 50) in service.history and service.history[-1] == (well, 100)

        result = await sweep.kill_while(settles, range(1, 25, 3))
        record("a roll-back settles, sqlite", result.played, result)
        assert service.history[-1] == (well, 100)


def _choose(points: Sequence[Point]) -> Collection[Point]:
    """Each step and each write once, at each moment: most steps are repeated with every look."""
    return sample([each for each in points if each.nth == 1], 500 if "CHAOS_ALL" in os.environ else MOST)
