"""Which tests a change is said to lack, and where nothing is said."""

import pytest

from agents.testing.coverage import MAX_FILES, MISSING, find_missing_tests
from domain.runs.testing import CaseOutcome, DiffCoverage, TestRun
from tests.unit.testing.forging import case, command, run

NO_TESTS = run(command(5))


def build_run(total: int, uncovered: dict[str, tuple[int, ...]], **more: object) -> TestRun:
    missed = sum(map(len, uncovered.values()))
    coverage = DiffCoverage(covered=total - missed, total=total, uncovered=uncovered)
    return run(command(0, case("t")), diff_coverage=coverage, **more)


def test_added_lines_that_no_test_ran_are_named_in_ranges() -> None:
    (gap,) = find_missing_tests(build_run(20, {"shop/till.py": (4, 5, 6, 9)}), ["shop/till.py", "tests/test_till.py"])

    assert (gap.path, gap.line, gap.rule) == ("shop/till.py", 4, MISSING)
    assert "4–6, 9" in gap.message
    assert "Add tests" in gap.message


@pytest.mark.parametrize(
    ("total", "uncovered", "named"),
    [
        (100, {"a.py": (1,)}, []),
        (100, {"a.py": (1, 2)}, []),
        (100, {"a.py": (1, 2, 3)}, ["a.py"]),
        (10, {"a.py": (1,)}, ["a.py"]),
        (11, {"a.py": (1,)}, []),
        (2, {"a.py": (1, 2)}, ["a.py"]),
        (100, {"a.py": (1, 2, 3), "b.py": (7,)}, ["a.py"]),
        (50, {"a.py": (1, 2), "b.py": (1, 2), "c.py": (9,)}, ["a.py", "b.py", "c.py"]),
        (100, {"a.py": (1, 2, 3), "b.py": (1, 2, 3, 4)}, ["b.py", "a.py"]),
        (100, {}, []),
        (0, {}, []),
    ],
)
def test_few_lines_are_let_pass_where_they_are_a_small_share(
    total: int, uncovered: dict[str, tuple[int, ...]], named: list[str]
) -> None:
    assert [gap.path for gap in find_missing_tests(build_run(total, uncovered), ["a.py", "b.py", "c.py"])] == named


@pytest.mark.parametrize("path", ["shop/till.py", "src/index.ts", "main.go", "app/tasks.py", "lib.rs"])
def test_sources_in_a_repository_without_tests_want_some(path: str) -> None:
    (gap,) = find_missing_tests(NO_TESTS, [path, path])
    assert (gap.path, gap.line, gap.rule) == (path, None, MISSING)


@pytest.mark.parametrize(
    "path",
    [
        "README.md",
        "docs/guide.rst",
        "tests/test_a.py",
        "a_test.go",
        "tests/forging.py",
        "conftest.py",
        "setup.py",
        "pyproject.toml",
        "Cargo.toml",
        ".github/workflows/ci.yml",
        ".github/scripts/build.py",
        "jest.config.js",
        "noxfile.py",
        "types/index.d.ts",
        "data.json",
        "shop/__init__.py",
    ],
)
def test_documents_tests_and_configuration_want_none(path: str) -> None:
    assert find_missing_tests(NO_TESTS, [path]) == ()


def test_a_package_that_joins_modules_is_named_where_its_lines_were_measured() -> None:
    (gap,) = find_missing_tests(build_run(10, {"shop/__init__.py": (3, 4, 5)}), ["shop/__init__.py"])
    assert gap.path == "shop/__init__.py"


def test_lines_of_tests_and_of_files_that_did_not_change_are_not_named() -> None:
    measured = build_run(10, {"tests/test_a.py": (1, 2, 3), "conftest.py": (1, 2, 3), "other.py": (1, 2, 3)})
    assert find_missing_tests(measured, ["tests/test_a.py", "conftest.py"]) == ()


@pytest.mark.parametrize(
    "without",
    [
        build_run(10, {"a.py": (1, 2, 3)}, not_run="There is no room."),
        build_run(10, {"a.py": (1, 2, 3)}).model_copy(
            update={"commands": (command(1, case("t", CaseOutcome.failed)),)},
        ),
        run(command(0, case("t"))),
        run(command(0, case("t")), diff_coverage=DiffCoverage(covered=0, total=0, unmeasured=("a.py",))),
    ],
    ids=["not run", "failed", "not measured", "not in the report"],
)
def test_nothing_is_said_where_nobody_can_know(without: TestRun) -> None:
    assert find_missing_tests(without, ["a.py"]) == ()


def test_what_is_named_is_bounded() -> None:
    paths = [f"m{number}.py" for number in range(100)]
    many = build_run(10_000, {path: tuple(range(1, 100, 2)) for path in paths})

    assert len(find_missing_tests(many, paths)) == len(find_missing_tests(NO_TESTS, paths)) == MAX_FILES
    assert all(len(gap.message) < 400 for gap in find_missing_tests(many, paths))
