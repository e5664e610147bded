"""What is remembered follows what the file says, whatever happens in which order, on both databases."""

from datetime import timedelta

from domain.memories import Archived
from domain.runs.run import RepositoryRef
from domain.text.memory_file import MemoryFileEntry
from memory.db.engine import Database
from memory.learned import memories, memory_file
from memory.learned.memory_file import FileChanges, FileState
from tests.rows import NOON
from tests.unit.memories.records import build_rated

SHOP = RepositoryRef(installation_id=1, id=7, owner="octo-org", name="shop")
COMMIT, LATER = "c" * 40, "d" * 40


async def _take(database: Database, texts: str, revision: int, commit: str = COMMIT) -> FileChanges | None:
    entries = [MemoryFileEntry(number, text) for number, text in enumerate(texts.split(), 1)]
    return await memory_file.import_entries(
        database, SHOP, entries, commit, revision, "guid", NOON + timedelta(revision)
    )


async def _live(database: Database) -> list[str]:
    return [each.content for each in await memories.list_live(database, SHOP.id)]


async def test_what_is_new_is_added_and_what_is_gone_is_archived(database: Database) -> None:
    assert await memory_file.load_state(database, SHOP) is None
    first = await _take(database, "a b", 0)
    assert first is not None
    assert [(each.content, each.pinned, each.source) for each in first.added] == [
        ("a", True, ".github/forge-memory.md at ccccccc, line 1"),
        ("b", True, ".github/forge-memory.md at ccccccc, line 2"),
    ]
    second = await _take(database, "x b", 1, LATER)
    assert second is not None
    assert ([each.content for each in second.added], [*second.archived], second.kept) == (["x"], [first.added[0].id], 1)
    [gone] = [each for each in await memories.list_all(database, SHOP.id) if not each.is_live]
    assert (gone.content, gone.archived_why) == ("a", Archived.forgotten)
    assert await _take(database, "x b", 2) == FileChanges([], [], 2)
    assert await _take(database, "", 3) is not None
    assert await _live(database) == []
    assert await _take(database, "a", 4) is not None
    assert await _live(database) == ["a"]


async def test_an_older_look_replaces_no_newer_one(database: Database) -> None:
    assert await _take(database, "new", 0) is not None
    assert await _take(database, "old", 0) is None
    assert not await memory_file.mark_broken(database, SHOP, "broken", 0)
    assert await _live(database) == ["new"]


async def test_a_broken_file_leaves_what_there_is(database: Database) -> None:
    await _take(database, "a", 0)
    assert await memory_file.mark_broken(database, SHOP, "Line 3 is wrong.", 1)
    taken = await memory_file.load_state(database, SHOP)
    assert taken is not None
    assert (taken.revision, taken.commit, taken.problem) == (2, COMMIT, "Line 3 is wrong.")
    assert await _live(database) == ["a"]
    await _take(database, "a", 2)
    taken = await memory_file.load_state(database, SHOP)
    assert taken == FileState(3, COMMIT, frozenset([MemoryFileEntry(1, "a").key]))


async def test_what_people_took_away_stays_away_while_the_file_says_it(database: Database) -> None:
    first = await _take(database, "a b", 0)
    assert first is not None
    await memories.archive(database, [first.added[0].id], Archived.forgotten, NOON)
    await _take(database, "a b c", 1)
    assert await _live(database) == ["b", "c"]
    await _take(database, "b c", 2)
    await _take(database, "a b c", 3)
    assert await _live(database) == ["b", "c", "a"]


async def test_what_a_person_said_elsewhere_is_not_stored_twice(database: Database) -> None:
    said = build_rated(pinned=True).model_copy(update={"content": "A"})
    await memories.add(database, said)
    await _take(database, "a b", 0)
    assert await _live(database) == ["A", "b"]
    await _take(database, "", 1)
    assert await _live(database) == ["A"]


async def test_another_repository_is_another_file(database: Database) -> None:
    await _take(database, "a", 0)
    other = SHOP.model_copy(update={"id": 8})
    assert await memory_file.load_state(database, other) is None
    await memory_file.import_entries(database, other, [], COMMIT, 0, "guid", NOON)
    assert await _live(database) == ["a"]
    await memory_file.purge(database, SHOP.installation_id, [other.id])
    assert await memory_file.load_state(database, other) is None
    assert await memory_file.load_state(database, SHOP) is not None
