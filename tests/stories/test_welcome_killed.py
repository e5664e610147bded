"""Killed with SIGKILL while it introduces itself, Forge does so once all the same."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.driver import Point, stage


@pytest.mark.parametrize(
    ("where", "moment"),
    [
        pytest.param("look at it", "took effect", marks=pytest.mark.deep),
        pytest.param("on GitHub: POST issues", "took effect", marks=pytest.mark.deep),
        ("welcome it", "took effect"),
    ],
)
async def test_a_killed_welcome_comes_once(where: str, moment: str, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        settings = there.forge.part.settings.model_copy(update={"welcome": True})
        there.forge.part = replace(there.forge.part, settings=settings)
        await there.start()
        points: list[Point] = []

        def dies(point: Point) -> bool:
            points.append(point)
            return not there.kills and point.where.endswith(where) and point.moment == moment

        there.begin(None, dies)
        repository = there.github.create_repository("octo-org/shop", files={"app.py": "x = 1\n"})
        there.github.install(repository)
        await there.settle()
        assert there.kills == 1, points
        mine = [each for each in repository.issues.values() if each.user is there.github.app.bot]
        assert [each.title for each in mine] == ["Forge works here now"]
