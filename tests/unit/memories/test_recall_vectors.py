"""Recall by meaning: what a model's vectors add to words, and that they leak no more than these."""

import math
import random
from collections.abc import Sequence
from operator import mul

import pytest
from sqlalchemy import func, select

from domain.memories import Archived, Memory, Scope
from memory.db.engine import Database
from memory.db.tables.repositories import MemoryVectorRow
from memory.learned import vectors
from memory.learned.recall import RecallQuery, recall
from memory.learned.vectors import Vector, compute_similarity
from tests.rows import NOON
from tests.unit.memories.records import SHOP, SIBLING, STRANGER, archive, build_memory, keep

MODEL = "openai:text-embedding-3-small"
HERE = Vector(MODEL, [1.0, 0.0, 0.0])


async def keep_with(database: Database, many: Sequence[tuple[Memory, Sequence[float]]]) -> None:
    await keep(database, *(each for each, _ in many))
    await vectors.keep(database, [each for each, _ in many], [Vector(MODEL, values) for _, values in many])


async def recall_ids(database: Database, asked: RecallQuery, vector: Vector = HERE) -> Sequence[str]:
    return [each.memory.content for each in await recall(database, asked, NOON, vector)]


async def test_what_means_the_same_is_found_without_its_words(database: Database) -> None:
    near, far = build_memory("Prices are whole cents."), build_memory("Deploy on Mondays.")
    await keep_with(database, [(far, [0.0, 9.0, 1.0]), (near, [2.0, 0.1, 0.0])])
    await keep(database, build_memory("No model saw this."))
    assert await recall_ids(database, RecallQuery(SHOP, "")) == ["Prices are whole cents.", "Deploy on Mondays."]
    assert await recall_ids(database, RecallQuery(SHOP, "rounding of money", limit=1)) == ["Prices are whole cents."]


async def test_what_words_and_meaning_agree_on_comes_first(database: Database) -> None:
    both = build_memory("The cart rounds.")
    words, meaning = build_memory("The cart rounds blue carts."), build_memory("Prices are whole cents.")
    await keep_with(database, [(words, [0.0, 0.0, 1.0]), (both, [0.9, 0.1, 0.0]), (meaning, [1.0, 0.0, 0.0])])
    assert (await recall_ids(database, RecallQuery(SHOP, "cart rounds")))[0] == "The cart rounds."


async def test_vectors_leak_no_more_than_words_do(database: Database) -> None:
    gone = build_memory("Archived.")
    await keep_with(
        database,
        [
            (each, [1.0, 0.0, 0.0])
            for each in (
                build_memory("Ours."),
                build_memory("Our sibling's.", of=SIBLING),
                build_memory("Shared.", of=SIBLING, scope=Scope.organisation),
                build_memory("A stranger's.", of=STRANGER, scope=Scope.organisation),
                build_memory("Over.", confidence=0.1),
                gone,
            )
        ],
    )
    await archive(database, [gone.id], Archived.unused, NOON)
    assert await recall_ids(database, RecallQuery(SHOP, "")) == ["Ours."]
    assert set(await recall_ids(database, RecallQuery(SHOP, "", organisation=True))) == {"Ours.", "Shared."}
    assert await recall_ids(database, RecallQuery(STRANGER, "", organisation=True)) == ["A stranger's."]


async def test_the_nearest_of_many_are_found(database: Database) -> None:
    """Of more than are compared in full, of a repository's own and of those it shares, each with as many as that."""
    chance = random.Random(5)
    asked = [chance.gauss() for _ in range(256)]
    near = [build_memory(f"Near {number}.") for number in range(10)]
    shared = [build_memory(f"Shared {number}.", of=SIBLING, scope=Scope.organisation) for number in range(5)]
    close = [[value + chance.gauss(0, 0.2 + 0.1 * place) for value in asked] for place in range(15)]
    far = [build_memory(f"Far {number}.") for number in range(300)]
    theirs = [build_memory(f"Theirs {number}.", of=SIBLING, scope=Scope.organisation) for number in range(300)]
    others = [[chance.gauss() for _ in range(256)] for _ in range(600)]
    made = [*zip([*far, *theirs], others, strict=True), *zip([*near, *shared], close, strict=True)]
    await keep_with(database, made)

    found = await database.run_in_transaction(
        lambda connection: compute_similarity(connection, SHOP, Vector(MODEL, asked), organisation=True)
    )
    exact = {memory.id: cosine(asked, values) for memory, values in made}
    assert sorted(found, key=found.__getitem__)[-15:] == sorted(exact, key=exact.__getitem__)[-15:]
    assert found == {each: pytest.approx(exact[each], abs=1e-6) for each in found}
    assert len(found) == 200
    assert {*await recall_ids(database, RecallQuery(SHOP, ""), Vector(MODEL, asked))} == {
        memory.content for memory in near
    }


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(map(mul, one, other)) / math.hypot(*one) / math.hypot(*other)


async def test_of_many_that_mean_the_same_the_newest_are_found(database: Database) -> None:
    same = [build_memory(f"The cart {number}.") for number in range(250)]
    await keep_with(database, [(memory, HERE.values) for memory in same])
    found = await database.run_in_transaction(
        lambda connection: compute_similarity(connection, SHOP, HERE, organisation=False)
    )
    assert found.keys() == {memory.id for memory in same[150:]}


async def test_a_model_whose_numbers_are_all_above_zero(database: Database) -> None:
    chance = random.Random(6)
    made = [(build_memory(f"{number}."), [abs(chance.gauss()) for _ in range(64)]) for number in range(300)]
    await keep_with(database, made)
    assert (await recall_ids(database, RecallQuery(SHOP, ""), Vector(MODEL, made[7][1])))[0] == "7."


async def test_vectors_of_another_length_take_no_place(database: Database) -> None:
    """A model made seven numbers once, and makes eight now: both have eight signs."""
    values = [1.0, -1.0] * 4
    await keep_with(database, [(build_memory("Seven."), values[:7])])
    await keep_with(database, [(build_memory("Eight."), values) for _ in range(210)])
    assert await recall_ids(database, RecallQuery(SHOP, ""), Vector(MODEL, values[:7])) == ["Seven."]


async def test_what_a_model_makes_longer_than_its_signs(database: Database) -> None:
    long = [math.sin(number) for number in range(12_288)]
    await keep_with(database, [(build_memory("The cart."), long)])
    assert await recall_ids(database, RecallQuery(SHOP, ""), Vector(MODEL, long)) == ["The cart."]


async def test_vectors_that_cannot_be_compared_are_left_out(database: Database) -> None:
    await keep_with(database, [(build_memory("The cart."), [1.0, 0.0, 0.0])])
    assert await recall_ids(database, RecallQuery(SHOP, ""), Vector(MODEL, [1.0, 0.0])) == []
    assert await recall_ids(database, RecallQuery(SHOP, ""), Vector("ollama:other", [1.0, 0.0, 0.0])) == []
    assert await recall_ids(database, RecallQuery(SHOP, "cart"), Vector("ollama:other", [1.0])) == ["The cart."]


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
async def test_a_vector_without_direction_is_none(database: Database, values: list[float]) -> None:
    with pytest.raises(ValueError, match="A vector needs numbers"):
        await vectors.keep(database, [build_memory("The cart.")], [Vector(MODEL, values)])


async def test_what_a_model_has_not_seen_yet(database: Database) -> None:
    old, new, gone = build_memory("Old."), build_memory("New."), build_memory("Archived.")
    await keep(database, old, new, gone, build_memory("Elsewhere.", of=SIBLING))
    await archive(database, [gone.id], Archived.unused, NOON)
    assert await vectors.list_missing(database, SHOP.id, MODEL) == [new, old]
    assert await vectors.list_missing(database, SHOP.id, MODEL, 1) == [new]

    await vectors.keep(database, [new], [HERE])
    await vectors.keep(database, [new, old, gone], [HERE] * 3)
    await vectors.keep(database, [], [])
    assert await vectors.list_missing(database, SHOP.id, MODEL) == []
    async with database.transaction() as session:
        assert await session.scalar(select(func.count()).select_from(MemoryVectorRow)) == 2
    assert len(await vectors.list_missing(database, SHOP.id, "ollama:other")) == 2
