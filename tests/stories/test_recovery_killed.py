"""Killed with SIGKILL while an agent recovers from giving up in disguise, Forge counts each attempt once."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from memory.db.tables.repositories import GateRow
from memory.db.tables.runs import RecoveryRow
from simulator.state import PullRequest
from tests.chaos.driver import stage
from tests.chaos.issues import run_and_die
from tests.chaos.model import SHOP


@pytest.mark.timeout(600)
@pytest.mark.deep
@pytest.mark.parametrize("moment", ["before", "took effect", "after"])
@pytest.mark.parametrize(
    "where",
    [
        ": look for what is hidden",
        ": ask: recovery 1 of implement T1 1",
        ": ask how to recover",
        ": keep how to recover",
        ": ask: recovery 2 of implement T1 1",
    ],
)
async def test_an_attempt_counts_once(where: str, moment: str, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        there.forge.part = replace(there.forge.part, risk="low", hides=True)
        repository, alice, issue = await run_and_die(there, SHOP, where, moment)
        await alice.comment(issue, "/forge approve recovery with: let the test count")
        await there.settle()
        assert there.kills == 1
        async with there.database.transaction() as session:
            rows = [*await session.scalars(select(RecoveryRow).order_by(RecoveryRow.id))]
            asked = [*await session.scalars(select(GateRow.name))]
        assert [(row.tried, row.strategy, row.outcome) for row in rows] == [
            ("implement T1", "cause", "hidden"),
            ("recovery 1 of implement T1", "guided", "escalated"),
        ]
        assert asked.count("recovery") == 1
        [pull] = [each for each in repository.issues.values() if isinstance(each, PullRequest)]
        assert repository.git.read(pull.head_sha, "tests/test_cart.py") == SHOP["tests/test_cart.py"].encode()
