"""Which places of a lost check are believed."""

import pytest
from pydantic import JsonValue

from agents.llm.ask import ModelAnswer
from agents.review.model import CheckSearch, find_checks
from domain.review.findings import Category, Finding, Layer, Severity
from domain.review.lost_checks import FoundCheck, LostCheck, LostChecks, TestSpan, apply_found

_FINDING = Finding(
    rule="avoidance/test-removed",
    category=Category.avoidance,
    severity=Severity.warning,
    confidence=0.9,
    path="test_shop.py",
    line=4,
    message="The test `test_nothing` is gone. It is fine if another test checks the same, or what it tested is gone on "
    "purpose.",
    layer=Layer.static,
    fingerprint="f1",
    trail="t1",
)
_LOST = LostCheck(
    rule=_FINDING.rule,
    path="test_shop.py",
    line=4,
    what="The test `test_nothing` is gone.",
    before=TestSpan(path="test_shop.py", start=4, end=5),
    names=("shop", "total"),
)
_CHECKS = LostChecks(lost=(_LOST,), standing=(TestSpan(path="test_shop.py", start=4, end=6),))
_SHOWN = """BEGIN 1
== test_shop.py
1+import shop
3+# total([]) == 0 is checked below
4+def test_sums():
5+    for count in range(5):
6+        assert shop.total([7] * count) == 7 * count
8 def test_other():
9     assert True
-    assert shop.total([]) == 0
== checks that rules call lost
#1 test_shop.py:4 avoidance/test-removed: The test `test_nothing` is gone.
-    assert shop.total([]) == 0
END 1"""
_HERE = "assert shop.total([7] * count) == 7 * count"


def _search(
    quote: str, line: int = 6, verdict: str = "kept", number: int = 1, path: str = "test_shop.py"
) -> tuple[FoundCheck, ...]:
    return _find({"number": number, "verdict": verdict, "path": path, "line": line, "quote": quote}, _CHECKS)


def _find(said: dict[str, JsonValue], checks: LostChecks) -> tuple[FoundCheck, ...]:
    question = CheckSearch(key="k", instructions="", content=_SHOWN, sought=("f1",))
    return find_checks(ModelAnswer(key="k", value={"checks": [said]}), question, [_FINDING], checks)


@pytest.mark.parametrize("quote", [_HERE, f"6+        {_HERE}", f"+ {_HERE}"])
def test_a_line_of_a_test_that_runs_is_a_place(quote: str) -> None:
    [found] = _search(quote, line=5)
    assert (found.path, found.line) == ("test_shop.py", 6)
    [shown] = apply_found([_FINDING], [found])
    assert shown.severity is Severity.info
    assert shown.message == (
        "The test `test_nothing` is gone. A test that runs checks the same now, as a model says: test_shop.py:6."
    )


@pytest.mark.parametrize(
    "said",
    [
        {"quote": "# total([]) == 0 is checked below", "line": 3},
        {"quote": "assert True", "line": 9},
        {"quote": "assert shop.total([]) == 0"},
        {"quote": "assert"},
        {"quote": ""},
        {"quote": _HERE, "verdict": "unsure"},
        {"quote": _HERE, "number": 2},
        {"quote": _HERE, "number": 0},
        {"quote": _HERE, "path": "test_other.py"},
    ],
    ids=lambda said: ", ".join(f"{said[key]}" for key in said),
)
def test_nothing_else_is(said: dict[str, str]) -> None:
    assert _search(**said) == ()  # pyright: ignore[reportArgumentType]


def test_a_test_that_names_nothing_of_the_lost_one_is_no_place() -> None:
    other = _CHECKS.model_copy(update={"lost": (_LOST.model_copy(update={"names": ("price",)}),)})
    said: dict[str, JsonValue] = {"number": 1, "verdict": "kept", "path": "test_shop.py", "line": 6, "quote": _HERE}
    assert _find(said, _CHECKS)
    assert not _find(said, other)
