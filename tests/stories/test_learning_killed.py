"""Killed with SIGKILL while it looks back or puts its memories in order, Forge ends as if it had not been."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select

from domain.events import EventType
from domain.memories import Archived
from memory.db.tables.repositories import MemoryUseRow
from memory.db.tables.runs import EventRow, SpendRow
from tests.accounts import find_discrepancies
from tests.chaos.driver import ChaosStage, stage
from tests.chaos.model import SHOP
from tests.unit.memories.records import build_numbered, keep, list_all


async def count(there: ChaosStage, kind: EventType) -> int:
    async with there.database.transaction() as session:
        return await session.scalar(select(func.count()).where(EventRow.type == kind.value)) or 0


@pytest.mark.deep
@pytest.mark.parametrize(
    ("where", "moment"),
    [
        (": reflect$", "took effect"),  # the answer is kept, and not yet in the journal
        (": keep what is worth it$", "took effect"),
    ],
)
async def test_it_looks_back_once_and_pays_once(where: str, moment: str, tmp_path: Path) -> None:
    async with stage("sqlite", tmp_path) as there:
        part = there.forge.part
        reflecting = part.settings.model_copy(update={"reflection": True})
        there.forge.part = replace(part, settings=reflecting, risk="low")
        repository, alice = there.repository(SHOP)
        await there.start()
        there.die_at(where, moment)
        issue = await alice.open_issue(repository, "Discounts", "Customers want a discount.")
        await alice.label(issue, "forge")
        await there.settle()

        assert there.kills == 1
        [learned] = await list_all(there.database, repository.id)
        assert "unittest" in learned.content
        assert await count(there, EventType.learning_stored) == 1
        assert await count(there, EventType.reflected) == 1
        async with there.database.transaction() as session:
            paid = (await session.scalars(select(SpendRow.outcome).where(SpendRow.phase == "reflection"))).all()
        assert [*paid] == ["answered"]
        assert await find_discrepancies(there.database) == []


async def test_a_night_that_is_cut_short_ends_the_same(tmp_path: Path) -> None:
    """150 memories say what 75 say, and ten are doubtful: carried out in four transactions."""
    async with stage("sqlite", tmp_path) as there:
        await _remember(there)
        four = (there.clock.now() + timedelta(days=1)).replace(hour=4)
        there.clock.move(seconds=(four - there.clock.now()).total_seconds())
        there.die_at(": carry out$", "took effect", nth=2)
        await there.start()

        while not await count(there, EventType.consolidated):
            await there.settle()
        assert there.kills == 1
        assert await count(there, EventType.consolidated) == 1
        every = await list_all(there.database, 7)
        live = [each for each in every if each.is_live]
        assert (len(every), len(live)) == (160, 75)
        assert sum(each.archived_why is Archived.doubtful for each in every) == 10
        assert sum(each.archived_why is Archived.merged for each in every) == 75
        assert all(len(each.tags) == 2 for each in live)
        assert len({each.archived_at for each in every if not each.is_live}) == 1
        async with there.database.transaction() as session:
            assert await session.scalar(select(func.count()).select_from(MemoryUseRow)) == 75


async def _remember(there: ChaosStage) -> None:
    now = there.clock.now()
    for number in range(75):
        said = f"step_{number} of the build", f"tests/part{number}"
        wordings = f"Run {said[0]} before {said[1]} is read.", f"Before {said[1]} is read, {said[0]} should run."
        for wording, content in enumerate(wordings):
            made = build_numbered(
                number * 2 + wording + 1, content, tags=(f"tag{wording}",), created_at=now, used_at=now
            )
            await keep(there.database, made)
    for number in range(200, 210):
        doubtful = build_numbered(number, f"Keep shop/part{number}.py small.", 0.1, created_at=now, used_at=now)
        await keep(there.database, doubtful)
