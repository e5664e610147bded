# ruff: noqa: E501 - the tables of cases hold whole files on a line
"""The earlier tests of pytest on new code: each way in which one can end."""

from collections.abc import Mapping

import pytest
from inline_snapshot import snapshot

from domain.runs.earlier_tests import EarlierOutcome, EarlierTests
from tests.unit.sandbox.machine import has_bubblewrap
from tests.unit.testing.earlier.conftest import Earlier, has_program

pytestmark = pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")

PROGRAM = {"pyproject.toml": "[tool.pytest.ini_options]\n", "sums.py": "def add(a, b):\n    return a + b\n"}
BROKEN = {"sums.py": "def add(a, b):\n    return a - b\n"}
_TESTS = "tests/test_a.py"
TEST = "from sums import add\n\n\ndef test_adds():\n    assert add(2, 2) == 4\n"


async def test_a_test_that_was_taken_away_and_passes_hides_nothing(earlier: Earlier) -> None:
    change = {"sums.py": f"{PROGRAM['sums.py']}# Still.\n", "tests/test_sums.py": None}
    found = await earlier({**PROGRAM, "tests/test_sums.py": TEST}, change)
    assert (found.holding, found.tests) == (1, ())


async def test_a_change_of_tests_alone_runs_none_as_their_program_is_the_same(earlier: Earlier) -> None:
    found = await earlier({**PROGRAM, "tests/test_sums.py": TEST}, {"tests/test_sums.py": None})
    assert (found.holding, found.seconds, found.not_run) == (0, 0, ())
    assert [each.name for each in found.removed] == ["test_adds"]


async def test_a_test_that_was_taken_away_and_fails_is_lost(earlier: Earlier) -> None:
    found = await earlier({**PROGRAM, "tests/test_sums.py": TEST}, {**BROKEN, "tests/test_sums.py": None})
    assert [(each.id, each.outcome) for each in found.tests] == [("tests/test_sums.py::test_adds", EarlierOutcome.lost)]
    assert "assert 0 == 4" in found.tests[0].output


@pytest.mark.parametrize(("demand", "untold"), [("number + 1", 1), ("number - 7", 0)])
async def test_how_many_are_not_told_counts_what_is_known(earlier: Earlier, demand: str, untold: int) -> None:
    """Of what failed before nothing is known, and another line says so."""
    rows = f"from sums import add\nimport pytest\n\n\n@pytest.mark.parametrize('number', range(101))\ndef test_adds(number):\n    assert add(number, 1) == {demand}\n"
    found = await earlier({**PROGRAM, "tests/test_sums.py": rows}, {**BROKEN, "tests/test_sums.py": None})
    assert (found.untold, len(found.tests)) == (untold, 100)


async def test_a_check_that_stretches_over_lines_is_shown_as_a_whole(earlier: Earlier) -> None:
    """As formatters write it; its first line alone says nothing."""
    spread = "from sums import add\n\n\ndef test_adds():\n    assert (\n        add(\n            2, 2\n        )\n        == 4\n    )\n"
    after = {**BROKEN, "tests/test_sums.py": spread.replace("== 4", "== 0")}
    found = await earlier({**PROGRAM, "tests/test_sums.py": spread}, after)
    [changed] = found.select(EarlierOutcome.changed)
    assert (changed.demanded, changed.now) == (("assert ( add( 2, 2 ) == 4 )",), ("assert ( add( 2, 2 ) == 0 )",))


async def test_of_files_that_tests_share_the_one_is_told_whose_lines_a_test_printed(earlier: Earlier) -> None:
    """Some lines of it are in the others, too."""
    program = "def render(name):\n    return f'<style left>\\n<style {name}>\\n'\n"
    test = "import pathlib\nimport pytest\nfrom marks import render\n\n\n@pytest.mark.parametrize('name', ['all', 'one'])\ndef test_marks(name):\n    assert render(name) == (pathlib.Path(__file__).parent / 'data' / f'{name}.txt').read_text()\n"
    data = {f"tests/data/{name}.txt": f"<style left>\n<style {name}>\n" for name in ("all", "one")}
    before = {"marks.py": program, "pytest.ini": "[pytest]\npythonpath = .\n", "tests/test_marks.py": test, **data}
    changed = {path: before[path].replace("style", "align") for path in ("marks.py", *data)}
    found = await earlier(before, changed)
    assert {each.id.partition("[")[2]: each.shared_path for each in found.select(EarlierOutcome.changed)} == {
        "all]": "tests/data/all.txt",
        "one]": "tests/data/one.txt",
    }


@pytest.mark.parametrize(("line", "outcome"), [("parcel.weight = 1", "changed"), ("assert parcel.weight == 2", "lost")])
async def test_a_helper_that_uses_the_program_as_it_was_demands_nothing(
    earlier: Earlier, line: str, outcome: str
) -> None:
    """The line fails in a helper that tests share, and what stands in its place says nothing of the new code."""
    helper = f"from shop import Parcel\n\n\ndef round_weight(parcel):\n    {line}\n    return parcel\n"
    test = "from helpers import round_weight\nfrom shop import Parcel\n\n\ndef test_weight():\n    assert round_weight(Parcel(2)).weight\n"
    before = {
        "shop.py": "class Parcel:\n    def __init__(self, weight):\n        self.weight = weight\n",
        "pytest.ini": "[pytest]\npythonpath = . tests\n",
        "tests/helpers.py": helper,
        "tests/test_shop.py": test,
    }
    frozen = "from dataclasses import dataclass\n\n\n@dataclass(frozen=True)\nclass Parcel:\n    weight: int\n\n    def __post_init__(self):\n        object.__setattr__(self, 'weight', self.weight + 1)\n"
    change = {"shop.py": frozen, "tests/helpers.py": helper.replace(line, "parcel = Parcel(parcel.weight)")}
    found = await earlier(before, change)
    assert [(each.id, each.outcome.value) for each in found.tests] == [("tests/test_shop.py::test_weight", outcome)]


def name(found: EarlierTests) -> dict[str, str]:
    blind = {each.id for each in found.changed if each.is_blind}
    told = {each.id: "blind" if each.id in blind else each.outcome.value for each in found.tests}
    told |= {each.id: "meant" for each in found.changed if each.culprits}
    return {name.partition("::")[2]: outcome for name, outcome in told.items()}


MORE = TEST + "\n\ndef test_more_adds():\n    assert add(1, 2) == 3\n"
GROWN = {**PROGRAM, "sums.py": PROGRAM["sums.py"] + "\n\ndef halve(a):\n    return a // 2\n"}
OF_BOTH = "from sums import add, halve\n\n\ndef test_adds():\n    assert add(2, 2) == 4\n\n\ndef test_halves():\n    assert halve(4) == 2\n"
HELPED = "from tests.checks import check\nfrom sums import add\n\n\ndef test_adds():\n    check(add(2, 2), 4)\n"
CHECKS = {"tests/__init__.py": "", "tests/checks.py": "def check(a, b):\n    assert a == b\n"}
ON_SNAPSHOT = "from pathlib import Path\nfrom sums import add\n\n\ndef test_adds():\n    path = Path(__file__).parent / '__snapshots__' / 'sums.snap'\n    assert str(add(2, 2)) == path.read_text()\n"
ROWS = "import pytest\nfrom sums import add\n\n\n@pytest.mark.parametrize(('a', 'b'), [\n    (2, 4),\n    (0, 0),\n])\ndef test_doubles(a, b):\n    assert add(a, a) == b\n"
PLURALS = "ODD = {'cow': 'kine'}\n\n\ndef plural(word):\n    return word if word in ODD.values() else ODD.get(word, word.rstrip('s') + 's')\n"
ON_PLURALS = "import pytest\nfrom words import plural\n\nWORDS = [\n    ('cow', 'kine'),\n    ('dog', 'dogs'),\n]\n\n\n@pytest.mark.parametrize(('one', 'many'), WORDS)\ndef test_plural(one, many):\n    assert plural(one) == many\n\n\n@pytest.mark.parametrize(('one', 'many'), WORDS)\ndef test_stays(one, many):\n    assert plural(many) == many\n"
GREETS = {
    **PROGRAM,
    "sums.py": "def greet(name, loud=False):\n    if not name:\n        raise ValueError('a name is needed')\n    return name.upper() if loud else name\n",
}
QUIET = {"sums.py": "def greet(name):\n    return name\n"}
ON_GREET = "import pytest\nfrom sums import greet\n\n\ndef test_loud():\n    assert greet('a', loud=True) == 'A'\n\n\ndef test_needs_a_name():\n    with pytest.raises(ValueError, match='a name is needed'):\n        greet('')\n\n\ndef test_greets():\n    assert greet('b') == 'b'\n"

BY_FIXTURE = "import pytest\nfrom sums import add, halve\n\n\n@pytest.fixture\ndef half():\n    with pytest.raises(TypeError):\n        halve()\n    try:\n        return halve(add(2, 2))\n    except Exception:\n        raise RuntimeError('nothing')\n\n\ndef test_halves(half):\n    assert half == 2\n\n\ndef test_adds():\n    assert add(1, 1) == 2\n"
VALIDATED = (
    "from sums import add\nfrom tests.rows import validate\n\n\ndef test_adds():\n    validate([(add(2, 2), 4)])\n"
)
VALIDATES = {
    "tests/__init__.py": "",
    "tests/rows.py": "def validate(rows):\n    for a, b in rows:\n        assert a == b\n",
}
RANGE = "from sums import add\n\n\ndef test_adds():\n    for n in range(4):\n        assert add(2, n) == 2 + n\n"
ROUGHLY = "import pytest\nfrom sums import add\n\n\ndef test_adds():\n    assert add(2, 2) == pytest.approx(4, abs=1)\n"
CONSTANT = "from sums import add\n\nSUM = 4\n\n\ndef test_adds():\n    assert add(2, 2) == SUM\n"
BESIDE = (
    "from sums import add\n\n\ndef check(a, b):\n    assert a == b\n\n\ndef test_adds():\n    check(add(2, 2), 4)\n"
)
PARTIAL = "from functools import partial\nimport sums\n\nadd = partial(sums.add)\n\n\ndef test_adds():\n    assert add(2) == 4\n"
SCALED = "SCALE = 2\n\n\ndef add(a, b):\n    return SCALE * (a + b)\n"
SETS_SCALE = "    monkeypatch.setattr('sums.SCALE', 1)\n    assert"

BY_ROWS = "import pathlib\nimport pytest\nfrom sums import add\n\nROWS = (pathlib.Path(__file__).parent / 'rows').iterdir()\n\n\n@pytest.mark.parametrize('row', ROWS, ids=lambda row: row.stem)\ndef test_row(row):\n    a, b, c = map(int, row.read_text().split())\n    assert add(a, b) == c\n"
CAPPED = "def add(a, b):\n    if a > 10:\n        a = 10\n    return a + b\n"
ON_CAPPED = TEST + "\n\ndef test_caps():\n    assert add(12, 1) == 11\n"
TAKES_ANY = (
    "\n\ndef test_large_numbers():\n    total = sum(add(n, 1) for n in range(20, 30))\n    assert total == 255\n"
)
IN_TESTS = {
    **PROGRAM,
    "pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['tests']\npythonpath = ['.']\n",
    "tests/test_b.py": "def test_b():\n    assert True\n",
}


Case = tuple[dict[str, str], dict[str, str | None], dict[str, str]]


def _rewrite(
    test: str,
    now: str | None,
    ends: dict[str, str],
    *,
    before: Mapping[str, str] = PROGRAM,
    change: Mapping[str, str | None] = BROKEN,
) -> Case:
    """A file of tests that is another one after the change, or gone, and how its tests end."""
    return {**before, _TESTS: test}, {**change, **({} if now == test else {_TESTS: now})}, ends


CASES: dict[str, Case] = {
    "demands another value": _rewrite(TEST, TEST.replace("== 4", "== 0"), {"test_adds": "changed"}),
    "still fails, as everybody sees": _rewrite(TEST, TEST.replace("== 4", "== 5"), {"test_adds": "open"}),
    "the data that a helper reads": _rewrite(
        "from sums import add\nfrom tests.reading import read\n\n\ndef test_rows():\n    for name in ['fir' + 'st']:\n        a, b, c = read(name)\n        assert add(a, b) == c\n",
        "from sums import add\nfrom tests.reading import read\n\n\ndef test_rows():\n    for name in ['fir' + 'st']:\n        a, b, c = read(name)\n        assert add(a, b) == c\n",
        {"test_rows": "lost"},
        before={
            **PROGRAM,
            "tests/__init__.py": "",
            "tests/reading.py": "from pathlib import Path\n\nROWS = Path(__file__).parent / 'rows'\n\n\ndef read(name):\n    return [int(word) for word in (ROWS / f'{name}.txt').read_text().split()]\n",
            "tests/test_first.py": "def test_first():\n    assert True\n",
            "tests/rows/first.txt": "2 2 4",
        },
        change={**BROKEN, "tests/rows/first.txt": "2 0 2"},
    ),
    "in a file that is called as tests are": (
        {**PROGRAM, "test.py": TEST},
        {**BROKEN, "test.py": TEST.replace("== 4", "is not None")},
        {"test_adds": "blind"},
    ),
    "moved to where no run of all tests comes": _rewrite(
        TEST, None, {"test_adds": "lost"}, before=IN_TESTS, change={**BROKEN, "more/test_a.py": TEST}
    ),
    "left out by a pattern in place of many names, and another file has a test of its name": _rewrite(
        TEST,
        TEST,
        {"test_adds": "lost"},
        before={
            **PROGRAM,
            "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\naddopts = '--ignore tests/load_a.py --ignore tests/load_b.py'\n",
            "tests/test_b.py": "def test_adds():\n    assert True\n",
        },
        change={
            **BROKEN,
            "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\naddopts = '--ignore-glob tests/*_a.py'\n",
        },
    ),
    "moved to where everybody sees that it fails": _rewrite(
        TEST, None, {"test_adds": "open"}, before=IN_TESTS, change={**BROKEN, "tests/more/test_a.py": TEST}
    ),
    "the data of one row is removed": _rewrite(
        BY_ROWS,
        BY_ROWS,
        {"test_row[two]": "lost"},
        before={**PROGRAM, "tests/rows/one.txt": "1 0 1", "tests/rows/two.txt": "2 2 4"},
        change={**BROKEN, "tests/rows/two.txt": None},
    ),
    "the data of one row is a document": _rewrite(
        BY_ROWS,
        BY_ROWS,
        {"test_row[two]": "lost"},
        before={**PROGRAM, "tests/rows/two.md": "2 2 4"},
        change={**BROKEN, "tests/rows/two.md": "2 0 2"},
    ),
    "weakened": _rewrite(TEST, TEST.replace("== 4", "is not None"), {"test_adds": "blind"}),
    "held only roughly": _rewrite(
        TEST,
        TEST.replace("from sums", "import pytest\nfrom sums").replace("4\n", "pytest.approx(4, abs=9)\n"),
        {"test_adds": "lost"},
    ),
    "held more roughly": _rewrite(ROUGHLY, ROUGHLY.replace("abs=1)", "abs=9)"), {"test_adds": "lost"}),
    "held but for what rounding leaves": _rewrite(
        TEST.replace("(2, 2) == 4", "(0.5, 0.2) == 0.7"),
        TEST.replace("from sums", "import pytest\nfrom sums").replace(
            "(2, 2) == 4", "(0.5, 0.2) == pytest.approx(0.7, rel=1e-6)"
        ),
        {"test_adds": "blind"},
        change={"sums.py": "def add(a, b):\n    return a + b + 1e-9\n"},
    ),
    "another value, in a test that leaves it to a helper to compare": _rewrite(
        VALIDATED, VALIDATED.replace("4", "0"), {"test_adds": "changed"}, before={**PROGRAM, **VALIDATES}
    ),
    "no value, in a test that leaves it to a helper to compare": _rewrite(
        VALIDATED,
        VALIDATED.replace("(add(2, 2), 4)", "(add, add)"),
        {"test_adds": "lost"},
        before={**PROGRAM, **VALIDATES},
    ),
    "emptied": _rewrite(TEST, TEST.replace("assert add(2, 2) == 4", "add(2, 2)"), {"test_adds": "lost"}),
    "skipped": _rewrite(
        TEST, TEST.replace("def test", "import pytest\n\n\n@pytest.mark.skip\ndef test"), {"test_adds": "lost"}
    ),
    "expected to fail": _rewrite(
        TEST, TEST.replace("def test", "import pytest\n\n\n@pytest.mark.xfail\ndef test"), {"test_adds": "lost"}
    ),
    "renamed so that nothing runs it": _rewrite(
        MORE,
        MORE.replace("def test_adds()", "def check_adds()").replace("== 3", "== -1"),
        {"test_adds": "lost", "test_more_adds": "changed"},
    ),
    "caught": _rewrite(
        TEST,
        TEST.replace("    assert", "    try:\n        assert").replace(
            "== 4", "== 4\n    except AssertionError:\n        pass"
        ),
        {"test_adds": "lost"},
    ),
    "the subject is replaced": _rewrite(
        TEST,
        TEST,
        {"test_adds": "lost"},
        change={
            **BROKEN,
            "tests/conftest.py": "import pytest\nimport sums\n\n\n@pytest.fixture(autouse=True)\ndef _sums(monkeypatch):\n    monkeypatch.setattr('tests.test_a.add', lambda a, b: 4, raising=False)\n    import sys\n    sys.modules['test_a'].add = lambda a, b: 4\n",
        },
    ),
    "a helper checks less": _rewrite(
        HELPED,
        HELPED,
        {"test_adds": "lost"},
        before={**PROGRAM, **CHECKS},
        change={**BROKEN, "tests/checks.py": "def check(a, b):\n    assert a is not None\n"},
    ),
    "a helper is honest": _rewrite(
        HELPED,
        HELPED,
        {},
        before={**PROGRAM, **CHECKS},
        change={
            "sums.py": f"{PROGRAM['sums.py']}# Still.\n",
            "tests/checks.py": "def check(a, b):\n    assert a is not None\n",
        },
    ),
    "a conftest deselects": _rewrite(
        MORE,
        MORE,
        {"test_adds": "lost", "test_more_adds": "lost"},
        change={
            **BROKEN,
            "tests/conftest.py": "def pytest_collection_modifyitems(items):\n    items[:] = [each for each in items if each.name == 'nothing']\n",
        },
    ),
    "settings deselect": _rewrite(
        MORE,
        MORE.replace("== 3", "== -1"),
        {"test_adds": "lost", "test_more_adds": "changed"},
        change={
            **BROKEN,
            "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--deselect tests/test_a.py::test_adds'\n",
        },
    ),
    "only settings deselect": _rewrite(
        TEST,
        TEST,
        {"test_adds": "lost"},
        change={**BROKEN, "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--ignore tests/test_a.py'\n"},
    ),
    "moved": _rewrite(
        MORE,
        None,
        {"test_adds": "changed", "test_more_adds": "changed"},
        change={**BROKEN, "tests/test_b.py": MORE.replace("== 4", "== 0").replace("== 3", "== -1")},
    ),
    "renamed": _rewrite(
        TEST, TEST.replace("test_adds", "test_takes_away").replace("== 4", "== 0"), {"test_adds": "changed"}
    ),
    "parametrised": _rewrite(TEST, ROWS.replace("(2, 4)", "(2, 0)"), {"test_adds": "changed"}),
    "translated": _rewrite(
        TEST,
        "import unittest\nfrom sums import add\n\n\nclass TestSums(unittest.TestCase):\n    def test_adding(self):\n        self.assertEqual(add(2, 2), 0)\n",
        {"test_adds": "changed"},
    ),
    "a row is taken away": _rewrite(ROWS, ROWS.replace("    (2, 4),\n", ""), {"test_doubles[2-4]": "lost"}),
    "a row is another": _rewrite(ROWS, ROWS.replace("(2, 4)", "(2, 0)"), {"test_doubles[2-4]": "changed"}),
    "gone with its code": _rewrite(OF_BOTH, TEST, {"test_halves": "gone"}, before=GROWN, change={**PROGRAM}),
    "gone, and one is hidden behind it": _rewrite(
        OF_BOTH, None, {"test_halves": "gone", "test_adds": "lost"}, before=GROWN
    ),
    "a module is gone": _rewrite(TEST, None, {"test_adds": "gone"}, change={"sums.py": None}),
    "two are gone with their code, and one new test is like both": _rewrite(
        "from words import make\n\n\ndef test_cast():\n    assert make('A', cast=str.lower) == 'a'\n\n\n"
        "def test_remap():\n    assert make('A', remap={'A': str.lower('B')}) == 'b'\n",
        "from words import make\n\n\ndef test_hook():\n    assert make('A', hook=str.lower) == 'a'\n",
        {"test_cast": "gone", "test_remap": "gone"},
        before={
            **PROGRAM,
            "words.py": "def make(text, cast=None, remap=None):\n    text = cast(text) if cast else text\n"
            "    return (remap or {}).get(text, text)\n",
        },
        change={"words.py": "def make(text, hook=None):\n    return hook(text) if hook else text\n"},
    ),
    "a module has another name, and its tests were forgotten": _rewrite(
        TEST,
        TEST,
        {"test_adds": "open"},
        change={"sums.py": None, "totals.py": PROGRAM["sums.py"], "pytest.ini": "[pytest]\naddopts = -ra\n"},
    ),
    "a module has another name, and so have its tests": _rewrite(
        TEST,
        TEST.replace("from sums", "from totals"),
        {"test_adds": "gone"},
        change={"sums.py": None, "totals.py": PROGRAM["sums.py"]},
    ),
    "a parameter and an error are gone": _rewrite(
        ON_GREET, None, {"test_loud": "gone", "test_needs_a_name": "gone"}, before=GREETS, change={**QUIET}
    ),
    "a function has another name": _rewrite(
        TEST,
        TEST.replace("import add", "import total").replace("add(", "total("),
        {"test_adds": "gone"},
        change={"sums.py": PROGRAM["sums.py"].replace("add", "total")},
    ),
    "a helper names what is gone, and the new one does not": _rewrite(
        HELPED,
        HELPED,
        {},
        before={
            **GROWN,
            "tests/__init__.py": "",
            "tests/checks.py": "from sums import halve\n\n\ndef check(a, b):\n    assert halve(2 * a) == b\n",
        },
        change={**PROGRAM, **CHECKS},
    ),
    "a helper and a test need what is gone, and the new ones do not": _rewrite(
        HELPED + "\n\ndef test_halves():\n    import sums\n\n    check(sums.halve(4), 2)\n",
        HELPED,
        {"test_halves": "gone"},
        before={
            **GROWN,
            "tests/__init__.py": "",
            "tests/checks.py": f"import sums\n\nALL = [sums.halve]\n\n\n{CHECKS['tests/checks.py']}",
        },
        change={**PROGRAM, **CHECKS},
    ),
    "a class of another file is inherited": _rewrite(
        "from sums import add\n\n\nclass TestSums:\n    def test_adds(self):\n        assert add(2, 2) == 4\n",
        None,
        {},
        before={
            **PROGRAM,
            "tests/__init__.py": "",
            "tests/test_b.py": "from tests.test_a import TestSums\n\n\nclass TestMore(TestSums):\n    pass\n",
        },
        change={"sums.py": f"{PROGRAM['sums.py']}# Still.\n", "tests/test_b.py": None},
    ),
    "it failed before": _rewrite(
        TEST,
        None,
        {"test_adds": "unknown"},
        before={**BROKEN, "pyproject.toml": PROGRAM["pyproject.toml"]},
        change={"sums.py": f"{BROKEN['sums.py']}# Still.\n"},
    ),
    "flaky before": _rewrite(
        TEST.replace(
            "    assert",
            "    import os\n    if os.path.exists('x'):\n        raise OSError\n    open('x', 'w')\n    assert",
        ),
        None,
        {"test_adds": "unknown"},
    ),
    "a document changes": _rewrite(
        TEST, TEST, {}, before={**PROGRAM, "tests/README.md": "a"}, change={**BROKEN, "tests/README.md": "b"}
    ),
    "ends early": _rewrite(TEST, None, {"test_adds": "unknown"}, change={"sums.py": "import os\nos._exit(0)\n"}),
    "a hostile test writes its own report": _rewrite(
        TEST,
        "import os, sys\nfolder = os.environ['FORGE_RESULTS']\nopen(folder + '/junit.xml', 'w').write('<testsuite><testcase classname=\"tests.test_a\" name=\"test_adds\" file=\"tests/test_a.py\"/></testsuite>')\nos._exit(0)\n",
        {"test_adds": "lost"},
    ),
    "a call takes more": _rewrite(
        TEST,
        TEST.replace("2, 2", "2, 2, 0"),
        {"test_adds": "changed"},
        change={"sums.py": "def add(a, b, c):\n    return a + b + c\n"},
    ),
    "only a package that measures coverage is not there": _rewrite(
        TEST,
        None,
        {"test_adds": "lost"},
        before={
            **PROGRAM,
            "pyproject.toml": PROGRAM["pyproject.toml"] + "\n[project]\nname = 'sums'\ndependencies = ['pytest-cov']\n",
        },
    ),
    "split": _rewrite(
        TEST + "    assert add(1, 2) == 3\n",
        "from sums import add\n\n\ndef test_adds_two():\n    assert add(2, 2) == 0\n\n\ndef test_adds_one():\n    assert add(1, 2) == -1\n",
        {"test_adds": "changed"},
    ),
    "split, and one part is left out": _rewrite(
        TEST + "    assert add(3, 0) == 3\n",
        "from sums import add\n\n\ndef test_adds_nothing():\n    assert add(3, 0) == 3\n",
        {"test_adds": "blind"},
    ),
    "gone with its code, which a fixture uses that expects an error": _rewrite(
        BY_FIXTURE, None, {"test_halves": "gone"}, before=GROWN, change={**PROGRAM}
    ),
    "what was deprecated is gone, and its part of a test": _rewrite(
        f"import pytest\n{TEST}\n    with pytest.warns(DeprecationWarning):\n        assert add('2', 2) == 4\n",
        TEST,
        {"test_adds": "changed"},
        before={
            **PROGRAM,
            "sums.py": "import warnings\n\n\ndef add(a, b):\n    if isinstance(a, str):\n        warnings.warn('use numbers', DeprecationWarning)\n    return int(a) + b\n",
        },
        change=PROGRAM,
    ),
    "what is deprecated now, where warnings are errors, and its test is taken away": _rewrite(
        MORE,
        MORE.replace(TEST.partition("\n\n\n")[2] + "\n\n", ""),
        {"test_adds": "changed"},
        before={**PROGRAM, "pytest.ini": "[pytest]\nfilterwarnings = error\n"},
        change={
            "sums.py": "import warnings\n\n\ndef add(a, b):\n    if a > 1:\n        warnings.warn('add less', DeprecationWarning)\n    return a + b\n"
        },
    ),
    "a warning is gone that others still give": _rewrite(
        f"import pytest\n{TEST}\n    with pytest.warns(UserWarning):\n        assert add(-2, 2) == 0\n",
        TEST,
        {"test_adds": "meant"},
        before={
            **PROGRAM,
            "sums.py": "import warnings\n\n\ndef add(a, b):\n    if a < 0:\n        warnings.warn('less', UserWarning)\n    if b < 0:\n        warnings.warn('less', UserWarning)\n    return a + b\n",
        },
        change={
            "sums.py": "import warnings\n\n\ndef add(a, b):\n    if b < 0:\n        warnings.warn('less', UserWarning)\n    return a + b\n"
        },
    ),
    "a recorded warning is gone that another file still gives": _rewrite(
        f"import warnings\n{TEST}\n\ndef test_warns():\n    with warnings.catch_warnings(record=True) as told:\n        add(-2, 2)\n    assert len(told) == 1\n    assert told[0].category is UserWarning\n",
        TEST,
        {"test_warns": "gone"},
        before={
            **PROGRAM,
            "sums.py": "import warnings\n\n\ndef add(a, b):\n    if a < 0:\n        warnings.warn('less', UserWarning)\n    return a + b\n",
            "more.py": "import warnings\n\nwarnings.warn('old', UserWarning)\n",
        },
        change=PROGRAM,
    ),
    "a folder is gone with its code": _rewrite(
        TEST,
        TEST,
        {"test_area": "gone", "test_area_of_nothing": "gone"},
        before={
            **PROGRAM,
            "shapes/__init__.py": "",
            "shapes/square.py": "def area(a):\n    return a * a\n",
            "tests/shapes/test_square.py": "from shapes.square import area\n\n\ndef test_area():\n    assert area(2) == 4\n\n\ndef test_area_of_nothing():\n    assert area(0) == 0\n",
        },
        change={"shapes/__init__.py": None, "shapes/square.py": None, "tests/shapes/test_square.py": None},
    ),
    "fewer values": _rewrite(RANGE, RANGE.replace("range(4)", "range(1)"), {"test_adds": "blind"}),
    "other values that met the program of before as well": _rewrite(
        TEST, TEST.replace("add(2, 2)", "add(4, 0)"), {"test_adds": "blind"}
    ),
    "a helper sets a variable": _rewrite(
        TEST,
        TEST,
        {"test_adds": "lost"},
        before={**PROGRAM, "tests/conftest.py": "import sys\n"},
        change={
            "sums.py": "import os\n\n\ndef add(a, b):\n    return a + b if os.environ.get('EXACT') else a - b\n",
            "tests/conftest.py": "import os\nimport sys\n\nos.environ['EXACT'] = '1'\n",
        },
    ),
    "fewer values, which come with what the program of before has not": _rewrite(
        RANGE,
        RANGE.replace("add\n", "add, halve\n").replace("range(4)", "range(1)"),
        {"test_adds": "changed"},
        change={"sums.py": BROKEN["sums.py"] + "\n\ndef halve(a):\n    return a // 2\n"},
    ),
    "a constant beside the test is another": _rewrite(
        CONSTANT, CONSTANT.replace("SUM = 4", "SUM = 0"), {"test_adds": "changed"}
    ),
    "a helper beside the test checks less": _rewrite(
        BESIDE,
        BESIDE.replace("(a, b):", "(a, b, exact=False):").replace("a == b", "a == b or not exact"),
        {"test_adds": "lost"},
    ),
    "other input beside the test, which met the program of before as well": _rewrite(
        PARTIAL,
        PARTIAL.replace("partial(sums.add)", "partial(sums.add, b=2)"),
        {"test_adds": "blind"},
        before={**PROGRAM, "sums.py": "def add(a, b=2):\n    return a + b\n"},
        change={"sums.py": "def add(a, b=3):\n    return a + b\n"},
    ),
    "a helper beside the test takes a tolerance": _rewrite(
        BESIDE, BESIDE.replace("a == b", "a == __import__('pytest').approx(b, abs=9)"), {"test_adds": "lost"}
    ),
    "a helper beside the test takes a larger tolerance": _rewrite(
        BESIDE.replace("a == b", "a == __import__('pytest').approx(b, abs=1)"),
        BESIDE.replace("a == b", "a == __import__('pytest').approx(b, abs=9)"),
        {"test_adds": "lost"},
    ),
    "a part is replaced that the program of before has not": _rewrite(
        TEST,
        TEST.replace("():", "(monkeypatch):").replace("    assert", SETS_SCALE),
        {"test_adds": "changed"},
        change={"sums.py": SCALED},
    ),
    "its error is caught and demanded": _rewrite(
        TEST,
        "from sums import add\n\n\ndef test_adds():\n    try:\n        add(2, 2)\n    except ValueError as error:\n        assert str(error) == 'they must not be the same'\n",
        {"test_adds": "blind"},
        change={
            "sums.py": "def add(a, b):\n    if a == b:\n        raise ValueError('they must not be the same')\n    return a + b\n"
        },
    ),
    "its error is caught": _rewrite(
        TEST,
        "from sums import add\n\n\ndef test_adds():\n    try:\n        assert add(2, 2) == 4\n    except ValueError as error:\n        assert str(error)\n",
        {"test_adds": "lost"},
        change={
            "sums.py": "def add(a, b):\n    if a == b:\n        raise ValueError('they must not be the same')\n    return a + b\n"
        },
    ),
    "its failure fails no run": _rewrite(
        TEST,
        TEST,
        {"test_adds": "lost"},
        before={**PROGRAM, "tests/conftest.py": ""},
        change={**BROKEN, "tests/conftest.py": "def pytest_sessionfinish(session):\n    session.exitstatus = 0\n"},
    ),
    "a row that several tests share, and one of them demands what is new": (
        {"pyproject.toml": "[tool.pytest.ini_options]\n", "words.py": PLURALS, "tests/test_a.py": ON_PLURALS},
        {
            "words.py": PLURALS.replace("cow", "ox").replace("kine", "oxen"),
            "tests/test_a.py": ON_PLURALS.replace("kine", "cows"),
        },
        {"test_plural[cow-kine]": "changed", "test_stays[cow-kine]": "changed"},
    ),
    "gone with lines of its code": _rewrite(
        ON_CAPPED,
        TEST,
        {"test_caps": "meant"},
        before={**PROGRAM, "sums.py": CAPPED},
        change={"sums.py": PROGRAM["sums.py"] + "\n\ndef halve(a):\n    return a // 2\n"},
    ),
    "a new test demands the contrary": _rewrite(
        ON_CAPPED,
        TEST,
        {"test_caps": "meant"},
        before={**PROGRAM, "sums.py": CAPPED},
        change={"sums.py": CAPPED.replace("10", "99"), "tests/test_b.py": "from sums import add" + TAKES_ANY},
    ),
    "a new test demands something else": _rewrite(
        ON_CAPPED,
        TEST,
        {"test_caps": "lost"},
        before={**PROGRAM, "sums.py": CAPPED},
        change={
            "sums.py": CAPPED.replace("10", "11") + "\n\ndef halve(a):\n    return a // 2\n",
            "tests/test_b.py": "from sums import halve\n\n\ndef test_halves():\n    assert halve(4) == 2\n",
        },
    ),
    "its code is altered elsewhere": _rewrite(
        ON_CAPPED,
        TEST,
        {"test_caps": "lost"},
        before={**PROGRAM, "sums.py": CAPPED},
        change={
            "sums.py": "def cap(a):\n    if a > 11:\n        a = 11\n    return a\n\n\ndef add(a, b):\n    return cap(a) + b\n"
        },
    ),
    "a snapshot is rewritten": _rewrite(
        ON_SNAPSHOT,
        ON_SNAPSHOT,
        {"test_adds": "changed"},
        before={**PROGRAM, "tests/__snapshots__/sums.snap": "4"},
        change={**BROKEN, "tests/__snapshots__/sums.snap": "0"},
    ),
}


# One of each kind; `make test-all` plays every one.
_QUICK = {
    "weakened",
    "skipped",
    "a helper is honest",
    "a conftest deselects",
    "moved",
    "parametrised",
    "a row is taken away",
    "gone with its code",
    "a module has another name, and its tests were forgotten",
    "a function has another name",
    "it failed before",
    "flaky before",
    "a hostile test writes its own report",
    "split, and one part is left out",
    "other values that met the program of before as well",
    "a constant beside the test is another",
    "other input beside the test, which met the program of before as well",
    "a part is replaced that the program of before has not",
    "its failure fails no run",
    "a row that several tests share, and one of them demands what is new",
    "a snapshot is rewritten",
    "a recorded warning is gone that another file still gives",
}


@pytest.mark.parametrize(
    "told", [pytest.param(told, marks=[] if told in _QUICK else [pytest.mark.deep]) for told in CASES]
)
async def test_what_a_change_does_to_a_test_comes_to(earlier: Earlier, told: str) -> None:
    before, after, outcomes = CASES[told]
    found = await earlier(before, after)
    assert name(found) == outcomes, found


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        (
            {"tests/conftest.py": "1 / 0\n"},
            "tests/test_a.py could not be run where Forge runs tests, without the change, too",
        ),
        (
            {"pyproject.toml": "[tool.pytest.ini_options]\naddopts = '--no-such-option'\n"},
            "the plug-in of pytest that knows --no-such-option` is not installed",
        ),
    ],
    ids=["by its own conftest", "by a plug-in"],
)
async def test_tests_that_did_not_run_before_are_told(earlier: Earlier, broken: dict[str, str], told: str) -> None:
    found = await earlier({**PROGRAM, **broken, "tests/test_a.py": TEST}, {**BROKEN, "tests/test_a.py": None})
    assert (found.tests, found.holding) == ((), 0)
    assert told in " ".join(found.not_run)


async def test_what_failed_before_for_want_of_a_network_is_told_apart(earlier: Earlier) -> None:
    reach = "\n\ndef test_reaches():\n    import socket\n    socket.create_connection(('{}', 80))\n"
    text = TEST + reach.format("somewhere.example") + "\n\ndef test_fails():\n    int('a')\n"
    found = await earlier({**PROGRAM, "tests/test_a.py": text}, {**BROKEN, "tests/test_a.py": TEST})
    assert set(found.not_run) == {
        "1 test fails without the change, too, as a network or a server is missing where Forge runs tests.",
        (
            "1 test fails without the change, too, where Forge runs tests: `test_fails`: "
            "ValueError: invalid literal for int() with base 10: 'a'"
        ),
    }


@pytest.mark.skipif(not has_program("bats"), reason="no bats here")
async def test_of_tests_that_failed_before_one_is_an_example_with_its_last_words(earlier: Earlier) -> None:
    """What bats has for a message is one word."""
    fails = '@test "{0}" {{\n  echo "Found no {0}"\n  false\n}}\n'
    files = {"test/a.bats": fails.format("ruby") + fails.format("python"), "sum.sh": "echo 4\n"}
    found = await earlier(files, {"test/a.bats": None, "sum.sh": "echo 5\n"})
    assert found.not_run == (
        "2 tests fail without the change, too, where Forge runs tests, such as `ruby`: Found no ruby",
    )


async def test_one_cause_is_one_line_with_its_remedy(earlier: Earlier) -> None:
    tests = dict.fromkeys(("tests/test_a.py", "tests/test_b.py", "tests/test_c.py"), f"import not_there\n{TEST}")
    found = await earlier({**PROGRAM, **tests}, {**BROKEN, **dict.fromkeys(tests)})
    assert found.not_run == snapshot(
        (
            "tests/test_a.py and 2 more files could not be run: `not_there` is missing where Forge runs tests. What tests need is installed by `commands.setup` in .github/forge.yml, which reaches a registry with `commands.network: true`.",
        )
    )


async def test_what_the_settings_keep_from_pytest_is_neither_run_nor_asked_about(earlier: Earlier) -> None:
    settings = {"pyproject.toml": "[tool.pytest.ini_options]\nnorecursedirs = ['cases']\n"}
    before = {**PROGRAM, **settings, "tests/test_sums.py": TEST, "tests/cases/test_case.py": "raise TypeError\n"}
    touched = {
        path: f"{before[path]}# Still.\n" for path in ("sums.py", "tests/test_sums.py", "tests/cases/test_case.py")
    }
    found = await earlier(before, touched)
    assert (found.holding, found.tests, found.not_run) == (1, (), ())
