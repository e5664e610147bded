"""Runs a test for a claim about a change, in the real sandbox."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from textwrap import dedent

import pytest

from agents.testing.earlier_tests.reading import Reader
from agents.testing.reproduction.place import find_place
from agents.testing.reproduction.run import WrittenTest, run_reproduction
from agents.testing.tester import Tester
from agents.toolbox import Toolbox
from domain.config.configuration import Commands
from domain.review.findings import Proof
from tests.unit.testing.two_commits import mirror_change
from tests.world.summing_shop import BROKEN, FILES

Prove = Callable[..., Awaitable[Proof]]


@pytest.fixture
def prove(tmp_path: Path, toolbox: Toolbox) -> Prove:
    """Runs a test on both sides of a change."""

    async def run(
        text: str,
        *,
        before: Mapping[str, str] = FILES,
        after: Mapping[str, str | None] | None = None,
        about: str = "shop.py",
        line: int = 2,
        promise: str = "",
        seconds: float = 90,
        **commands: str,
    ) -> Proof:
        changed = {"shop.py": BROKEN} if after is None else after
        async with mirror_change(tmp_path, before, changed) as (mirror, change):
            reader = Reader(mirror, toolbox)
            commits = (change.merge_base, change.head_sha)
            place = await find_place(reader, *commits, about, "0a1b2c3d", lambda path: True)
            assert place is not None
            test = WrittenTest(place.path, dedent(text), place.command, about, line, promise)
            tester = Tester(mirror, toolbox, Commands.model_validate(commands))
            return await run_reproduction(tester, change, test, seconds)

    return run
