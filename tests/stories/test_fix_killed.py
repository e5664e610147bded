"""Killed with SIGKILL while it proposes a fix that somebody asked for, Forge proposes it once and answers once."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from simulator.state import PullRequest
from tests.chaos.driver import Point, stage
from tests.chaos.model import NAMELESS


@pytest.mark.deep
@pytest.mark.parametrize(
    ("where", "moment"),
    [
        (": ask: asked fix", "took effect"),
        ("on GitHub: POST git-receive-pack", "took effect"),
        (": open the pull request", "took effect"),
    ],
)
async def test_a_fix_is_proposed_once(where: str, moment: str, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        there.forge.part = replace(there.forge.part, risk="low")
        repository = there.github.create_repository("octo-org/shop", files={"app.py": "import os\n"})
        there.github.install(repository)
        alice = there.github.user("alice")
        there.github.grant(repository, alice, "write")
        await there.start()
        await alice.push(repository, "feature", {"app.py": NAMELESS}, base="main")
        pull = await alice.open_pull_request(repository, "feature")
        await there.settle()
        [comment] = there.github.review_comments(pull)
        name = re.findall(r"F-[A-Z2-7]{6}", comment.body)[0]

        def dies(point: Point) -> bool:
            return not there.kills and where in point.where and point.moment == moment

        there.begin(None, dies)
        await alice.reply(comment, f"/forge fix {name}")
        await there.settle()
        assert there.kills == 1
        made = [each for each in repository.issues.values() if isinstance(each, PullRequest) and each is not pull]
        assert [each.base_ref for each in made] == ["feature"]
        commits = repository.git.run("rev-list", "--count", f"{pull.head_sha}..{made[0].head_sha}").stdout.decode()
        assert commits.strip() == "1"
        said = [each.body for each in comment.thread.comments if each.user is there.github.app.bot][1:]
        assert len(said) == 1
        assert f"#{made[0].number} proposes it" in said[0]
