"""What is kept of memories: uses count once per cause, archived ones stay, and scopes hold."""

from datetime import timedelta

from domain.memories import Archived, Use
from memory.db.engine import Database
from memory.learned import memories
from tests.rows import NOON
from tests.unit.memories.records import archive, build_rated, keep, list_all


async def test_a_use_counts_once_per_cause(database: Database) -> None:
    made = build_rated(0.5)
    await keep(database, made)

    [changed] = await memories.record_use(database, [made.id, made.id], Use.applied, "run 1", NOON)
    assert changed.confidence == 0.6
    assert not await memories.record_use(database, [made.id], Use.applied, "run 1", NOON)
    await memories.record_use(database, [made.id], Use.dismissed, "run 1", NOON)

    found = await memories.find(database, made.id)
    assert found is not None
    assert found.confidence == 0.4


async def test_what_is_archived_is_still_there(database: Database) -> None:
    made = build_rated()
    await keep(database, made)
    assert await archive(database, [made.id], Archived.forgotten, NOON + timedelta(days=1)) == [made.id]
    assert not await archive(database, [made.id], Archived.unused, NOON + timedelta(days=2))

    assert not await memories.list_live(database, 7)
    [found] = await list_all(database, 7)
    assert (found.archived_at, found.archived_why) == (NOON + timedelta(days=1), Archived.forgotten)
