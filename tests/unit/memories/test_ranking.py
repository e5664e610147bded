"""The order of what was found, as tables, and the words of a question."""

from datetime import timedelta

import pytest

from domain import memories
from domain.memories import Memory, RecalledMemory
from tests.rows import NOON
from tests.unit.memories.records import build_rated


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("", ()),
        ("the of and", ()),
        ("src/shop/cart_total.py", ("total", "cart", "shop", "src", "py")),
        ("parseConfig", ("parseconfig", "config", "parse")),
        ("HTTPServer2", ("httpserver2", "server", "http")),
        ("Tests tests TESTS till", ("tests", "till")),
        ("at 9f8e7d6c5b4a and deadbeef1 and x", ()),
        ("y" * 41 + " cart", ("cart",)),
        ("車 größe", ("größe", "車")),
        ('cart"* OR (\0)', ("cart",)),
        ("cart " + "z" * memories.READ + " till", ("cart",)),
    ],
)
def test_terms(text: str, terms: tuple[str, ...]) -> None:
    assert memories.extract_terms(text) == terms


def test_terms_are_few_and_the_same_whatever_their_order() -> None:
    words = [f"word{'x' * (number % 7)}{number}" for number in range(300)]
    assert len(memories.extract_terms(" ".join(words))) == memories.MOST_TERMS
    assert memories.extract_terms(" ".join(words)) == memories.extract_terms(" ".join(reversed(words)))


@pytest.mark.parametrize(
    ("holders", "places"),
    [
        ([], {}),
        (["", ""], {}),
        (["ab", "c"], {"c": 1, "a": 2, "b": 2}),  # what few hold says more
        (["ac", "bc"], {"c": 1, "a": 2, "b": 2}),
        (["abc", "", "b", "d"], {"b": 1, "d": 2, "a": 3, "c": 3}),
    ],
)
def test_places_by_words(holders: list[str], places: dict[str, int]) -> None:
    assert memories.rank_by_words(holders) == places


def test_only_the_best_have_a_place_and_the_newest_of_equals() -> None:
    many = {f"{number:03}": 1.0 for number in range(memories.CANDIDATES + 9)}
    found = memories.rank_by_worth({**many, "best": 2.0})
    assert len(found) == memories.CANDIDATES
    assert found["best"] == 1
    assert "009" not in found
    assert found["010"] == 2


def test_what_several_rankings_name_comes_before_what_one_does() -> None:
    scores = memories.fuse_rankings([{"a": 1, "b": 2}, {"b": 2}, {}])
    assert scores["b"] > scores["a"]
    assert scores["a"] == pytest.approx(1 / 61)


@pytest.mark.parametrize(
    ("confidence", "pinned", "age", "weight"),
    [
        (1.0, False, timedelta(), 1.0),
        (0.5, False, timedelta(), 0.75),
        (0.5, False, timedelta(days=-9), 0.75),  # a clock that was set back
        (0.5, True, timedelta(days=30), 0.675),
        (0.0, True, timedelta(days=9_000), 0.4),
    ],
)
def test_weights(confidence: float, pinned: bool, age: timedelta, weight: float) -> None:
    assert memories.compute_weight(build_rated(confidence, pinned=pinned), NOON + age) == pytest.approx(weight)


def test_the_best_are_in_order_and_still_hold() -> None:
    def build_memory(name: str, confidence: float) -> Memory:
        return build_rated(confidence).model_copy(update={"id": name})

    found = {"a": (0.5, 0.02), "b": (1.0, 0.01), "c": (0.1, 1.0), "d": (0.5, 0.02)}
    recalled = [RecalledMemory(build_memory(name, sure), score) for name, (sure, score) in found.items()]
    assert [each.memory.id for each in memories.select_best(recalled, NOON, 2)] == ["d", "a"]
    alike = [RecalledMemory(each.memory, 0.01) for each in recalled]
    assert [each.memory.id for each in memories.select_best(alike, NOON, 9)] == ["b", "d", "a"]
