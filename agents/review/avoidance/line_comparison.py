"""Compares what the lines of a change tell: tools that are silenced, failures that are ignored, tests left out."""

import re
from collections.abc import Callable, Iterator, Sequence

from agents.review.avoidance.facts import PlaceFact, SourceFacts
from agents.review.avoidance.lines import ON_DEMAND, SKIPPED, is_for_runner, is_sample
from agents.review.avoidance.pairing import subtract
from agents.review.avoidance.pairs import ChangedFacts
from domain.review.avoidance import Avoidance, AvoidanceKind

_DOUBTED = frozenset(
    {
        "only some tests run",
        SKIPPED,
        "what is collected changes",
        "a rule's code is added",
        "rules are ignored",
        "failing tests are tried again",
        ON_DEMAND,
    }
)


def compare_lines(files: Sequence[ChangedFacts]) -> list[Avoidance]:
    """What a change silences, ignores or leaves out."""
    return [
        *_find(files, AvoidanceKind.suppression_added, lambda facts: facts.suppressions, "A tool is silenced: "),
        *_find(files, AvoidanceKind.failure_ignored, lambda facts: facts.ignored, "A failure has no effect: "),
        *_find(files, AvoidanceKind.test_deselected, lambda facts: facts.deselected, "Tests may not run: "),
        *_find_lowered(files),
    ]


def _find(
    files: Sequence[ChangedFacts],
    kind: AvoidanceKind,
    select: Callable[[SourceFacts], Sequence[PlaceFact]],
    begin: str,
) -> Iterator[Avoidance]:
    """Places that are new. One of a sort that is certain makes up for another that went away from the same file."""
    known = {place.text for file in files for place in select(file.old)}
    for file in files:
        if file.is_gone:
            continue
        old, new = select(file.old), select(file.new)
        more = subtract(new, old, lambda place: place.what)
        for place in new:
            if place.text in known or not (place in more or place.what in _DOUBTED):
                continue
            shown = place.text.replace("`", "'")[:80]
            yield Avoidance(
                kind=AvoidanceKind.test_skipped if place.what == SKIPPED else kind,
                path=file.path,
                line=place.line,
                what=f"{begin}{place.what}, in `{shown}`.",
                confidence=_judge(file, place),
                name=f"{place.what}: {place.text[:60]}",
            )


def _judge(file: ChangedFacts, place: PlaceFact) -> float:
    is_new = file.before is None and place.what == "tests are not collected"
    is_data = file.is_test and is_sample(file.path)
    return 0.5 if is_new or is_data or place.what in _DOUBTED or _is_about_others(file.path, place) else 0.8


def _is_about_others(path: str, place: PlaceFact) -> bool:
    """Whether what is left out need not be tests: linters, archives and compilers leave out files, too."""
    is_left_out = place.what in {"tests are left out", "tests are deselected"}
    return is_left_out and not is_for_runner(path) and not _TESTS.search(place.text)


_TESTS = re.compile(r"test|spec|deselect|-[km]\b", re.IGNORECASE)


def _find_lowered(files: Sequence[ChangedFacts]) -> Iterator[Avoidance]:
    for file in files:
        for setting, value in file.new.thresholds.items():
            before = file.old.thresholds.get(setting)
            if before is not None and value < before:
                yield Avoidance(
                    kind=AvoidanceKind.failure_ignored,
                    path=file.path,
                    what=f"The demanded coverage was lowered from {before:g} to {value:g}: `{setting}`.",
                    confidence=0.85,
                    name=setting,
                )
