"""Killed with SIGKILL while the tests of before run, Forge runs them again and tells what they say once."""

from pathlib import Path

import pytest

from tests.chaos.driver import Point, stage
from tests.world.summing_shop import FILES, HIDES, NAME


@pytest.mark.timeout(600)
@pytest.mark.deep
@pytest.mark.parametrize(
    ("where", "moment"),
    [
        (": run the earlier tests", "before"),
        (": run the earlier tests", "took effect"),
        (": post the earlier tests", "took effect"),
        (": post the earlier tests", "after"),
    ],
)
async def test_it_is_told_once(where: str, moment: str, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        repository = there.github.create_repository("octo-org/shop", files=FILES)
        there.github.install(repository)
        alice = there.github.user("alice")
        there.github.grant(repository, alice, "write")

        def dies(point: Point) -> bool:
            return not there.kills and where in point.where and point.moment == moment

        await there.start()
        there.begin(None, dies)
        await alice.push(repository, "work", HIDES, base="main")
        pull = await alice.open_pull_request(repository, "work")
        await there.settle()
        assert there.kills == 1
        told = [each.body for each in there.github.review_comments(pull) if NAME in each.body]
        assert len(told) == 1
        [check] = there.github.check_runs(repository, pull.head_sha, "Forge / review")
        assert check.conclusion == "action_required"
        assert f"**The change removes `{NAME}`" in (check.summary or "")
        asked = [each for each in there.github.comments(pull) if each.body.startswith("**Forge asks: destructive**")]
        assert len(asked) == 1
