"""Recall on both databases: what is found, in what order, for whom; and that it keeps nothing alive."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from sqlalchemy import Engine, delete, event, select, text

from domain import memories as rules
from domain.memories import Archived, Memory, MemoryKind, Scope, Use
from domain.runs.run import Phase, RepositoryRef
from memory.db.engine import Connection, Database
from memory.db.tables.repositories import MemoryRow, RecallRow
from memory.learned import memories
from memory.learned.recall import RecallQuery, list_recalled, mark_helped, note, recall, settle
from memory.reports import memory_pages
from memory.reports.memory_pages import MemoryFilter
from tests.rows import NOON
from tests.unit.memories.records import SHOP, SIBLING, STRANGER, WEEK, archive, build_memory, keep, list_all


async def recall_texts(
    database: Database, words: str, tags: tuple[str, ...] = (), *, of: RepositoryRef = SHOP
) -> list[str]:
    return list_texts(await recall_memories(database, RecallQuery(of, words, tags)))


async def recall_memories(database: Database, asked: RecallQuery) -> Sequence[Memory]:
    return [each.memory for each in await recall(database, asked, NOON)]


def list_texts(found: Sequence[Memory]) -> list[str]:
    return [each.content for each in found]


async def test_it_finds_by_words_in_any_form(database: Database) -> None:
    await keep(
        database,
        build_memory("Queries are parsed by parse_query, never by hand."),
        build_memory("Money is kept in cents.", ("src/shop/cart.py",)),
        build_memory("Größen stehen in einer Tabelle."),
    )
    assert await recall_texts(database, "a new QUERY is needed") == [
        "Queries are parsed by parse_query, never by hand."
    ]
    assert await recall_texts(database, "fix ParseQuery()") == ["Queries are parsed by parse_query, never by hand."]
    assert await recall_texts(database, "diff --git a/lib/cart.py b/lib/cart.py") == ["Money is kept in cents."]
    assert await recall_texts(database, "die größen!") == ["Größen stehen in einer Tabelle."]
    assert await recall_texts(database, "kubernetes") == []


async def test_the_search_of_the_dashboard_keeps_to_what_was_chosen(database: Database) -> None:
    """A kind, and what is in use or archived; what stands in a search is no pattern."""
    fact = build_memory("Queries are slow in the database.", ("setup",))
    steps = build_memory("Copy the database, then migrate it.").model_copy(update={"kind": MemoryKind.procedural})
    gone, other = build_memory("100% of the database is tables."), build_memory("No database.", of=SIBLING)
    await keep(database, fact, steps, gone, other)
    await archive(database, [gone.id, other.id], Archived.forgotten, NOON)

    async def search(text: str, kind: MemoryKind | None = None, *, archived: bool = False) -> list[str]:
        found = await memory_pages.search(database, SHOP, MemoryFilter(kind, archived), text, NOON, 50)
        return sorted(each.memory.content for each in found)

    assert await search("database") == [steps.content, fact.content]
    assert await search("database", MemoryKind.procedural) == [steps.content]
    assert await search("DATABASE tables", archived=True) == [gone.content]
    assert await search("100%", MemoryKind.semantic, archived=True) == [gone.content]
    assert await search("d_tabase", archived=True) == await search("tables", MemoryKind.episodic, archived=True) == []


async def test_a_tag_finds_what_says_nothing_of_it(database: Database) -> None:
    long = "x" * 500
    await keep(
        database,
        build_memory("Ask the data team first.", ("S608", "src/shop/cart.py")),
        build_memory("Ask the web team first.", ("src/shop/cart.pyi", 'it\'s "quoted" – ü', long)),
        build_memory("Ask nobody."),
    )
    assert await recall_texts(database, "", ("src/shop/cart.py",)) == [
        "Ask the data team first.",
        "Ask the web team first.",
    ]
    assert await recall_texts(database, "", ("S608",)) == ["Ask the data team first."]
    assert await recall_texts(database, "…", ('it\'s "quoted" – ü',)) == ["Ask the web team first."]
    assert await recall_texts(database, "…", (long,)) == ["Ask the web team first."]
    assert await recall_texts(database, "", ("608",)) == []


async def test_a_rare_word_says_more_than_one_that_many_hold(database: Database) -> None:
    often = [build_memory(f"The tests of module{number} are slow.") for number in range(20)]
    await keep(database, build_memory("The cart is rounded."), *often)
    assert (await recall_texts(database, "why are tests of the cart slow?"))[0] == "The cart is rounded."
    assert (await recall_texts(database, "why are tests slow?"))[0] == "The tests of module19 are slow."


async def test_confidence_and_recency_decide_between_what_fits_as_well(database: Database) -> None:
    sure = build_memory("Carts are rounded up.", confidence=0.9)
    new = build_memory("Carts are rounded down.")
    old = build_memory("Carts are rounded half.", pinned=True, age=timedelta(days=60))
    doubtful = build_memory("Carts are not rounded.", confidence=0.3)
    await keep(database, doubtful, old, new, sure)
    expected = [each.content for each in (sure, new, old, doubtful)]
    assert await recall_texts(database, "rounding of carts: carts rounded") == expected


async def test_no_more_than_the_limit(database: Database) -> None:
    await keep(database, *(build_memory(f"The cart has rule {number}.") for number in range(80)))
    assert len(await recall_texts(database, "cart")) == 10
    assert len(await recall(database, RecallQuery(SHOP, "cart", limit=3), NOON)) == 3
    assert not await recall(database, RecallQuery(SHOP, "cart", limit=0), NOON)


async def test_no_repository_sees_what_another_learned(database: Database) -> None:
    await keep(
        database,
        build_memory("Ours: the cart.", ("cart",)),
        build_memory("Our sibling's: the cart.", ("cart",), of=SIBLING),
        build_memory("A stranger's: the cart.", ("cart",), of=STRANGER),
        build_memory("A stranger's, for its organisation: the cart.", ("cart",), of=STRANGER, scope=Scope.organisation),
    )
    for organisation in (False, True):
        asked = RecallQuery(SHOP, "cart", ("cart",), organisation=organisation)
        assert list_texts(await recall_memories(database, asked)) == ["Ours: the cart."]


async def test_what_an_organisation_shares_is_for_repositories_that_take_part(database: Database) -> None:
    await keep(database, build_memory("For all: the cart.", ("cart",), of=SIBLING, scope=Scope.organisation))
    for repository, organisation, seen in (
        (SHOP, True, True),
        (SHOP, False, False),
        (SIBLING, True, True),
        (SIBLING, False, True),  # it is its own
        (STRANGER, True, False),
        (STRANGER, False, False),
    ):
        found = await recall_memories(database, RecallQuery(repository, "cart", ("cart",), organisation=organisation))
        assert bool(found) is seen, (repository.full_name, organisation)


@pytest.mark.parametrize("mark", ["r7", "i1", "@r7", "'@r7'", "marks : r7", "@i1 | @r7", 'r7" OR marks : "r7'])
async def test_words_are_never_taken_for_a_scope(database: Database, mark: str) -> None:
    """Neither those of a memory nor those of a question."""
    await keep(
        database,
        build_memory(
            f"{mark} The cart {mark}", (mark, f"x {mark}", f"x' {mark}"), of=STRANGER, scope=Scope.organisation
        ),
    )
    for organisation in (False, True):
        asked = RecallQuery(SHOP, f"{mark} cart {mark}", (mark,), organisation=organisation)
        assert not await recall(database, asked, NOON)
    assert await recall_texts(database, "cart", of=STRANGER)


HOSTILE = [
    "",
    " ",
    '"',
    "'",
    '" OR marks : r9 OR "',
    "marks : r9",
    "cart* AND NOT (",
    "NEAR(cart stranger, 5)",
    "^cart",
    "{marks words} : cart",
    "cart & !ours | stranger:*",
    "cart <-> stranger",
    "'cart' \\",
    "cart\0stranger",
    "\0",
    "%s %(x)s :asked0 $1 ?",
    "; DROP TABLE memories; --",
    "\ud800 cart",
    "🛒👩‍👩‍👧 e\u0301 \u202e cart \ufeff",
    "車 カート عربة गाड़ी",
    "ß İ ǅ ﬁ ² Ⅷ ½ cart",
    "AND OR NOT NEAR and or not the",
    "cart " * 200_000,
    "".join(chr(33 + number % 90_000) for number in range(1_000_000)),
    "x" * 1_000_000,
]


async def test_a_question_is_never_taken_for_a_command(database: Database) -> None:
    await keep(database, build_memory("Ours: the cart."), build_memory("A stranger's: the cart.", of=STRANGER))
    for hostile in HOSTILE:
        found = await recall_texts(database, hostile, (hostile, *hostile[:100]))
        assert set(found) <= {"Ours: the cart."}
        if " cart " in f" {hostile[:100]} ":
            assert found, hostile[:100]


async def test_many_tags_and_words_are_asked_at_once(database: Database) -> None:
    await keep(database, build_memory("The cart.", ("path/31.py",)))
    tags = tuple(f"path/{number}.py" for number in range(5_000))
    assert await recall_texts(database, " ".join(f"word{number}" for number in range(5_000)), tags) == ["The cart."]


async def test_what_is_archived_or_over_is_not_told(database: Database) -> None:
    gone = build_memory("Archived: the cart.")
    await keep(
        database,
        gone,
        build_memory("Doubtful: the cart.", confidence=0.19),
        build_memory("Decayed: the cart.", age=11 * WEEK),
        build_memory("Unused: the cart.", confidence=1, age=timedelta(days=90)),
        build_memory("Doubted, though pinned: the cart.", confidence=0.1, pinned=True),
        build_memory("Pinned: the cart.", pinned=True, age=timedelta(days=900)),
    )
    await archive(database, [gone.id], Archived.forgotten, NOON)
    assert await recall_texts(database, "cart") == ["Pinned: the cart."]
    assert await rows_of_words(database) == 5


async def test_what_goes_while_it_is_looked_for(database: Database) -> None:
    """Between two statements of a recall somebody else may forget what the first one found."""
    stays, goes = build_memory("The cart stays."), build_memory("The cart goes.")
    await keep(database, stays, goes)
    asked: list[str] = []

    def interrupt(connection: Connection, _cursor: object, statement: str, *_: object) -> None:
        if "memory_words" not in statement:
            return
        asked.append(statement)
        if len(asked) == 2:
            connection.execute(delete(MemoryRow).where(MemoryRow.id == goes.id))

    event.listen(Engine, "before_cursor_execute", interrupt)
    try:
        assert await recall_texts(database, "cart") == ["The cart stays."]
    finally:
        event.remove(Engine, "before_cursor_execute", interrupt)
    assert len(asked) == 2


async def test_what_changes_is_found_as_it_is_now(database: Database) -> None:
    one, other = build_memory("The cart.", ("S1",)), build_memory("The till.")
    await keep(database, one, other)
    async with database.transaction() as session:
        row = await session.get_one(MemoryRow, one.id)
        row.content, row.tags = "The basket.", ["S2"]
    assert await recall_texts(database, "cart", ("S1",)) == []
    assert await recall_texts(database, "basket") == await recall_texts(database, "", ("S2",)) == ["The basket."]

    async with database.transaction() as session:
        (await session.get_one(MemoryRow, one.id)).scope = Scope.organisation.value
    assert await recall_memories(database, RecallQuery(SIBLING, "basket", organisation=True))

    await archive(database, [one.id], Archived.unused, NOON)
    async with database.transaction() as session:  # a person wants it back
        (await session.get_one(MemoryRow, one.id)).archived_at = None
    assert await recall_texts(database, "basket") == ["The basket."]

    async with database.transaction() as session:
        await session.delete(await session.get_one(MemoryRow, one.id))
    assert await recall_texts(database, "basket till") == ["The till."]
    assert await rows_of_words(database) == 1


async def test_the_search_stays_right_when_sqlite_numbers_rows_anew(database: Database) -> None:
    many = [build_memory(f"Rule {number}: the thing{number}.") for number in range(30)]
    await keep(database, *many)
    async with database.transaction() as session:
        for each in many[:20]:
            await session.delete(await session.get_one(MemoryRow, each.id))
    if database.dialect == "sqlite":
        await database.run_in_transaction(lambda connection: connection.exec_driver_sql("VACUUM"))
    await keep(database, build_memory("Rule 30: the thing30."))
    for number in (20, 29, 30):
        assert await recall_texts(database, f"thing{number}") == [f"Rule {number}: the thing{number}."]


async def rows_of_words(database: Database) -> int | None:
    async with database.transaction() as session:
        return await session.scalar(text("SELECT count(*) FROM memory_words"))


async def test_a_recall_is_noted_once_and_makes_nothing_more_sure(database: Database) -> None:
    one, other = build_memory("The cart is rounded."), build_memory("The cart.")
    await keep(database, one, other)
    found = await recall(database, RecallQuery(SHOP, "cart rounded"), NOON)
    for _ in range(3):
        await note(database, "run", Phase.review, "review", found, NOON)
    await note(database, "run", Phase.review, "review", found[:1], NOON + WEEK)
    await note(database, "run", Phase.review, "review", [], NOON)

    async with database.transaction() as session:
        told_rows = (await session.scalars(select(RecallRow).order_by(RecallRow.rank))).all()
        rows = (await session.scalars(select(MemoryRow))).all()
    assert [(row.memory_id, row.rank, row.phase, row.at, row.outcome) for row in told_rows] == [
        (one.id, 1, "review", NOON, ""),
        (other.id, 2, "review", NOON, ""),
    ]
    assert {(row.access_count, row.last_accessed, row.confidence, row.used_at) for row in rows} == {
        (1, NOON, 0.7, NOON)
    }

    await note(database, "run", Phase.review, "another task", found[:1], NOON + WEEK)
    assert await accesses(database, one.id) == (2, NOON + WEEK)


async def accesses(database: Database, memory_id: str) -> tuple[int, object]:
    async with database.transaction() as session:
        row = await session.get_one(MemoryRow, memory_id)
        return row.access_count, row.last_accessed


async def test_what_became_of_a_recall_is_kept(database: Database) -> None:
    one, other = build_memory("The cart is rounded."), build_memory("The cart.")
    await keep(database, one, other)
    found = await recall(database, RecallQuery(SHOP, "cart rounded"), NOON)
    for task in ("plan", "review"):
        await note(database, "run", Phase.review, task, found, NOON)
    for _ in range(2):
        await mark_helped(database, "run", "review", [one.id, "unknown"])
    assert [each.id for each in await list_recalled(database, "run", "plan")] == [each.memory.id for each in found]
    for _ in range(2):
        assert await settle(database, "run") == [one.id]

    async with database.transaction() as session:
        rows = (await session.scalars(select(RecallRow).order_by(RecallRow.task, RecallRow.rank))).all()
        sure = (await session.scalars(select(MemoryRow.confidence))).all()
    assert [(row.task, row.outcome) for row in rows] == [
        ("plan", "ignored"),
        ("plan", "ignored"),
        ("review", "helped"),
        ("review", "ignored"),
    ]
    assert sure == [0.7, 0.7]


@pytest.mark.deep
async def test_recall_keeps_nothing_alive_in_a_thousand_runs(database: Database) -> None:
    """A memory recalled by a thousand runs, and never of use, is gone when one that nobody asked for is."""
    asked_for, used, other = (
        build_memory("The cart is rounded."),
        build_memory("The cart is blue."),
        build_memory("The till."),
    )
    await keep(database, asked_for, used, other)
    last, shown = dict[str, int](), 0
    for run in range(1_000):
        now = NOON + run * timedelta(hours=4)
        found = await recall(database, RecallQuery(SHOP, "cart"), now)
        await note(database, f"run {run}", Phase.review, "review", found, now)
        await mark_helped(database, f"run {run}", "review", [used.id])
        await settle(database, f"run {run}")
        if run % 42 == 0:  # once a week
            await memories.record_use(database, [used.id], Use.applied, f"run {run}", now)
        last.update({each.memory.id: run for each in found})
        shown += asked_for.id in last and last[asked_for.id] == run
        for each in await memories.list_live(database, SHOP.id) if run % 6 == 0 else ():  # once a day
            why = rules.find_archive_reason(each, now)
            if why is not None:
                await archive(database, [each.id], why, now)
    everything = {each.id: each for each in await list_all(database, SHOP.id)}
    assert everything[asked_for.id].archived_at == everything[other.id].archived_at is not None
    assert everything[asked_for.id].archived_why is Archived.doubtful
    assert everything[used.id].is_live
    assert shown > 400
    assert last[asked_for.id] < 11 * 42 + 1
    assert last[used.id] == 999
