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


@pytest.mark.parametrize(
    ("new", "fate", "now"),
    [
        ("", Fate.removed, ()),
        (
            "\n\ndef test_holds_no_sets():\n    result = hold(set, [1, 2])\n\n    assert result == [1, 2, 3][:2]\n",
            Fate.rewritten,
            ("assert result == [1, 2, 3][:2]",),
        ),
    ],
)
async def test_what_is_in_the_place_of_another_test_is_in_none_beside_it(
    earlier: Earlier, new: str, fate: Fate, now: tuple[str, ...]
) -> None:
    """Tests that move to other files get other names there, and one of them goes."""
    head = "from shop import hold\n\n\n"
    holds = "def test_hold_{0}():\n    result = hold({0}, [1, 2])\n\n    assert result == {1}\n"
    files = {
        "pytest.ini": "[pytest]\npythonpath = .\n",
        "shop.py": "def hold(kind, items):\n    return kind(items)\n",
        "test_shop.py": f"{head}{holds.format('list', '[1, 2]')}\n\n{holds.format('set', '{1, 2}')}",
    }
    moved = f"{head}{holds.format('list', '[1, 2]').replace('hold_list', 'keeps_rows')}{new}"
    change = {"shop.py": files["shop.py"].replace("kind(", "list("), "test_shop.py": None, "tests/test_rows.py": moved}
    [went] = (await earlier(files, change)).tests
    assert (went.id, went.fate, went.now) == ("test_shop.py::test_hold_set", fate, now)
