"""Pairs what was there before with what is there after: tests and assertions that moved, were renamed or rewritten."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from agents.review.avoidance.facts import AssertionFact, TestFact

T = TypeVar("T")
_ALIKE = 0.6
"""How much of their words two tests share, so that one is the other under another name."""
_SAME_SUBJECT = 0.3
_MOST = 200
"""Tests, or assertions of one, that are compared with each other by what they say."""


@dataclass(frozen=True)
class PlacedTest:
    """A test and its file, under the path that the file has at head."""

    path: str
    test: TestFact


@dataclass(frozen=True)
class PairedTests:
    """The tests of a change.

    :param pairs: those that are there before and after.
    """

    pairs: Sequence[tuple[PlacedTest, PlacedTest]]
    removed: Sequence[PlacedTest]
    added: Sequence[PlacedTest]


def pair_tests(before: Sequence[PlacedTest], after: Sequence[PlacedTest]) -> PairedTests:
    """Pair tests by file and name, else by name, else by what they do."""
    pairs: list[tuple[PlacedTest, PlacedTest]] = []
    old, new = [*before], [*after]
    keys: tuple[Callable[[PlacedTest], object], ...] = (
        lambda each: (each.path, each.test.name),
        lambda each: (each.path, each.test.short_name),
        lambda each: each.test.name,
        lambda each: each.test.short_name,
        lambda each: (each.test.signature, len(each.test.assertions)) if each.test.assertions else id(each),
    )
    for key in keys:
        found, old, new = _match(old, new, key)
        pairs += found
    for each in old[:_MOST]:
        best = max(new[:_MOST], key=lambda other: share(each.test.words, other.test.words), default=None)
        if best is not None and share(each.test.words, best.test.words) >= _ALIKE and each.test.assertions:
            pairs.append((each, best))
            old.remove(each)
            new.remove(best)
    return PairedTests(pairs, old, new)


def _match(
    old: Sequence[PlacedTest], new: Sequence[PlacedTest], key: Callable[[PlacedTest], object]
) -> tuple[list[tuple[PlacedTest, PlacedTest]], list[PlacedTest], list[PlacedTest]]:
    waiting: dict[object, list[PlacedTest]] = {}
    for each in new:
        waiting.setdefault(key(each), []).append(each)
    pairs: list[tuple[PlacedTest, PlacedTest]] = []
    left: list[PlacedTest] = []
    for each in old:
        others = waiting.get(key(each))
        if others:
            pairs.append((each, others.pop(0)))
        else:
            left.append(each)
    taken = {id(other) for _, other in pairs}
    return pairs, left, [each for each in new if id(each) not in taken]


def share(one: frozenset[str], other: frozenset[str]) -> float:
    """How much of the words of both they have in common: 0 to 1."""
    union = one | other
    return len(one & other) / len(union) if union else 0.0


def pair_assertions(
    before: Sequence[AssertionFact], after: Sequence[AssertionFact]
) -> tuple[list[tuple[AssertionFact, AssertionFact]], list[AssertionFact], list[AssertionFact]]:
    """Pair assertions of one test: those that stay as they are, then those on the same subject.

    :returns: pairs that differ, those that have no partner any more, and new ones.
    """
    same, lost, gained = _split(before, after)
    lost, more = lost[:_MOST], lost[_MOST:]
    gained, others = gained[:_MOST], gained[_MOST:]
    pairs = [(old, new) for old, new in same if new.guards > old.guards]
    scored = sorted(
        ((_compare_subjects(old, new), -i, -j) for i, old in enumerate(lost) for j, new in enumerate(gained)),
        reverse=True,
    )
    taken_old, taken_new = set[int](), set[int]()
    for score, i, j in scored:
        if score < _SAME_SUBJECT or -i in taken_old or -j in taken_new:
            continue
        taken_old.add(-i)
        taken_new.add(-j)
        pairs.append((lost[-i], gained[-j]))
    rest = [each for index, each in enumerate(lost) if index not in taken_old]
    return pairs, [*rest, *more], [*others, *(each for index, each in enumerate(gained) if index not in taken_new)]


def _split(
    before: Sequence[AssertionFact], after: Sequence[AssertionFact]
) -> tuple[list[tuple[AssertionFact, AssertionFact]], list[AssertionFact], list[AssertionFact]]:
    waiting: dict[str, list[AssertionFact]] = {}
    for each in after:
        waiting.setdefault(each.text, []).append(each)
    same: list[tuple[AssertionFact, AssertionFact]] = []
    lost: list[AssertionFact] = []
    for each in before:
        if waiting.get(each.text):
            same.append((each, waiting[each.text].pop(0)))
        else:
            lost.append(each)
    return same, lost, [each for rest in waiting.values() for each in rest]


def _compare_subjects(old: AssertionFact, new: AssertionFact) -> float:
    """How much two assertions seem to be about the same: 0 to 1 and a bit more."""
    first, second = Counter(old.words), Counter(new.words)
    union = (first | second).total()
    shared = (first & second).total() / union if union else 0.0
    subject = (first - Counter(old.literals)) & (second - Counter(new.literals))
    whole = (first - Counter(old.literals)).total()
    by_subject = subject.total() / whole if whole else 0.0
    if old.kind == new.kind and not first - Counter(old.literals) and not second - Counter(new.literals):
        shared = max(shared, _SAME_SUBJECT)  # both are about literals only, as in a shell
    same_kind = 0.0 if old.kind != new.kind else 0.3 if old.kind == "raises" else 0.1
    return max(shared, by_subject * 0.9) + same_kind - abs(old.line - new.line) * 0.0001


def subtract(one: Iterable[T], other: Iterable[T], key: Callable[[T], object]) -> list[T]:
    """What is in one and not in the other, each as often as it is there more often."""
    left = Counter(key(each) for each in other)
    rest: list[T] = []
    for each in one:
        if left[key(each)] > 0:
            left[key(each)] -= 1
        else:
            rest.append(each)
    return rest
