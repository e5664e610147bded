"""What a branch requires is green only where every bit of it is known to be."""

import pytest

from domain.github.pull_requests import ReportedCheck, RequiredCheck
from safety.allowed_actions import ChecksState, check_name, evaluate_checks


def result(name: str, conclusion: str, app: int | None = 1) -> ReportedCheck:
    return ReportedCheck(name=name, app_id=app, conclusion=conclusion)


CI, DOCS = RequiredCheck(name="ci"), RequiredCheck(name="docs", app_id=7)


@pytest.mark.parametrize(
    ("required", "results", "light"),
    [
        (None, [result("ci", "success")], ChecksState.unknown),
        ([CI], [], ChecksState.pending),
        ([CI], [result("ci", "pending")], ChecksState.pending),
        ([CI], [result("ci", "success")], ChecksState.green),
        ([CI], [result("ci", "skipped")], ChecksState.green),
        ([CI], [result("ci", "failure")], ChecksState.failing),
        ([CI], [result("ci", "cancelled")], ChecksState.failing),
        ([CI], [result("ci", "stale")], ChecksState.failing),
        ([CI], [result("ci", "something new")], ChecksState.failing),
        ([CI], [result("ci", "success"), result("ci", "failure", 2)], ChecksState.failing),
        ([CI], [result("ci", "success"), result("ci", "pending", 2)], ChecksState.pending),
        ([CI], [result("ci", "success"), result("other", "failure")], ChecksState.green),
        ([CI, DOCS], [result("ci", "success")], ChecksState.pending),
        ([CI, DOCS], [result("ci", "failure")], ChecksState.failing),
        ([DOCS], [result("docs", "success", 7)], ChecksState.green),
        ([DOCS], [result("docs", "success", 8)], ChecksState.pending),  # another App cannot say it
        ([], [], ChecksState.green),
        ([], [result("ci", "success"), result("Forge / gate: mine", "cancelled")], ChecksState.green),
        ([], [result("ci", "failure")], ChecksState.failing),
        ([], [result("ci", "pending")], ChecksState.pending),
    ],
)
def test_how_the_checks_stand(
    required: list[RequiredCheck] | None, results: list[ReportedCheck], light: ChecksState
) -> None:
    stands = evaluate_checks(required, results)
    assert stands.light is light
    assert stands.are_required == bool(required) or light is ChecksState.unknown
    assert stands.text


@pytest.mark.parametrize(
    ("base", "required", "name"),
    [
        ("main", None, "Forge / review"),
        ("dev", [], "Forge / review: dev"),
        ("dev", None, "Forge / review: dev"),
        ("dev", [CI], "Forge / review: dev"),
        ("dev", [RequiredCheck(name="Forge / review")], "Forge / review"),
        ("dev", [RequiredCheck(name="Forge / review: dev")], "Forge / review: dev"),
    ],
)
def test_the_required_name_is_only_for_branches_that_require_it(
    base: str, required: list[RequiredCheck] | None, name: str
) -> None:
    assert check_name(base, "main", required) == name
    assert check_name("main", "", required) != "Forge / review" or required  # a default branch that is not known
