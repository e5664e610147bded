"""Tests that a change removes where nobody can run them."""

import shutil

import pytest

from domain.runs.earlier_tests import EarlierTests, RemovedTest
from messages.earlier_tests import render_section
from tests.unit.sandbox.machine import has_bubblewrap
from tests.unit.testing.earlier.conftest import Earlier

pytestmark = pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")

PACKAGE = '{"scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "3"}}'
IMPORT = "import { expect, it } from 'vitest';\n"
ADDS = "it('adds', () => {\n  expect(1 + 1).toBe(2);\n});\n"
PAYS = "it('pays once', () => {\n  expect(pay(3, 'euro')).toEqual({ paid: 3 });\n});\n"


@pytest.mark.skipif(not shutil.which("npx", path="/usr/bin:/bin"), reason="no npx here")
async def test_removed_tests_are_named_where_their_runner_is_not_installed(earlier: Earlier) -> None:
    """One command says that it is missing, and nothing else is tried."""
    before = {"package.json": PACKAGE, "test/cart.test.ts": IMPORT + ADDS + PAYS, "test/old.test.ts": IMPORT + ADDS}
    change = {"cart.ts": "export {};\n", "test/cart.test.ts": IMPORT + ADDS, "test/old.test.ts": None}
    said = await earlier(before, change)
    assert (said.tests, said.holding) == ((), 0)
    assert {(each.name, each.path) for each in said.removed} == {
        ("pays once", "test/cart.test.ts"),
        ("adds", "test/old.test.ts"),
    }
    [why] = said.not_run
    assert why.startswith("The tests of before could not be run on the new code: `vitest` is not installed here. The ")
    assert said.seconds < 60


async def test_what_moves_or_gets_another_name_is_not_removed(earlier: Earlier) -> None:
    """In a repository of which no runner is known."""
    before = {"test/a.test.ts": IMPORT + ADDS + PAYS}
    after = {
        "a.ts": "export {};\n",
        "test/a.test.ts": IMPORT + PAYS.replace("pays once", "pays at once"),
        "test/b.test.ts": IMPORT + ADDS,
    }
    said = await earlier(before, after)
    assert (said.removed, len(said.not_run)) == ((), 1)
    assert said.not_run[0].startswith("No runner that Forge knows takes `test/a.test.ts`")


CHECKS = [f"  expect(add({n}, 1)).toBe({n + 1});\n" for n in (1, 2)]
ONE, TWO = (f"it('adds {n}', () => {{\n{check}}});\n" for n, check in enumerate(CHECKS, 1))


@pytest.mark.parametrize(
    ("after", "removed"), [(f"it('adds', () => {{\n{''.join(CHECKS)}}});\n", []), (ONE, ["adds 2"])]
)
async def test_what_another_test_does_now_is_not_removed(earlier: Earlier, after: str, removed: list[str]) -> None:
    before = {"test/a.test.ts": IMPORT + ONE + TWO}
    said = await earlier(before, {"a.ts": "export {};\n", "test/a.test.ts": IMPORT + after})
    assert [each.name for each in said.removed] == removed


async def test_a_test_that_ran_is_told_by_its_end_only(earlier: Earlier) -> None:
    test = "def test_{}():\n    assert {}\n\n\n"
    before = {"pytest.ini": "[pytest]\n", "tests/test_a.py": test.format("one", 1) + test.format("two", "not None")}
    said = await earlier(before, {"a.py": "", "tests/test_a.py": test.format("one", 1)})
    assert (said.removed, said.holding) == ((), 2)


async def test_five_are_named_and_the_others_counted(earlier: Earlier) -> None:
    tests = "".join(PAYS.replace("pays once", f"pays {number}") for number in range(7))
    section = render_section(await earlier({"test/a.test.ts": IMPORT + tests}, {"test/a.test.ts": None}))
    assert (
        "- 7 tests of before are not where they were, and Forge did not run them: `pays 0` (`test/a.test.ts`), "
        in section
    )
    assert section.endswith(" and 2 more.")


def test_the_line_names_the_test_and_its_file() -> None:
    removed = RemovedTest(name="test_pay_twice", path="tests/test_store.py")
    section = render_section(EarlierTests(removed=(removed,), removed_count=1))
    assert (
        "- 1 test of before is not where it was, and Forge did not run it: `test_pay_twice` (`tests/test_store.py`)."
        in section
    )
