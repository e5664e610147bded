"""Killed with SIGKILL while a finding is shown by running, Forge asks for its test once and tells it once."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.driver import Point, stage
from tests.chaos.model import LESS, SHOP


@pytest.mark.timeout(600)
@pytest.mark.deep
@pytest.mark.parametrize(
    ("where", "moment"),
    [
        (": find out what can be run", "after"),
        (": ask: model proof 1", "took effect"),
        (": run the test for a finding 1", "before"),
        (": run the test for a finding 1", "took effect"),
    ],
)
async def test_it_is_asked_and_told_once(where: str, moment: str, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        there.forge.part = replace(there.forge.part, risk="low")
        patient = {".github/forge.yml": "review: {proof_seconds: 600}\n"}
        repository = there.github.create_repository("octo-org/shop", files={**SHOP, **patient})
        there.github.install(repository)
        alice = there.github.user("alice")
        there.github.grant(repository, alice, "write")
        asked: list[Point] = []

        def dies(point: Point) -> bool:
            if "ask: model proof 1, the model" in point.where and point.moment == "before":
                asked.append(point)
            return not there.kills and point.where.endswith(where) and point.moment == moment

        await there.start()
        there.begin(None, dies)
        await alice.push(repository, "work", LESS, base="main")
        pull = await alice.open_pull_request(repository, "work")
        await there.settle()
        assert there.kills == 1
        assert len(asked) == 1
        [comment] = there.github.review_comments(pull)
        assert "**Shown by running**" in comment.body
        [check] = there.github.check_runs(repository, pull.head_sha, "Forge / review")
        assert check.conclusion == "failure"
        assert "1 finding shown by running" in (check.summary or "")
