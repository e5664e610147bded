"""What people teach in so many words: kept once, and forgotten once."""

from domain.value import new_id
from memory.db.engine import Database
from memory.learned import catalogue, memories
from memory.learned.catalogue import MemoryKeeper
from tests.rows import NOON
from tests.unit.memories.records import build_rated
from tests.unit.memory.dismissed_findings import CAROL, SHOP


async def test_what_a_person_says_twice_is_kept_once(database: Database) -> None:
    said = build_rated().model_copy(update={"repository_id": SHOP.id, "pinned": True, "source": "comment 1"})
    kept = await catalogue.learn(database, SHOP, 1, said, CAROL, "comment 1")
    repeated = said.model_copy(update={"id": new_id()})
    assert kept == (said, True)
    assert await catalogue.learn(database, SHOP, 1, repeated, CAROL, "comment 1") == kept  # after a crash

    again = repeated.model_copy(update={"content": "tests use  a real DATABASE", "source": "comment 2"})
    for _ in range(2):
        confirmed = await catalogue.learn(database, SHOP, 1, again, CAROL, "comment 2")
        assert confirmed is not None
        assert (confirmed[0].id, confirmed[0].confidence, confirmed[1]) == (said.id, 0.9, False)

    other = again.model_copy(update={"content": "Tests use no database.", "source": "comment 3"})
    assert await catalogue.learn(database, SHOP, 1, other, CAROL, "comment 3") == (other, True)
    assert await catalogue.archive(database, said, MemoryKeeper(SHOP, CAROL, 1), NOON)
    assert not await catalogue.archive(database, said, MemoryKeeper(SHOP, CAROL, 1), NOON)
    assert [each.id for each in await memories.list_live(database, SHOP.id)] == [other.id]
