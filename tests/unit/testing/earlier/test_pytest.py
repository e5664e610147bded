"""The earlier tests of pytest on new code: each way in which one can end."""

import pytest

from domain.runs.earlier_tests import EarlierOutcome
from tests.unit.sandbox.machine import has_bubblewrap
from tests.unit.testing.earlier.conftest import Earlier

pytestmark = pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")

PROGRAM = {"pyproject.toml": "[tool.pytest.ini_options]\n", "sums.py": "def add(a, b):\n    return a + b\n"}
BROKEN = {"sums.py": "def add(a, b):\n    return a - b\n"}
TEST = "from sums import add\n\n\ndef test_adds():\n    assert add(2, 2) == 4\n"


async def test_a_test_that_was_taken_away_and_passes_hides_nothing(earlier: Earlier) -> None:
    found = await earlier({**PROGRAM, "tests/test_sums.py": TEST}, {"tests/test_sums.py": None})
    assert (found.holding, found.tests) == (1, ())


async def test_a_test_that_was_taken_away_and_fails_is_lost(earlier: Earlier) -> None:
    found = await earlier({**PROGRAM, "tests/test_sums.py": TEST}, {**BROKEN, "tests/test_sums.py": None})
    assert [(each.id, each.outcome) for each in found.tests] == [("tests/test_sums.py::test_adds", EarlierOutcome.lost)]
    assert "assert 0 == 4" in found.tests[0].output


async def test_a_test_that_demands_another_value_has_changed(earlier: Earlier) -> None:
    after = {**BROKEN, "tests/test_sums.py": TEST.replace("== 4", "== 0")}
    found = await earlier({**PROGRAM, "tests/test_sums.py": TEST}, after)
    assert [each.outcome for each in found.tests] == [EarlierOutcome.changed]


async def test_a_test_that_still_fails_is_seen_by_everybody(earlier: Earlier) -> None:
    after = {**BROKEN, "tests/test_sums.py": TEST.replace("== 4", "== 5")}
    found = await earlier({**PROGRAM, "tests/test_sums.py": TEST}, after)
    assert [each.outcome for each in found.tests] == [EarlierOutcome.open]
