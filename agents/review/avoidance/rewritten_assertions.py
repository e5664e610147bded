"""Tells whether an assertion that is gone is an element of a compared tuple now, or a case of its test's table."""

import re

from agents.review.avoidance.facts import AssertionFact, Strength, TestFact
from agents.review.avoidance.pairing import subtract
from agents.review.avoidance.tables import split_row

_TUPLE = re.compile(r"[(\[] .+ [)\]]$")
_PARTS = re.compile(r"\w+")


def find_heir(gone: AssertionFact, old: TestFact, new: TestFact) -> AssertionFact | None:
    """The assertion by which a test that stays asks for what one that is gone did, in one of these forms."""
    fresh = subtract(new.assertions, old.assertions, lambda each: each.text)
    heirs = [
        each
        for each in fresh
        if each.kind == gone.kind and each.strength >= gone.strength and each.guards <= gone.guards
    ]
    if gone.kind == "equal" and gone.strength is Strength.exact:
        return next((each for each in heirs if _is_element(gone, each)), None)
    if gone.kind == "raises":
        return next((each for each in heirs if _is_case(gone, each, old, new)), None)
    return None


def _is_element(gone: AssertionFact, heir: AssertionFact) -> bool:
    """Whether what was expected is an element of what is compared as a whole now."""
    arguments = _split_arguments(gone.text.partition("(")[2].rpartition(")")[0])[:2]
    elements = {
        element for side in heir.sides if _TUPLE.match(side.core) for element in _split_arguments(side.core[1:-1])
    }
    return len(elements) > 1 and any(argument in elements for argument in arguments)


def _is_case(gone: AssertionFact, heir: AssertionFact, old: TestFact, new: TestFact) -> bool:
    """Whether one new case has all values of a call that must fail, and its error unless the assertion names it."""
    arguments = _split_arguments(gone.text.partition("(")[2].rpartition(")")[0])
    if not gone.literals or not arguments or "," in heir.text:
        return False
    error = {*_PARTS.findall(arguments[0])}
    values = {_bare(word) for word in gone.literals}
    names = {word for word in gone.words if word not in gone.literals} - error
    for row in subtract(new.rows, old.rows, str):
        parts = {_bare(word) for word in split_row(row)}
        if values <= parts and error <= parts.union(heir.words) and names <= parts | new.words:
            return True
    return False


def _split_arguments(text: str) -> list[str]:
    """The parts between the commas outside of brackets."""
    found: list[list[str]] = [[]]
    depth = 0
    for part in text.split():
        depth += (part in {"(", "[", "{"}) - (part in {")", "]", "}"})
        if part == "," and depth == 0:
            found.append([])
        else:
            found[-1].append(part)
    return [" ".join(each) for each in found if each]


def _bare(word: str) -> str:
    return word.strip("\"'`")
