"""Runs every threat case and writes what came of it: ``python -m tests.threats.table``."""

import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.threats.cases import CASES, FAMILIES, Case

FOLDER = Path(__file__).parent
DOCUMENT = FOLDER / "last-result.md"
BEGIN, END = "<!-- threat cases: written by make security -->", "<!-- end of threat cases -->"
PASSES, FAILS, SKIPPED, NOT_YET = "passes", "**fails**", "not run where this was made", "not yet"

_TEST = re.compile(r"test_(?:t_)?([a-z])(\d+)_\w+")
_ROW = re.compile(r"\| (T-[A-Z]\d+) \|.*\| ([^|]+) \|")


def case_of(test: str) -> str | None:
    """The id of the case a test is named for, e.g. ``T-W1`` for ``test_t_w1_no_signature``."""
    name = _TEST.match(test)
    return None if name is None else f"T-{name[1].upper()}{name[2]}"


def find_tests(folder: Path = FOLDER) -> Mapping[str, list[str]]:
    """The names of the tests written for each case, whichever tests are being run."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for file in sorted(folder.rglob("test_*.py")):
        for name in _functions(file):
            case = case_of(name)
            if case is not None:
                found[case].append(f"{file.stem}::{name}")
    return found


def parse_results(document: str) -> dict[str, str]:
    """The result that the table of a document gives for each case.

    :raises ValueError: if the document has no table.
    """
    return {row[1]: row[2].strip() for row in _ROW.finditer(document[slice(*_place(document))])}


def with_table(document: str, results: Mapping[str, str]) -> str:
    """The document with its table written anew."""
    start, end = _place(document)
    return f"{document[:start]}\n{_table(results)}\n{document[end:]}"


class Results:
    """A pytest plugin that notes how the tests of each case ended."""

    def __init__(self) -> None:
        self._seen: defaultdict[str, set[str]] = defaultdict(set)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        case = case_of(report.nodeid.rpartition("::")[2])
        if case is not None and (report.when == "call" or not report.passed):
            self._seen[case].add(report.outcome)

    def by_case(self) -> dict[str, str]:
        return {case: _result(seen) for case, seen in self._seen.items()}


def _result(outcomes: set[str]) -> str:
    if "failed" in outcomes:
        return FAILS
    return PASSES if "passed" in outcomes else SKIPPED


def _functions(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name


def _place(document: str) -> tuple[int, int]:
    return document.index(BEGIN) + len(BEGIN), document.index(END)


def _table(results: Mapping[str, str]) -> str:
    passing = sum(results.get(case) == PASSES for case in CASES)
    parts = [f"{passing} of {len(CASES)} cases pass."]
    for family in FAMILIES:
        rows = [_row(case, results.get(case.id, NOT_YET)) for case in family.cases]
        head = ["| case | what is tried | what is seen | result |", "| --- | --- | --- | --- |"]
        parts.append("\n".join([f"### {family.name[0].upper()}{family.name[1:]}", "", *head, *rows]))
    return "\n".join(["", "\n\n".join(parts), ""])


def _row(case: Case, result: str) -> str:
    return f"| {case.id} | {case.provoked} | {case.observed} | {result} |"


def main() -> int:
    """Run all cases and write the table; the exit code of the tests."""
    results = Results()
    code = pytest.main([str(FOLDER), "-n", "4", "--dist", "worksteal"], plugins=[results])
    if code in {pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED}:
        DOCUMENT.write_text(with_table(DOCUMENT.read_text(), results.by_case()))
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
