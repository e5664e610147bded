"""Tells whether a truth that a test asked a framework for is asked for by a plain assertion now."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from agents.review.avoidance.facts import AssertionFact

_ASKED = re.compile(r"self \. assert(True|False) \( (.+) \)$")
_PLAIN = re.compile(r"assert (not )?(.+)$")
_NAME = re.compile(r"[A-Za-z_]\w*$")
_LESS = frozenset(
    {"or", "and", "not", "is", "in", "if", "any", "all", "len", "bool", "type", "isinstance", "hasattr", "callable"}
)
"""What may make something else true, or more of it."""


def keeps_truth(before: AssertionFact, after: AssertionFact) -> bool:
    """Whether ``self.assertTrue(x.is_valid())`` became ``assert x.is_valid()``, of which neither asks for less."""
    asked, plain = _ASKED.match(before.text), _PLAIN.match(after.text)
    if asked is None or plain is None or (asked[1] == "False") != bool(plain[1]):
        return False
    old, new = _take_condition(asked[2]), _take_condition(plain[2])
    if _cut_end(old) != _cut_end(new) or _LESS & ({*new} - {*old}):
        return False
    values = {word for word in before.literals if word in " ".join(old)}
    return values <= {*after.literals} and {*_list_called(old)} <= {*_list_called(new)}


def _cut_end(parts: Sequence[str]) -> Sequence[str]:
    """What a condition asks in the end: its last name and what follows."""
    last = max((index for index, part in enumerate(parts) if _NAME.match(part)), default=0)
    return parts[last:]


def _list_called(parts: Sequence[str]) -> Iterator[str]:
    return (name for name, bracket in pairwise(parts) if bracket == "(" and _NAME.match(name))


def _take_condition(text: str) -> list[str]:
    """The parts of an assertion before its message."""
    parts: list[str] = []
    depth = 0
    for part in text.split():
        depth += (part in {"(", "[", "{"}) - (part in {")", "]", "}"})
        if part == "," and depth == 0:
            break
        parts.append(part)
    return parts
