# ruff: noqa: E501 - the tables of cases hold whole files on a line
"""The earlier tests of other runners than pytest on new code."""

import shutil

import pytest

from tests.unit.sandbox.machine import has_bubblewrap
from tests.unit.testing.earlier.conftest import Earlier

pytestmark = pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")

Files = dict[str, str]
Changed = dict[str, str | None]

_UNITTEST = "import unittest\nfrom sums import add\n\n\nclass TestSums(unittest.TestCase):\n    def test_adds(self):\n        self.assertEqual(add(2, 2), 4)\n"
_PYTHON: Files = {
    "sums.py": "def add(a, b):\n    return a + b\n",
    "tests/__init__.py": "",
    "tests/test_sums.py": _UNITTEST,
}
_NODE_TEST = "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport { add } from './sums.js';\n\ntest('adds two', () => {\n  assert.equal(add(2, 2), 4);\n});\n"
_NODE: Files = {
    "package.json": '{"type": "module", "scripts": {"test": "node --test"}}',
    "sums.js": "export function add(a, b) { return a + b; }\n",
    "sums.test.js": _NODE_TEST,
}
_CARGO: Files = {
    "Cargo.toml": '[package]\nname = "sums"\nversion = "0.1.0"\nedition = "2021"\n',
    "src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 {\n    a + b\n}\n\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn adds() {\n        assert_eq!(add(2, 2), 4);\n    }\n}\n",
}


def _change(files: Files, path: str, *pairs: tuple[str, str]) -> Changed:
    text = files[path]
    for old, new in pairs:
        assert old in text
        text = text.replace(old, new)
    return {path: text}


_BAD_PYTHON: Changed = _change(_PYTHON, "sums.py", ("a + b", "a - b"))
_BAD_NODE: Changed = _change(_NODE, "sums.js", ("a + b", "a - b"))
_BAD_CARGO = ("    a + b", "    a - b")

CASES: dict[str, tuple[Files, Changed, list[str]]] = {
    "unittest holds": (_PYTHON, {"tests/test_sums.py": None}, []),
    "unittest lost": (_PYTHON, {**_BAD_PYTHON, "tests/test_sums.py": None}, ["lost"]),
    "unittest changed": (
        _PYTHON,
        {**_BAD_PYTHON, **_change(_PYTHON, "tests/test_sums.py", (", 4", ", 0"))},
        ["changed"],
    ),
    "unittest open": (_PYTHON, {**_BAD_PYTHON, **_change(_PYTHON, "tests/test_sums.py", (", 4", ", 5"))}, ["open"]),
    "unittest gone": (_PYTHON, {"sums.py": "", "tests/test_sums.py": None}, ["gone"]),
    "node holds": (_NODE, {"sums.test.js": None}, []),
    "node lost": (_NODE, {**_BAD_NODE, "sums.test.js": None}, ["lost"]),
    "node skipped": (
        _NODE,
        {**_BAD_NODE, **_change(_NODE, "sums.test.js", ("test('adds", "test.skip('adds"))},
        ["lost"],
    ),
    "node changed": (_NODE, {**_BAD_NODE, **_change(_NODE, "sums.test.js", (", 4", ", 0"))}, ["changed"]),
    "node open": (_NODE, {**_BAD_NODE, **_change(_NODE, "sums.test.js", (", 4", ", 5"))}, ["open"]),
    "node gone": (_NODE, {"sums.js": "export const a = 1;\n", "sums.test.js": None}, ["gone"]),
    "node whole module gone": (_NODE, {"sums.js": None, "sums.test.js": None}, ["gone"]),
    "cargo holds": (_CARGO, _change(_CARGO, "src/lib.rs", ("        assert_eq!(add(2, 2), 4);\n", "")), []),
    "cargo lost": (
        _CARGO,
        _change(
            _CARGO, "src/lib.rs", _BAD_CARGO, ("        assert_eq!(add(2, 2), 4);\n", "        let _ = add(2, 2);\n")
        ),
        ["lost"],
    ),
    "cargo changed": (_CARGO, _change(_CARGO, "src/lib.rs", _BAD_CARGO, (", 4)", ", 0)")), ["changed"]),
    "cargo open": (_CARGO, _change(_CARGO, "src/lib.rs", _BAD_CARGO, (", 4)", ", 5)")), ["open"]),
}


@pytest.mark.parametrize("told", CASES)
async def test_what_a_change_does_to_a_test_comes_to(earlier: Earlier, told: str) -> None:
    if told.startswith("cargo") and not shutil.which("cargo"):
        pytest.skip("no cargo here")
    before, after, outcomes = CASES[told]
    found = await earlier(before, after)
    assert [each.outcome.value for each in found.tests] == outcomes, found
    assert bool(found.holding) == (not outcomes), found
