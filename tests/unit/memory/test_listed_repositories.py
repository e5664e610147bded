"""What pages list is of their own repository: gates and memories."""

from domain.memories import Archived
from memory.db.engine import Database
from memory.reports import memory_pages, pages
from memory.reports.memory_pages import MemoryFilter
from memory.reports.pages import PageKey
from tests.rows import NOON, gate_row, run_row
from tests.unit.memories.records import SHOP, SIBLING, archive, build_memory, keep

WAITING, DECIDED, ELSEWHERE, VOID = (f"{number:026}" for number in range(4))
UNDECIDED = {"state": "waiting", "decision": None, "decided_at": None}


async def test_gates(database: Database) -> None:
    async with database.transaction() as session:
        session.add(run_row(WAITING))
        session.add(gate_row(WAITING, WAITING, "human_review", **UNDECIDED))
        session.add(gate_row(DECIDED, WAITING))
        session.add(gate_row(VOID, WAITING, "budget", state="void"))
        session.add(gate_row(ELSEWHERE, WAITING, "plan", repository_id=11, **UNDECIDED))
        session.add(gate_row("9" * 26, WAITING, "destructive", repository_id=11))
    waiting = await pages.list_waiting(database, [10], 100)
    both = await pages.list_waiting(database, {10, 11}, 100)
    closed = await pages.list_closed(database, 10, PageKey(), 1)
    rest = await pages.list_closed(database, 10, PageKey(before=closed.older), 5)
    assert [each.id for each in waiting] == [WAITING]
    assert {each.id for each in both} == {WAITING, ELSEWHERE}
    assert [each.id for each in (*closed.items, *rest.items)] == [VOID, DECIDED]
    assert not rest.older


async def test_memories(database: Database) -> None:
    here, gone, there = build_memory("Here."), build_memory("Gone."), build_memory("There.", of=SIBLING)
    await keep(database, here, gone, there)
    await archive(database, [gone.id], Archived.forgotten, NOON)
    for is_archived, expected in ((False, [here.id]), (True, [gone.id])):
        page = await memory_pages.list_memories(database, SHOP.id, MemoryFilter(archived=is_archived), PageKey(), 50)
        assert [each.memory.id for each in page.items] == expected
