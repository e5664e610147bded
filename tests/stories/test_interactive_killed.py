"""Killed with SIGKILL after a command of an agent, Forge goes on with what the command made and does not repeat it."""

from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import select

from domain.events import EventType
from memory.db.tables.runs import AnswerRow, EventRow
from simulator.state import PullRequest
from tests.chaos.driver import stage
from tests.chaos.issues import run_and_die
from tests.chaos.model import SHOP

GENERATE = """\
import uuid
made = uuid.uuid4().hex
open("shop/made.py", "w").write(f"MADE = '{made}'\\n")
print(made)
"""
FILES = {
    **SHOP,
    ".github/forge.yml": "execution: {mode: interactive, commands: ['python3 tools/*']}\n",
    "tools/generate.py": GENERATE,
}


@pytest.mark.timeout(600)
@pytest.mark.deep
@pytest.mark.parametrize(
    ("where", "moment", "most"),
    [
        (": act: implement T1 2", "after", 1),
        (": ask: implement T1 3", "took effect", 1),
        (": act: implement T1 2", "took effect", 2),  # nobody knows that it ended, so it runs again
    ],
)
async def test_a_command_runs_once(where: str, moment: str, most: int, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        there.forge.part = replace(there.forge.part, risk="low", runs="python3 tools/generate.py")
        repository, _, _ = await run_and_die(there, FILES, where, moment)
        assert there.kills == 1
        [pull] = [each for each in repository.issues.values() if isinstance(each, PullRequest)]
        made = (repository.git.read(pull.head_sha, "shop/made.py") or b"").decode()
        async with there.database.transaction() as session:
            kept = [each.value for each in await session.scalars(select(AnswerRow))]
            ran = (await session.scalars(select(EventRow).where(EventRow.source == "run_command"))).all()
        [shown] = [text for value in kept for text in value.get("results", ()) if "exit status 0" in text]
        assert made.split("'")[1] in shown
        assert {each.type for each in ran} == {EventType.tool_executed.value}
        assert 1 <= len(ran) <= most
