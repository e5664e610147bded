"""Killed with SIGKILL while it does what people ask for on a pull request, Forge does it once and answers once."""

from pathlib import Path

import pytest

from tests.chaos.driver import Point, stage
from tests.chaos.instructions import Instructed
from tests.chaos.scenes import prepare
from tests.chaos.sweep import SCENES, Sweep, at
from tests.invariants import find_violations

_ALONE = {"updated": (Point("run 1: ask: resolve 1", "took effect"), Point("run 1: test the merge", "before"))}
"""Points that are no writes on GitHub, where the most could be lost."""


async def test_a_commit_is_pushed_once(tmp_path: Path) -> None:
    """Killed when GitHub has the push and nobody has heard of it."""
    async with stage("sqlite", tmp_path) as there:
        await prepare(there, Instructed)
        scene = Instructed(there, 0)
        left = await scene.play(at(Point("on GitHub: POST git-receive-pack", "took effect")))
        assert there.kills == 1
        assert [message.partition("\n")[0] for *_, message in left["commits"]] == ["Take a discount off"]
        [answer] = left["answers"]
        assert "SHA is on `feature`." in answer
        assert not await find_violations(there.github, there.database)


@pytest.mark.deep
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("scene", ["instructed", "mended", "left to chance", "updated"])
async def test_killed_at_each_write(scene: str, tmp_path: Path) -> None:
    """Before GitHub has it, and when nobody has heard of it: the same end, nothing twice."""
    async with stage("sqlite", tmp_path) as there:
        await prepare(there, SCENES[scene])
        sweep = Sweep(there, scene)
        points = await sweep.rehearse()
        writes = [each for each in points if each.where.startswith("on GitHub")]  # those of the review come behind
        result = await sweep.kill_at([*writes, *_ALONE.get(scene, ())])
        assert result.wrong == []
        assert result.missed == []
