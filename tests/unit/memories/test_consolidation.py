"""What a night makes of memories, decided and kept; however often it is begun, it ends the same."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select

from domain.events import EventType
from domain.memories import Archived, Memory, MemoryKind, Origin, Scope, Use
from memory import ledger
from memory.db.engine import Database
from memory.db.tables.repositories import MemoryUseRow
from memory.learned import consolidation, memories
from safety.memory_consolidation import PATTERN, ConsolidationPlan, LiveMemory, compute_figures, plan_consolidation
from tests.rows import NOON
from tests.unit.memories.records import WEEK, build_numbered, keep, list_all

CACHE = "Run `make clean` before tests/api, or the cache of shop/prices.py is stale."
SAME = "Before tests/api runs, run `make clean`, or a stale cache of shop/prices.py is used."
OTHER = "Before tests/api runs, run `make clean`, or a stale cache of shop/taxes.py is used."
NEVER = "Never run `make clean` before tests/api, the cache of shop/prices.py is stale."
ALONE = "Amounts in shop/money.py are cents."


def night(
    *known: Memory | LiveMemory, most: int = 10_000, now: datetime = NOON + WEEK, held: Sequence[str] = ()
) -> ConsolidationPlan:
    numbers = iter(range(900, 999))
    given_ = [each if isinstance(each, LiveMemory) else LiveMemory(each) for each in known]
    return plan_consolidation(given_, now, most, held, lambda: f"01J00000000000000000000{next(numbers)}")


def describe_plan(planned: ConsolidationPlan) -> dict[int, str]:
    """What becomes of each memory, by number."""
    return {int(each.id[-3:]): each.why.value for each in planned.changes}


@pytest.mark.parametrize(
    ("memories_", "ends"),
    [
        ([build_numbered(1, CACHE), build_numbered(2, ALONE)], {}),
        ([build_numbered(1, CACHE, 0.1)], {1: "doubtful"}),
        ([build_numbered(1, CACHE, 1.0, used_at=NOON - timedelta(days=90))], {1: "unused"}),
        ([build_numbered(1, CACHE, 0.5), build_numbered(2, SAME, 0.7)], {1: "merged"}),
        ([build_numbered(1, CACHE, 0.7), build_numbered(2, SAME, 0.7)], {2: "merged"}),  # the older one stays
        ([build_numbered(1, CACHE, 0.7), build_numbered(2, SAME, 0.7, origin=Origin.person)], {1: "merged"}),
        ([build_numbered(1, CACHE), build_numbered(2, OTHER)], {}),  # about another file
        ([build_numbered(1, CACHE), build_numbered(2, SAME, kind=MemoryKind.semantic)], {}),
        ([build_numbered(1, CACHE), build_numbered(2, SAME, scope=Scope.organisation)], {}),
        ([build_numbered(1, CACHE, 0.7), build_numbered(2, NEVER, 0.5)], {2: "contradicted"}),
        ([build_numbered(1, CACHE, 0.5), build_numbered(2, NEVER, 0.7)], {1: "contradicted"}),
        ([build_numbered(1, CACHE, 0.9), build_numbered(2, NEVER, 0.5, pinned=True)], {1: "contradicted"}),
        ([build_numbered(1, CACHE, 0.9, pinned=True), build_numbered(2, SAME, 0.5, pinned=True)], {}),
        ([build_numbered(1, CACHE, 0.9, pinned=True), build_numbered(2, NEVER, 0.5, pinned=True)], {}),
    ],
)
def test_what_becomes_of_memories(memories_: list[Memory], ends: dict[int, str]) -> None:
    assert describe_plan(night(*memories_)) == ends


def test_what_a_standing_dismissal_taught_is_not_merged() -> None:
    one, other = build_numbered(1, CACHE, 0.9), build_numbered(2, SAME, 0.5)
    assert describe_plan(night(one, other, held=[other.id])) == {}


def test_the_least_certain_and_oldest_make_room() -> None:
    crowd = [build_numbered(number, f"Keep shop/part{number}.py small.", 0.3 + number / 100) for number in range(1, 9)]
    crowd.append(build_numbered(9, "Keep shop/pinned.py small.", 0.2, pinned=True))
    planned = night(*crowd, most=4, now=NOON)
    assert describe_plan(planned) == dict.fromkeys([1, 2, 3, 4, 5], "crowded")
    assert planned.live == 4
    assert night(*crowd, most=0, now=NOON).live == 1


def test_an_episode_that_recurs_becomes_a_pattern() -> None:
    episode = build_numbered(
        1, f"{CACHE} It failed twice.", kind=MemoryKind.episodic, context="testing", tags=("tests/api",)
    )
    assert describe_plan(night(LiveMemory(episode, frozenset({"run 2"})))) == {}

    [change] = night(LiveMemory(episode, frozenset({"run 2", "run 3"}))).changes
    made = change.made
    assert made is not None
    assert (change.why, change.into, made.kind) == (Archived.merged, made.id, MemoryKind.procedural)
    assert made.tags == ("tests/api", PATTERN, "failure")
    assert made.confidence == 0.5  # a model does not confirm itself

    assert (made.context, made.content.partition(". ")[2]) == ("testing", "It failed twice.")
    assert compute_figures(made, {Use.recurred: 2, Use.applied: 3, Use.dismissed: 1}) == ("failure", 3, 0.75)
    assert compute_figures(episode, {}) is None


def test_episodes_that_are_merged_count() -> None:
    wordings = [CACHE, SAME, "Before tests/api, run `make clean`: a stale cache of shop/prices.py is used."]
    episodes = [build_numbered(number, text, kind=MemoryKind.episodic) for number, text in enumerate(wordings, 1)]
    planned = night(*episodes)
    assert Counter(describe_plan(planned).values()) == {"merged": 3}
    assert planned.counts == {"merged": 2, "promoted": 1}
    assert planned.live == 1


@pytest.mark.deep
def test_ten_thousand_are_soon_decided() -> None:
    """Not each is compared with each."""
    many = [build_numbered(1, CACHE).model_copy(update={"id": f"{n:026}", "content": _text(n)}) for n in range(10_000)]
    planned = night(*many)
    assert planned.live == 5000


def _text(number: int) -> str:
    """Each twice, in other words."""
    half = number % 5000
    if number < 5000:
        return f"Run step_{half} of make{half % 70} before tests/part{half % 300} is read."
    return f"Before tests/part{half % 300} is read, step_{half} of make{half % 70} should run."


some = st.lists(
    st.tuples(
        st.sampled_from([CACHE, SAME, OTHER, NEVER, ALONE, "Keep shop/money.py free of floats, amounts are cents."]),
        st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9]),
        st.sampled_from(MemoryKind),
        st.booleans(),
        st.integers(0, 4),
    ),
    max_size=12,
)


@given(some=some, most=st.integers(0, 12))
def test_after_a_night_nothing_is_left_to_do(some: list[tuple[str, float, MemoryKind, bool, int]], most: int) -> None:
    known = [
        LiveMemory(
            build_numbered(number, text, sure, kind=kind, pinned=pinned and sure > 0.2),
            frozenset(f"run {number} {each}" for each in range(recurred)),
        )
        for number, (text, sure, kind, pinned, recurred) in enumerate(some, 1)
    ]
    planned = night(*known, most=most)
    gone = {change.id for change in planned.changes}
    left = [each for each in known if each.memory.id not in gone]
    left += [LiveMemory(change.made) for change in planned.changes if change.made and change.made.id not in gone]
    assert len(left) == planned.live
    assert not [each for each in known if each.memory.pinned and each.memory.id in gone]
    assert night(*left, most=most).changes == ()


# --- what is kept ------------------------------------------------------------------------------------------


async def _store(database: Database) -> None:
    for each in (
        build_numbered(1, CACHE, 0.7, tags=("cache",)),
        build_numbered(2, SAME, 0.5, tags=("make",)),
        build_numbered(3, ALONE, 0.1),
        build_numbered(4, f"{ALONE} Rounding failed.", kind=MemoryKind.episodic),
        build_numbered(5, CACHE, 0.5, repository_id=8),
    ):
        await keep(database, each)
    await memories.record_use(
        database, [build_numbered(2, "").id], Use.dismissed, "a finding", NOON + timedelta(minutes=2)
    )
    await memories.record_use(
        database, [build_numbered(1, "").id], Use.dismissed, "a finding", NOON + timedelta(minutes=1)
    )
    for run in ("run 2", "run 3"):
        await memories.record_use(database, [build_numbered(4, "").id], Use.recurred, run, NOON)


async def _end(database: Database) -> list[object]:
    """All there is, as far as it can be compared."""
    every = [each for repository in (7, 8) for each in await list_all(database, repository)]
    async with database.transaction() as session:
        uses = [(row.memory_id, row.use, row.cause) for row in await session.scalars(select(MemoryUseRow))]
    shown = [(each.id, each.tags, each.confidence, each.archived_at, each.archived_why) for each in every]
    told = await ledger.load_events(database, "a night")
    return [shown, sorted(uses), [each.payload for each in told if each.type is EventType.consolidated]]


async def _plan(database: Database) -> ConsolidationPlan:
    known = await consolidation.load_memories(database, 7)
    return plan_consolidation(
        known, NOON + WEEK, 100, await consolidation.list_protected(database, 7), lambda: "01J00000000000000000MADE01"
    )


async def _carry_out(database: Database, planned: ConsolidationPlan) -> None:
    for change in planned.changes:
        await consolidation.apply_changes(database, [change], NOON + WEEK)
    await consolidation.report(database, 7, "a night", planned, NOON + WEEK)


async def test_a_night_is_kept(database: Database) -> None:
    await _store(database)
    planned = await _plan(database)
    await _carry_out(database, planned)

    live = {each.id: each for each in await memories.list_live(database, 7)}
    assert {each[-3:] for each in live} == {"001", "E01"}
    assert live[build_numbered(1, "").id].tags == ("cache", "make")
    assert live[build_numbered(1, "").id].confidence == 0.5  # the dismissal of both counts once
    assert live["01J00000000000000000MADE01"].tags == (PATTERN, "failure")
    [other] = await memories.list_live(database, 8)
    assert other.content == CACHE
    [told] = await ledger.load_events(database, "a night")
    assert told.payload == {"repository": 7, "live": 2, "merged": 1, "doubtful": 1, "promoted": 1}
    known = {each.memory.id: each.frequency for each in await consolidation.load_memories(database, 7)}
    assert known == {build_numbered(1, "").id: 2, "01J00000000000000000MADE01": 3}


async def test_done_again_it_ends_the_same(database: Database) -> None:
    await _store(database)
    planned = await _plan(database)
    await consolidation.apply_changes(database, planned.changes[:1], NOON + WEEK)
    await _carry_out(database, planned)
    once = await _end(database)
    await _carry_out(database, planned)
    assert await _end(database) == once
    assert not (await _plan(database)).changes


async def test_what_was_used_since_stays(database: Database) -> None:
    await _store(database)
    planned = await _plan(database)
    await memories.record_use(database, [build_numbered(3, "").id], Use.confirmed, "carol", NOON + WEEK)
    await _carry_out(database, planned)
    found = await memories.find(database, build_numbered(3, "").id)
    assert found is not None
    assert found.is_live


@pytest.mark.parametrize(("other", "left"), [(0, 7), (7, 7), (8, 0)])
async def test_only_another_person_makes_a_memory_that_of_several(database: Database, other: int, left: int) -> None:
    """What nobody vouches for, as a proposal of a model, does not free who taught the same from answering for it."""
    for each in (build_numbered(1, CACHE, 0.7, taught_by=7), build_numbered(2, SAME, 0.5, taught_by=other)):
        await keep(database, each)
    await _carry_out(database, await _plan(database))
    [kept] = await memories.list_live(database, 7)
    assert kept.taught_by == left
