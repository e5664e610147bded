"""Lists the checks that a change seems to have lost, and the tests in which they may stand now (pure)."""

import re
from collections.abc import Iterator, Sequence

from agents.review.avoidance.assertions import VOCABULARY
from agents.review.avoidance.comparison import MOST
from agents.review.avoidance.facts import Strength
from agents.review.avoidance.pairing import PlacedTest
from agents.review.avoidance.pairs import ChangedFacts
from agents.review.avoidance.test_change import TestChange
from domain.review.avoidance import CERTAIN, Avoidance, AvoidanceKind
from domain.review.lost_checks import NOTHING_LOST, SOUGHT, LostCheck, LostChecks, TestSpan

_IS_NAME = re.compile(r"[A-Za-z_]\w{2,}$")
_MOST_STANDING = 300
_MOST_NAMES = 40
_NOT_RUN = frozenset({AvoidanceKind.test_skipped, AvoidanceKind.test_deselected, AvoidanceKind.assertion_weakened})
"""A test of which this is said is no place where a lost check may stand."""


def list_lost_checks(files: Sequence[ChangedFacts], found: Sequence[Avoidance]) -> LostChecks:
    """What the change seems to have lost; nothing where that is more than is told, or more than can be shown."""
    sought = [each for each in found if each.kind in SOUGHT and not each.excuse and each.confidence >= CERTAIN]
    if not sought or len(sought) >= MOST:
        return NOTHING_LOST
    change = TestChange(files, "")
    standing = [*_list_standing(change, found)]
    if len(standing) > _MOST_STANDING:
        return NOTHING_LOST
    before = {(each.path, each.test.name): each for each in change.matches.removed}
    before |= {(new.path, new.test.name): old for old, new in change.matches.pairs}
    lost = [_describe(each, test) for each in sought if (test := _find_before(each, before)) is not None]
    return LostChecks(lost=tuple(lost), standing=tuple(standing))


def _find_before(found: Avoidance, before: dict[tuple[str, str], PlacedTest]) -> PlacedTest | None:
    """The test at the merge base that a detection is about, and its file: it has that name, maybe with an assertion."""
    return next(
        (
            test
            for (path, name), test in before.items()
            if path == found.path and (found.name == name or found.name.startswith(f"{name}: "))
        ),
        None,
    )


def _describe(found: Avoidance, before: PlacedTest) -> LostCheck:
    test = before.test
    names = sorted(word for word in test.words if _IS_NAME.match(word) and word not in VOCABULARY)
    return LostCheck(
        rule=found.kind.rule,
        path=found.path,
        line=found.line,
        what=found.what,
        before=TestSpan(path=before.path, start=test.line, end=test.end),
        names=tuple(names[:_MOST_NAMES]),
    )


def _list_standing(change: TestChange, found: Sequence[Avoidance]) -> Iterator[TestSpan]:
    unrun = {(each.path, each.name) for each in found if each.kind in _NOT_RUN and each.confidence >= CERTAIN}
    placed: list[PlacedTest] = [*(new for _, new in change.matches.pairs), *change.matches.added]
    for each in sorted(placed, key=lambda one: (one.path, one.test.line)):
        test = each.test
        runs = test.is_collected and not (test.skip or test.shadowed_by or test.inverted or test.needs)
        is_named = any(
            path == each.path and (name == test.name or name.startswith(f"{test.name}: ")) for path, name in unrun
        )
        demands = any(one.strength >= Strength.partial for one in test.assertions)
        if runs and not is_named and (demands or change.assertion_helpers.intersection(test.calls)):
            yield TestSpan(path=each.path, start=test.line, end=test.end)
