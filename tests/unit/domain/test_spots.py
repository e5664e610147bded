"""When two findings of a model, some lines apart, are the same, and when they are not."""

from collections.abc import Sequence

import pytest

from domain.review.findings import Anchor

CODE = """\
def pay(prices, rates):
    total = sum(prices)

    count = len(prices)
    mean = total / count
    rate = rates[0]
    share = mean / rate
    return share


def other(prices, rates):
    total = sum(rates)
    count = len(rates)
    mean = total / count
    return mean
""".splitlines()
ZERO = "Division by zero if `prices` is empty."


def spot(line: int, message: str = ZERO, category: str = "correctness", code: Sequence[str] = CODE) -> Anchor:
    found = Anchor.of(category, message, code, line)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (5, ZERO),
        (4, ZERO),
        (6, ZERO),
        (7, ZERO),
        (2, ZERO),  # the blank line between does not count
        (4, "If `prices` is empty, this is a division by zero."),
        (6, "A division by zero happens below for empty prices."),
        (4, "Division by zero, if it is empty."),  # it names nothing of the code, in the same words
    ],
)
def test_the_same(line: int, message: str) -> None:
    assert spot(5).matches(spot(line, message))
    assert spot(line, message).matches(spot(5))


@pytest.mark.parametrize(
    ("line", "message", "category"),
    [
        (1, ZERO, "correctness"),  # too far
        (8, ZERO, "correctness"),
        (14, "Division by zero if `rates` is empty.", "correctness"),  # the same line elsewhere
        (14, ZERO, "correctness"),
        (6, "Division by zero if `rates` is empty.", "correctness"),  # of something else
        (6, "Division by zero if rates is empty.", "correctness"),
        (4, "The index is out of range if `prices` is empty.", "correctness"),
        (4, "Nothing rounds the result.", "correctness"),
        (4, "Division by zero when the list is empty.", "correctness"),  # half of the words, and no name
        (4, ZERO, "performance"),
    ],
)
def test_not_the_same(line: int, message: str, category: str) -> None:
    assert not spot(5).matches(spot(line, message, category))
    assert not spot(line, message, category).matches(spot(5))


def test_code_that_was_rewritten_is_another_spot() -> None:
    rewritten = [text.replace("total / count", "total // count") for text in CODE]
    assert not spot(5).matches(spot(4, code=rewritten))
    further = ["import os", "", *CODE]
    assert spot(5).matches(spot(6, code=further))  # the line of 4, as it was


@pytest.mark.parametrize("line", [None, 0, 3, 99])
def test_what_has_no_spot(line: int | None) -> None:
    assert Anchor.of("correctness", ZERO, CODE, line) is None
