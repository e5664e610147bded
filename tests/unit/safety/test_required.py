"""What a branch requires is green only where every bit of it is known to be."""

import pytest

from domain.github.merging import CheckResult, RequiredCheck
from safety.required_checks import Light, check_name, standing


def result(name: str, conclusion: str, app: int | None = 1) -> CheckResult:
    return CheckResult(name=name, app_id=app, conclusion=conclusion)


CI, DOCS = RequiredCheck(name="ci"), RequiredCheck(name="docs", app_id=7)


@pytest.mark.parametrize(
    ("required", "results", "light"),
    [
        (None, [result("ci", "success")], Light.unknown),
        ([CI], [], Light.pending),
        ([CI], [result("ci", "pending")], Light.pending),
        ([CI], [result("ci", "success")], Light.green),
        ([CI], [result("ci", "skipped")], Light.green),
        ([CI], [result("ci", "failure")], Light.failing),
        ([CI], [result("ci", "cancelled")], Light.failing),
        ([CI], [result("ci", "stale")], Light.failing),
        ([CI], [result("ci", "something new")], Light.failing),
        ([CI], [result("ci", "success"), result("ci", "failure", 2)], Light.failing),
        ([CI], [result("ci", "success"), result("ci", "pending", 2)], Light.pending),
        ([CI], [result("ci", "success"), result("other", "failure")], Light.green),
        ([CI, DOCS], [result("ci", "success")], Light.pending),
        ([CI, DOCS], [result("ci", "failure")], Light.failing),
        ([DOCS], [result("docs", "success", 7)], Light.green),
        ([DOCS], [result("docs", "success", 8)], Light.pending),  # another App cannot say it
        ([], [], Light.green),
        ([], [result("ci", "success"), result("Forge / gate: mine", "cancelled")], Light.green),
        ([], [result("ci", "failure")], Light.failing),
        ([], [result("ci", "pending")], Light.pending),
    ],
)
def test_how_the_checks_stand(required: list[RequiredCheck] | None, results: list[CheckResult], light: Light) -> None:
    stands = standing(required, results)
    assert stands.light is light
    assert stands.are_required == bool(required) or light is Light.unknown
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
