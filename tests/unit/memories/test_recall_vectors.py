"""Recall by meaning: what a model's vectors add to words, and that they leak no more than these."""

import math
import random
from collections.abc import Sequence
from operator import mul

import pytest
from sqlalchemy import func, select, update

from domain.memories.memory import Archived, Memory, Scope
from memory.db.engine import Database
from memory.db.tables import MemoryVectorRow
from memory.learned import memories, vectors
from memory.learned.recall import Asked, recall
from memory.learned.vectors import Vector, nearness
from tests.unit.memories.test_confidence import NOON
from tests.unit.memories.test_recall import SHOP, SIBLING, STRANGER, keep, learned

MODEL = "openai:text-embedding-3-small"
HERE = Vector(MODEL, [1.0, 0.0, 0.0])


async def keep_with(database: Database, many: Sequence[tuple[Memory, Sequence[float]]]) -> None:
    await keep(database, *(each for each, _ in many))
    await vectors.keep(database, [each for each, _ in many], [Vector(MODEL, values) for _, values in many])


async def told(database: Database, asked: Asked, vector: Vector = HERE) -> Sequence[str]:
    return [each.memory.content for each in await recall(database, asked, NOON, vector)]


async def test_what_means_the_same_is_found_without_its_words(database: Database) -> None:
    near, far = learned("Prices are whole cents."), learned("Deploy on Mondays.")
    await keep_with(database, [(far, [0.0, 9.0, 1.0]), (near, [2.0, 0.1, 0.0])])
    await keep(database, learned("No model saw this."))
    assert await told(database, Asked(SHOP, "")) == ["Prices are whole cents.", "Deploy on Mondays."]
    assert await told(database, Asked(SHOP, "rounding of money", limit=1)) == ["Prices are whole cents."]


async def test_what_words_and_meaning_agree_on_comes_first(database: Database) -> None:
    both = learned("The cart rounds.")
    words, meaning = learned("The cart rounds blue carts."), learned("Prices are whole cents.")
    await keep_with(database, [(words, [0.0, 0.0, 1.0]), (both, [0.9, 0.1, 0.0]), (meaning, [1.0, 0.0, 0.0])])
    assert (await told(database, Asked(SHOP, "cart rounds")))[0] == "The cart rounds."


async def test_vectors_leak_no_more_than_words_do(database: Database) -> None:
    gone = learned("Archived.")
    await keep_with(
        database,
        [
            (each, [1.0, 0.0, 0.0])
            for each in (
                learned("Ours."),
                learned("Our sibling's.", of=SIBLING),
                learned("Shared.", of=SIBLING, scope=Scope.organisation),
                learned("A stranger's.", of=STRANGER, scope=Scope.organisation),
                learned("Over.", confidence=0.1),
                gone,
            )
        ],
    )
    await memories.archive(database, [gone.id], Archived.unused, NOON)
    assert await told(database, Asked(SHOP, "")) == ["Ours."]
    assert set(await told(database, Asked(SHOP, "", organisation=True))) == {"Ours.", "Shared."}
    assert await told(database, Asked(STRANGER, "", organisation=True)) == ["A stranger's."]


async def test_the_nearest_of_many_are_found(database: Database) -> None:
    """Of more than are compared in full, of a repository's own and of those it shares, each with as many as that."""
    chance = random.Random(5)
    asked = [chance.gauss() for _ in range(256)]
    near = [learned(f"Near {number}.") for number in range(10)]
    shared = [learned(f"Shared {number}.", of=SIBLING, scope=Scope.organisation) for number in range(5)]
    close = [[value + chance.gauss(0, 0.2 + 0.1 * place) for value in asked] for place in range(15)]
    far = [learned(f"Far {number}.") for number in range(300)]
    theirs = [learned(f"Theirs {number}.", of=SIBLING, scope=Scope.organisation) for number in range(300)]
    others = [[chance.gauss() for _ in range(256)] for _ in range(600)]
    made = [*zip([*far, *theirs], others, strict=True), *zip([*near, *shared], close, strict=True)]
    await keep_with(database, made)

    found = await database.at_once(
        lambda connection: nearness(connection, SHOP, Vector(MODEL, asked), organisation=True)
    )
    exact = {memory.id: cosine(asked, values) for memory, values in made}
    assert sorted(found, key=found.__getitem__)[-15:] == sorted(exact, key=exact.__getitem__)[-15:]
    assert found == {each: pytest.approx(exact[each], abs=1e-6) for each in found}
    assert len(found) == 200
    assert {*await told(database, Asked(SHOP, ""), Vector(MODEL, asked))} == {memory.content for memory in near}


def cosine(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(map(mul, one, other)) / math.hypot(*one) / math.hypot(*other)


async def test_of_many_that_mean_the_same_the_newest_are_found(database: Database) -> None:
    same = [learned(f"The cart {number}.") for number in range(250)]
    await keep_with(database, [(memory, HERE.values) for memory in same])
    found = await database.at_once(lambda connection: nearness(connection, SHOP, HERE, organisation=False))
    assert found.keys() == {memory.id for memory in same[150:]}


async def test_a_model_whose_numbers_are_all_above_zero(database: Database) -> None:
    chance = random.Random(6)
    made = [(learned(f"{number}."), [abs(chance.gauss()) for _ in range(64)]) for number in range(300)]
    await keep_with(database, made)
    assert (await told(database, Asked(SHOP, ""), Vector(MODEL, made[7][1])))[0] == "7."


async def test_vectors_of_another_length_take_no_place(database: Database) -> None:
    """A model made seven numbers once, and makes eight now: both have eight signs."""
    values = [1.0, -1.0] * 4
    await keep_with(database, [(learned("Seven."), values[:7])])
    await keep_with(database, [(learned("Eight."), values) for _ in range(210)])
    assert await told(database, Asked(SHOP, ""), Vector(MODEL, values[:7])) == ["Seven."]


async def test_what_a_model_makes_longer_than_its_signs(database: Database) -> None:
    long = [math.sin(number) for number in range(12_288)]
    await keep_with(database, [(learned("The cart."), long)])
    assert await told(database, Asked(SHOP, ""), Vector(MODEL, long)) == ["The cart."]


async def test_a_vector_without_signs_is_made_again(database: Database) -> None:
    """As code of an earlier version keeps it while both are at work."""
    memory = learned("The cart.")
    await keep_with(database, [(memory, HERE.values)])
    async with database.transaction() as session:
        await session.execute(update(MemoryVectorRow).values(dimensions=0, signs=""))
    assert await told(database, Asked(SHOP, "")) == []
    assert await vectors.missing(database, SHOP.id, MODEL) == [memory]
    await vectors.keep(database, [memory], [HERE])
    assert await told(database, Asked(SHOP, "")) == ["The cart."]


async def test_vectors_that_cannot_be_compared_are_left_out(database: Database) -> None:
    await keep_with(database, [(learned("The cart."), [1.0, 0.0, 0.0])])
    assert await told(database, Asked(SHOP, ""), Vector(MODEL, [1.0, 0.0])) == []
    assert await told(database, Asked(SHOP, ""), Vector("ollama:other", [1.0, 0.0, 0.0])) == []
    assert await told(database, Asked(SHOP, "cart"), Vector("ollama:other", [1.0])) == ["The cart."]


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [float("nan"), 1.0], [float("inf"), 1.0]])
async def test_a_vector_without_direction_is_none(database: Database, values: list[float]) -> None:
    with pytest.raises(ValueError, match="A vector needs numbers"):
        await vectors.keep(database, [learned("The cart.")], [Vector(MODEL, values)])


async def test_what_a_model_has_not_seen_yet(database: Database) -> None:
    old, new, gone = learned("Old."), learned("New."), learned("Archived.")
    await keep(database, old, new, gone, learned("Elsewhere.", of=SIBLING))
    await memories.archive(database, [gone.id], Archived.unused, NOON)
    assert await vectors.missing(database, SHOP.id, MODEL) == [new, old]
    assert await vectors.missing(database, SHOP.id, MODEL, 1) == [new]

    await vectors.keep(database, [new], [HERE])
    await vectors.keep(database, [new, old, gone], [HERE] * 3)
    await vectors.keep(database, [], [])
    assert await vectors.missing(database, SHOP.id, MODEL) == []
    async with database.transaction() as session:
        assert await session.scalar(select(func.count()).select_from(MemoryVectorRow)) == 2
    assert len(await vectors.missing(database, SHOP.id, "ollama:other")) == 2
