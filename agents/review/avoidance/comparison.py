"""Compares both versions of a change and names each place where it gives up in disguise (pure)."""

import re
from collections import Counter
from collections.abc import Sequence

from agents.review.avoidance import code_comparison, command_comparison, line_comparison, test_comparison
from agents.review.avoidance.pairs import ChangedFacts
from agents.review.avoidance.repository_context import UNKNOWN, RepositoryContext
from domain.review.avoidance import Avoidance, AvoidanceKind

MOST = 20
"""Of one kind in a change; more would tell a reader nothing new, and must not hide the others."""


def find_avoidance(
    files: Sequence[ChangedFacts], asked: str = "", around: RepositoryContext = UNKNOWN
) -> tuple[Avoidance, ...]:
    """Where a change gives up in disguise, the gravest first.

    :param files: every changed file whose facts are known.
    :param asked: what people asked for, such as the text of the issue; never the words of the change itself.
    :param around: what the repository says of its tests besides.
    """
    found = [
        *test_comparison.compare_tests(files, asked, around),
        *code_comparison.compare_code(files, asked, around.tested),
        *line_comparison.compare_lines(files),
        *command_comparison.compare_commands(files),
    ]
    tidy = [each.model_copy(update={"what": _CODE.sub(_tidy, each.what)}) for each in found]
    unique = {(each.kind, each.path, each.line, each.name): each for each in reversed(tidy)}
    ordered = sorted(unique.values(), key=lambda each: (bool(each.excuse), -each.confidence, each.path, each.line or 0))
    seen = Counter[AvoidanceKind]()
    kept: list[Avoidance] = []
    for each in ordered:
        seen[each.kind] += 1
        if seen[each.kind] <= MOST:
            kept.append(each)
    return tuple(kept)


_CODE = re.compile(r"`[^`]*`")
_KEYWORDS = frozenset({"in", "return", "assert", "and", "or", "not", "if", "is", "while", "for", "await", "yield"})
_OPENING = re.compile(r"((?:\. )?\w+|[)\]\"'!]) ([(\[])")
_INSIDE = re.compile(r"(?<=[(\[]) | (?=[)\],;.])|(?<=[\w)\]\"']\.) | (?=\.[A-Za-z_])")


def _tidy(code: re.Match[str]) -> str:
    """Code as people write it: its parts were joined by spaces."""
    text = _OPENING.sub(lambda found: found[0] if found[1] in _KEYWORDS else f"{found[1]}{found[2]}", code[0])
    return _INSIDE.sub("", _INSIDE.sub("", text))
