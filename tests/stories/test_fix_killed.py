"""Killed with SIGKILL while it fixes a finding because somebody asked for it, Forge commits once and answers once."""

import re
from pathlib import Path

import pytest

from tests.chaos.driver import Point, stage
from tests.chaos.model import NAMELESS


@pytest.mark.deep
@pytest.mark.parametrize(
    ("where", "moment"), [(": ask: mend 1", "took effect"), ("on GitHub: POST git-receive-pack", "took effect")]
)
async def test_a_fix_is_committed_once(where: str, moment: str, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        repository = there.github.create_repository("octo-org/shop", files={"app.py": "import os\n"})
        there.github.install(repository)
        alice = there.github.user("alice")
        there.github.grant(repository, alice, "write")
        await there.start()
        head = await alice.push(repository, "feature", {"app.py": NAMELESS}, base="main")
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
        [made] = repository.git.commits_between(head, pull.head_sha)
        said = [each.body for each in comment.thread.comments if each.user is there.github.app.bot][1:]
        assert len(said) == 1
        assert made.sha in said[0]
