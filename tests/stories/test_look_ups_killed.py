"""Killed with SIGKILL between two turns of looking things up, Forge asks for each turn once and goes on from there."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.driver import Point, stage
from tests.world.look_ups import LARGE, UNCHANGED


@pytest.mark.timeout(600)
@pytest.mark.deep
@pytest.mark.parametrize(
    ("where", "moment"),
    [
        (": ask: model review 1 of 1 2", "took effect"),
        (": act: model review 1 of 1 1", "before"),
        (": act: model review 1 of 1 1", "took effect"),
        (": act: model review 1 of 1 2", "after"),
    ],
)
async def test_each_turn_is_asked_for_once(where: str, moment: str, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        there.forge.part = replace(there.forge.part, risk="low")
        repository = there.github.create_repository("octo-org/shop", files=UNCHANGED)
        there.github.install(repository)
        alice = there.github.user("alice")
        there.github.grant(repository, alice, "write")
        asked: list[str] = []

        def dies(point: Point) -> bool:
            if "ask: model review 1 of 1" in point.where and ", the model" in point.where and point.moment == "before":
                asked.append(point.where)
            return not there.kills and point.where.endswith(where) and point.moment == moment

        await there.start()
        there.begin(None, dies)
        await alice.push(repository, "work", LARGE, base="main")
        pull = await alice.open_pull_request(repository, "work")
        await there.settle()
        assert there.kills == 1
        assert len(asked) == len(set(asked)) == 3
        [comment] = there.github.review_comments(pull)
        assert (comment.path, comment.line) == ("shop/till.py", 1)
        [check] = there.github.check_runs(repository, pull.head_sha, "Forge / review")
        assert check.conclusion == "failure"
        assert "in 2 messages with " in (check.summary or "")
