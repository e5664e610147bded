"""Which test of a change is taken for the one in the place of a removed one, and what is said of a guess."""

import pytest

from domain.runs.earlier_tests import EarlierOutcome, Fate
from messages.earlier_tests import render_section
from tests.unit.sandbox.machine import has_bubblewrap
from tests.unit.testing.earlier.conftest import Earlier

pytestmark = pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")

_READS = "def read_limit(text):\n    return int(text) if text.isdigit() else None\n"
_REFUSES = _READS.replace(
    "    return int(text) if text.isdigit() else None",
    "    if not text.isdigit():\n        raise ValueError(f'{text} is no limit')\n    return int(text)",
)
_ON_NULL = "def test_null_for_an_invalid_limit():\n    limit = read_limit('invalid')\n    assert limit is None\n"
_ON_ZERO = "def test_takes_zero():\n    limit = read_limit('0')\n    assert limit is not None\n    assert limit == 0\n"
_ON_ERROR = (
    "def test_error_for_an_invalid_limit():\n"
    "    with pytest.raises(ValueError, match='invalid is no limit'):\n        read_limit('invalid')\n"
)
_HEAD = "import pytest\nfrom limits import read_limit\n\n\n"
_FILES = {
    "pytest.ini": "[pytest]\npythonpath = .\n",
    "limits.py": _READS,
    "tests/test_limits.py": f"{_HEAD}{_ON_NULL}",
}


async def test_what_fails_on_the_code_of_before_is_in_the_place_of_a_removed_test(earlier: Earlier) -> None:
    """Another one is more alike, and holds with both programs."""
    found = await earlier(_FILES, {"limits.py": _REFUSES, "tests/test_limits.py": f"{_HEAD}{_ON_ZERO}\n\n{_ON_ERROR}"})
    [changed] = found.tests
    assert (changed.outcome, changed.is_blind) == (EarlierOutcome.changed, False)
    assert changed.now == ("with pytest.raises(ValueError, match='invalid is no limit'):",)


async def test_a_guess_that_no_run_confirms_is_neither_shown_nor_spoken_of(earlier: Earlier) -> None:
    """An agent still answers for it."""
    found = await earlier(_FILES, {"limits.py": _REFUSES, "tests/test_limits.py": f"{_HEAD}{_ON_ZERO}"})
    [removed] = found.tests
    assert (removed.outcome, removed.fate, removed.now) == (EarlierOutcome.changed, Fate.removed, ())
    assert found.obligations == (removed,)
    said = render_section(found)
    assert "| `limit = read_limit('invalid')` | removed |" in said
    assert "code of before" not in said
