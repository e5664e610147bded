"""Which changes take tests away, and which only move or change them."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from agents.testing.weakened import MAX_FINDINGS, WEAKENED, find_weakened
from domain.runs.task_result import RequiredFix
from tests.unit.workspace.changes import compare
from tests.unit.workspace.remotes import Author, Files

ONE = "def test_one():\n    assert one() == 1\n"
TWO = "\n\nasync def test_two():\n    assert two() == 2\n"
PATH = "tests/test_a.py"
JS, GO, RUST = "web/sum.test.ts", "go/sum_test.go", "tests/sum.rs"

Found = Callable[[Files, Files], Awaitable[tuple[RequiredFix, ...]]]


@pytest.fixture
def found(tmp_path: Path) -> Found:
    async def between(before: Files, after: Files) -> tuple[RequiredFix, ...]:
        return find_weakened(await compare(Author(tmp_path / "repo.git"), before, after))

    return between


@pytest.mark.parametrize(
    ("before", "after", "where", "said"),
    [
        ({PATH: ONE + TWO}, {PATH: None}, PATH, "This file was deleted with 2 tests in it."),
        ({PATH: ONE + TWO}, {PATH: ONE}, PATH, "This file holds 1 test fewer than before."),
        ({PATH: ONE}, {PATH: f"# {ONE}"}, PATH, "This file holds 1 test fewer"),
        ({PATH: ONE}, {PATH: None, "tests/test_b.py": TWO}, PATH, "This file was deleted with 1 test in it."),
        (
            {PATH: ONE + TWO, "tests/test_b.py": ONE},
            {PATH: None, "tests/test_b.py": None, "tests/test_c.py": ONE},
            PATH,
            "This file was deleted",
        ),
        (
            {"tests/Math.java": "class Math {}\n"},
            {"tests/Math.java": None},
            "tests/Math.java",
            "This file was deleted.",
        ),
        ({PATH: ONE + TWO}, {PATH: None, "old/a.txt": ONE + TWO}, "old/a.txt", "no test runner finds it"),
        (
            {PATH: ONE},
            {PATH: f"import pytest\n\n\n@pytest.mark.skip\n{ONE}"},
            f"{PATH}:4",
            "skipped or expected to fail",
        ),
        ({PATH: ONE}, {PATH: f"@unittest.skipIf(True, '')\n{ONE}"}, f"{PATH}:1", "skipped"),
        ({PATH: ONE}, {PATH: f"@skip\n{ONE}"}, f"{PATH}:1", "skipped"),
        ({PATH: ONE}, {PATH: f"@pytest.mark.xfail(strict=False)\n{ONE}"}, f"{PATH}:1", "skipped"),
        ({PATH: ONE}, {PATH: ONE.replace("assert", "pytest.skip('');")}, f"{PATH}:2", "skipped"),
        ({PATH: ONE}, {"tests/test_b.py": f"@pytest.mark.skip\n{TWO}"}, "tests/test_b.py:1", "skipped"),
        ({JS: "it('adds', f)\ntest('sums', f)\n"}, {JS: "it('adds', f)\n"}, JS, "1 test fewer"),
        ({JS: "it('adds', f)\n"}, {JS: "it.skip('adds', f)\n"}, f"{JS}:1", "skipped"),
        ({JS: "it('adds', f)\n"}, {JS: "xit('adds', f)\n"}, f"{JS}:1", "skipped"),
        ({JS: "it('adds', f)\n"}, {JS: "describe.skip('all', () => {\nit('adds', f)\n})\n"}, f"{JS}:1", "skipped"),
        ({JS: "it('adds', f)\n"}, {JS: "it('adds', f)\ntest.todo('subtracts')\n"}, f"{JS}:2", "skipped"),
        ({GO: "func TestSum(t *testing.T) {\n}\n"}, {GO: "package sum\n"}, GO, "1 test fewer"),
        (
            {GO: "func TestSum(t *testing.T) {\n}\n"},
            {GO: "func TestSum(t *testing.T) {\nt.Skip()\n}\n"},
            f"{GO}:2",
            "ski",
        ),
        ({RUST: "#[test]\nfn sums() {}\n"}, {RUST: "fn sums() {}\n"}, RUST, "1 test fewer"),
        ({RUST: "#[test]\nfn sums() {}\n"}, {RUST: "#[test]\n#[ignore]\nfn sums() {}\n"}, f"{RUST}:2", "skipped"),
    ],
)
async def test_what_is_taken_away_is_found(found: Found, before: Files, after: Files, where: str, said: str) -> None:
    shown = [
        (f"{each.path}:{each.line}" if each.line else each.path, each.message) for each in await found(before, after)
    ]
    assert any(place == where and said in message for place, message in shown), shown
    assert all("Restore what was taken away, or have the task say" in message for _, message in shown)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({PATH: ONE}, {PATH: ONE + TWO}),
        ({PATH: ONE}, {PATH: ONE.replace("test_one", "test_first")}),
        ({PATH: ONE}, {PATH: ONE.replace("== 1", "== 2")}),
        ({PATH: ONE + TWO}, {PATH: None, "tests/unit/test_a.py": ONE + TWO}),
        ({PATH: ONE + TWO}, {PATH: None, "tests/test_b.py": TWO + "x = 1\n" * 30, "tests/test_c.py": ONE}),
        ({PATH: ONE + TWO, "tests/test_b.py": ""}, {PATH: ONE, "tests/test_b.py": TWO}),
        ({PATH: ""}, {PATH: None}),
        ({"tests/conftest.py": "import os\n", PATH: ONE}, {"tests/conftest.py": None}),
        ({"tests/data.json": "1\n"}, {"tests/data.json": None}),
        ({"src/a.py": "def test_drive():\n    pass\n"}, {"src/a.py": None}),
        ({PATH: f"@pytest.mark.skip\n{ONE}"}, {PATH: f"class TestAll:\n    @pytest.mark.skip\n    {ONE}"}),
        ({PATH: f"@pytest.mark.skip\n{ONE}"}, {PATH: ONE}),
        ({PATH: ONE}, {PATH: f"# it was @pytest.mark.skip until now\n{ONE}"}),
        ({"tests/notes.md": ""}, {"tests/notes.md": "Use @pytest.mark.skip\n"}),
    ],
)
async def test_what_is_moved_or_changed_is_left_alone(found: Found, before: Files, after: Files) -> None:
    assert not await found(before, after)


async def test_it_is_never_too_much(found: Found) -> None:
    many = {f"tests/test_{n}.py": f"def test_{n}():\n    pass\n" for n in range(MAX_FINDINGS + 5)}
    taken = await found(many, dict.fromkeys(many))
    assert len(taken) == MAX_FINDINGS
    assert {each.rule for each in taken} == {WEAKENED}
