"""Killed with SIGKILL while it takes the base in, Forge merges it once and answers once."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.chaos.driver import Point, stage
from tests.chaos.model import SHOP, TAXED


@pytest.mark.deep
@pytest.mark.parametrize(
    ("where", "moment"),
    [
        (": ask: resolve 1", "took effect"),
        (": test the merge", "before"),
        ("on GitHub: POST commits", "took effect"),
        ("on GitHub: POST git-receive-pack", "took effect"),
    ],
)
async def test_the_base_is_merged_once(where: str, moment: str, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        there.forge.part = replace(there.forge.part, risk="low")  # with its model
        repository = there.github.create_repository("octo-org/shop", files=SHOP)
        there.github.install(repository)
        alice = there.github.user("alice")
        there.github.grant(repository, alice, "write")
        await there.start()
        mine = "def total(prices):\n    return sum(map(abs, prices))\n"
        theirs = "def total(prices, tax=0):\n    return sum(prices) + tax\n"
        head = await alice.push(repository, "feature", {"shop/cart.py": mine}, base="main")
        pull = await alice.open_pull_request(repository, "feature")
        base = await alice.push(repository, "main", {"shop/cart.py": theirs})
        await there.settle()
        before = len(there.github.comments(pull))

        def dies(point: Point) -> bool:
            return not there.kills and where in point.where and point.moment == moment

        there.begin(None, dies)
        await alice.comment(pull, "/forge update")
        await there.settle()
        assert there.kills == 1
        assert repository.git.commit(pull.head_sha).parents == [head, base]
        assert repository.git.read(pull.head_sha, "shop/cart.py") == TAXED.encode()
        said = [each.body for each in there.github.comments(pull)[before:] if each.user is there.github.app.bot]
        assert len(said) == 1
        assert f"{pull.head_sha} is on `feature`." in said[0]
