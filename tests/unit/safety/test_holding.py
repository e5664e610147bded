"""When a finding that nobody dismissed is held back because its like was, and when it never is."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from domain.review.feedback import FindingFeedback
from domain.review.findings import Anchor, Category, Finding, Layer, Severity
from domain.review.review import SuppressedFinding, SuppressionReason, UptakeRecord
from safety.gates import needs_security_gate
from safety.suppression import (
    DismissalHistory,
    find_suppression,
    list_to_release,
    may_be_suppressed,
    rate_confidence,
    with_dismissals,
)
from tests.unit.checks.findings import build_finding
from tests.unit.safety.reviews import build_review

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def finding(path: str = "docs/new.py", confidence: float = 0.95, **more: object) -> Finding:
    usual = {"rule": "ruff/E501", "category": Category.style, "severity": Severity.warning, "fingerprint": "new"}
    return build_finding(path=path, confidence=confidence, **{**usual, **more})


def past(
    index: int,
    path: str = "docs/a.py",
    number: int = 1,
    rule: str = "ruff/E501",
    place: str = "",
    by: int = 1,
    role: str = "write",
) -> FindingFeedback:
    return FindingFeedback(
        id=f"d{index}",
        number=number,
        name=f"F-{index}",
        rule=rule,
        path=path,
        fingerprint=f"f{index}",
        place=place,
        memory_id=f"01J0000000000000000000{index:04}",
        by=f"person{by}",
        by_id=by,
        role=role,
        reason="no",
        at=NOON,
    )


def here(count: int, number: int = 1) -> list[FindingFeedback]:
    return [past(index, number=number, by=index) for index in range(count)]


def by_one(count: int) -> list[FindingFeedback]:
    return [past(index) for index in range(count)]


def elsewhere(
    count: int, numbers: Sequence[int] = (1, 2), folders: Sequence[str] = ("src", "lib")
) -> list[FindingFeedback]:
    return [
        past(100 + index, f"{folders[index % len(folders)]}/a.py", numbers[index % len(numbers)], by=index)
        for index in range(count)
    ]


def build_uptake(count: int, path: str = "docs/b.py") -> list[UptakeRecord]:
    return [UptakeRecord("ruff/E501", path)] * count


@pytest.mark.parametrize(
    ("stated", "dismissed", "taken_up", "effective", "is_held"),
    [
        (0.95, [], [], 0.95, False),
        (0.95, here(1), [], 0.95, False),  # one dismissal is about one finding
        (0.95, here(3), [], 0.35, False),
        (0.95, here(4), [], 0.15, True),
        (0.95, here(9), [], 0.0, True),
        (0.95, here(2), [], 0.55, False),
        (0.6, here(2), [], 0.2, True),
        (0.7, here(2), [], 0.3, False),  # not below
        (0.6, by_one(9), [], 0.6, False),  # one person's are one opinion
        (0.6, [*by_one(1), past(9, by=2)], [], 0.2, True),
        (0.6, [past(1), past(1, number=2, by=2)], [], 0.4, False),  # two people about the same finding
        (0.6, [*by_one(2), past(9, "src/a.py", by=2)], [], 0.6, False),  # elsewhere, which does not count yet
        (0.6, [*by_one(2), past(9, "src/a.py", 2, by=2)], [], 0.1, True),
        (0.2, [], [], 0.2, False),  # what is unsure anyway is nobody's wish
        (0.6, [past(1), past(1, number=2)], [], 0.6, False),  # the same finding counts once
        (0.95, elsewhere(7), [], 0.25, True),
        (0.95, elsewhere(6), [], 0.35, False),
        (0.95, elsewhere(9, [1]), [], 0.95, False),  # only one pull request
        (0.95, elsewhere(9, folders=["src"]), [], 0.95, False),  # one folder may be special
        (0.4, elsewhere(1), [], 0.4, False),
        (0.95, [*here(3, 1), *elsewhere(1, [2])], [], 0.25, True),
        (0.95, [*here(3, 1), *elsewhere(1, [1])], [], 0.35, False),
        (0.95, here(4), build_uptake(1), 0.25, True),
        (0.95, here(4), build_uptake(2), 0.35, False),
        (0.95, here(4), build_uptake(20), 0.95, False),  # never surer than stated
        (0.95, here(4), build_uptake(20, "src/b.py"), 0.15, True),  # what is liked elsewhere may be unwanted here
        (0.95, [past(index, rule="ruff/F401") for index in range(9)], [], 0.95, False),
        (0.95, [past(index, "docs/deep/a.py") for index in range(9)], [], 0.95, False),  # another folder
    ],
)
def test_arithmetic(
    stated: float, dismissed: list[FindingFeedback], taken_up: list[UptakeRecord], effective: float, is_held: bool
) -> None:
    history = DismissalHistory(dismissed, taken_up)
    assert rate_confidence(finding(confidence=stated), history).effective == effective
    assert (find_suppression(finding(confidence=stated), history) is not None) is is_held


@pytest.mark.parametrize(
    ("about", "may"),
    [
        ({"category": Category.security, "severity": Severity.critical}, False),
        ({"category": Category.security, "severity": Severity.error}, False),
        ({"category": Category.security, "severity": Severity.warning}, True),
        ({"category": Category.dependencies, "severity": Severity.error, "layer": Layer.security}, False),
        ({"category": Category.correctness, "severity": Severity.critical}, False),
        ({"category": Category.correctness, "severity": Severity.error}, True),
        ({"rule": "model/data-loss", "severity": Severity.error}, False),
        ({"rule": "model/data-loss", "severity": Severity.warning}, True),
        ({"rule": "secret/aws-access-key", "severity": Severity.info}, False),
    ],
)
def test_what_is_never_held_back(about: dict[str, object], may: bool) -> None:
    found = finding().model_copy(update={**about, "place": "p"})
    dismissed = [past(index, rule=found.rule, place="p", by=index) for index in range(20)]
    assert may_be_suppressed(found) is may
    assert (find_suppression(found, DismissalHistory(dismissed)) is not None) is may
    assert not (needs_security_gate(found) and may)


def model(rule: str = "model/logic-error", place: str = "p", confidence: float = 0.9) -> Finding:
    return finding(rule=rule, layer=Layer.model, place=place, confidence=confidence, category=Category.correctness)


def test_other_words_at_the_same_place_are_the_same() -> None:
    history = DismissalHistory([past(1, "elsewhere/a.py", rule="model/race", place="p")])
    found = find_suppression(model(), history)
    assert found is not None
    assert (found.why, found.release, found.memories) == (SuppressionReason.reworded, 1, ("M-000001",))
    assert [each.id for each in list_to_release(model(), history)] == ["d1"]
    assert find_suppression(model(place="q"), history) is None
    assert find_suppression(model(place=""), DismissalHistory([past(1, rule="model/race")])) is None
    assert find_suppression(finding(place="p"), history) is None  # a tool means what it says


ERROR = finding(severity=Severity.error, category=Category.correctness)
BY_TWO = [*by_one(3), past(3, by=2)]


def test_the_only_person_is_named() -> None:
    assert [rate_confidence(ERROR, DismissalHistory(each)).alone for each in (by_one(4), BY_TWO, [])] == [
        "person1",
        "",
        "",
    ]
    drawn = with_dismissals(build_review(ERROR), set(), DismissalHistory(by_one(4)))
    assert drawn.conclusion == "failure"
    assert with_dismissals(build_review(ERROR), set(), DismissalHistory(BY_TWO)).conclusion == "success"


def test_what_is_released_may_be_the_second_voice() -> None:
    assert [each.id for each in list_to_release(ERROR, DismissalHistory(BY_TWO))] == ["d3"]


def test_the_same_some_lines_further_on_is_the_same() -> None:
    """In its own file, of a model, and not under another's name."""
    lines = ["def total(prices):", "    amount = sum(prices)", "    return amount / len(prices)"]
    spots = [Anchor.of("correctness", "An empty list divides by zero.", lines, line) for line in (2, 3)]
    dismissed: Sequence[FindingFeedback] = [
        replace(past(1, "docs/new.py", rule="model/race", place="p"), spot=spots[0])
    ]
    here_ = model(place="q").model_copy(update={"spot": spots[1]})
    found = find_suppression(here_, DismissalHistory(dismissed))
    assert found is not None
    assert (found.why, found.release) == (SuppressionReason.reworded, 1)
    assert list_to_release(here_, DismissalHistory(dismissed)) == dismissed
    assert find_suppression(here_.model_copy(update={"path": "docs/old.py"}), DismissalHistory(dismissed)) is None
    assert find_suppression(here_.model_copy(update={"layer": Layer.static}), DismissalHistory(dismissed)) is None
    assert find_suppression(here_, DismissalHistory([replace(dismissed[0], spot=None)])) is None


def test_the_fewest_newest_dismissals_of_the_folder_first_are_taken_back() -> None:
    dismissed = [past(1, by=2), past(2), past(3), past(50, "src/a.py", 2), past(4), past(5, number=2)]
    history = DismissalHistory(dismissed)
    found = find_suppression(finding(), history)
    assert found is not None
    assert found.weight.effective == 0.0
    assert [each.id for each in list_to_release(finding(), history)] == ["d3", "d4", "d5"]
    assert found.memories == ("M-000003", "M-000004", "M-000005")
    left = [each for each in dismissed if each not in list_to_release(finding(), history)]
    assert find_suppression(finding(), DismissalHistory(left)) is None
    assert list_to_release(finding(), DismissalHistory(left)) == ()


def test_held_back_does_not_count_and_comes_back() -> None:
    found = finding(severity=Severity.error, category=Category.correctness)
    before, four = build_review(found), [*here(3), past(3, role="maintain")]
    drawn = with_dismissals(before, set(), DismissalHistory(four))
    assert drawn.findings == ()
    assert [each.finding for each in drawn.held] == [found]
    assert drawn.conclusion == "success"
    assert drawn.fingerprints == ["new"]

    again = with_dismissals(drawn, set(), DismissalHistory(here(3)))
    assert again.findings == (found,)
    assert (again.held, again.conclusion) == ((), "failure")

    dismissed = with_dismissals(drawn, {"new"}, DismissalHistory(four))
    assert (dismissed.dismissed, dismissed.held) == ((found,), ())


def test_what_is_held_back_survives_being_stored() -> None:
    found = find_suppression(finding(), DismissalHistory(here(4)))
    assert found is not None
    assert SuppressedFinding.model_validate(found.model_dump(mode="json")) == found


@pytest.mark.parametrize(
    ("said", "dismissed", "is_held"),
    [
        (Severity.error, Severity.error, True),
        (Severity.info, Severity.warning, True),
        (Severity.error, Severity.warning, False),
        (Severity.warning, Severity.info, False),
    ],
)
def test_what_is_graver_than_what_was_dismissed_is_not_that_in_other_words(
    said: Severity, dismissed: Severity, is_held: bool
) -> None:
    found = finding(severity=said, layer=Layer.model, place="p", fingerprint="new")
    before = replace(past(1, place="p", rule="other"), severity=dismissed)
    assert (find_suppression(found, DismissalHistory([before])) is not None) == is_held


def test_what_was_dismissed_together_counts_once() -> None:
    together = [replace(past(index, by=index), memory_id="m") for index in range(60)]
    alone = [past(60 + index) for index in range(3)]
    assert rate_confidence(finding(), DismissalHistory(together)).effective == 0.75
    assert find_suppression(finding(), DismissalHistory([*together, *alone[:2]])) is None
    assert rate_confidence(finding(), DismissalHistory([*together, *alone])).here == 4
    assert find_suppression(finding(), DismissalHistory([*together, *alone])) is not None
    assert [each.id for each in list_to_release(finding(), DismissalHistory([*alone, *together]))] == [
        each.id for each in together
    ]
