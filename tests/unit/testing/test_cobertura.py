"""Coverage reports as coverage.py writes them, and forged ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.testing.coverage import MOST_LINES, parse
from domain.errors import ToolError
from domain.runs.testing import FileCoverage
from tests.unit.testing.forging import BOMBS, cobertura

FILE = (
    '<class name="a.py" filename="pkg/a.py" line-rate="1" branch-rate="1"><methods/><lines>'
    '<line number="3" hits="0"/><line number="1" hits="1"/>'
    '<line number="2" hits="4" branch="true" condition-coverage="50% (1/2)" missing-branches="3"/></lines></class>'
)


def test_coverage_py() -> None:
    (file,) = parse(cobertura(FILE, "/w/src"), "/w").files
    assert file == FileCoverage(path="src/pkg/a.py", covered=(1, 2), missed=(3,), branches_covered=1, branches=2)


def test_functions_are_counted_where_they_are_listed() -> None:
    method = '<method name="{}"><lines><line number="{}" hits="{}"/></lines></method>'
    inner = f"<methods>{method.format('f', 1, 1)}{method.format('g', 5, 0)}</methods>"
    (file,) = parse(cobertura(f'<class filename="a.js">{inner}</class>'), "/w").files
    assert (file.functions_covered, file.functions) == (1, 2)
    assert (file.covered, file.missed) == ((1,), (5,))


def test_the_source_under_which_the_file_is_there_counts() -> None:
    document = cobertura(FILE).replace(b"<source>", b"<source>/usr/lib</source><source>/w/lib</source><source>")
    assert [file.path for file in parse(document, "/w", ["pkg/a.py"]).files] == ["pkg/a.py"]
    assert [file.path for file in parse(document, "/w", ["lib/pkg/a.py"]).files] == ["lib/pkg/a.py"]
    assert not parse(document, "/w", ["b.py"]).files


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "../../etc/passwd", "a/../../b.py", "", "~/x.py", "a\\b.py", "a&#7f;.py"]
)
def test_files_outside_are_left_out(name: str) -> None:
    document = cobertura(FILE.replace("pkg/a.py", name.replace("&#7f;", "&#x9b;")))
    assert not parse(document, "/w").files


@pytest.mark.parametrize("source", ["/", "/etc", "/w/../etc", "/work"])
def test_sources_outside_are_left_out(source: str) -> None:
    assert not parse(cobertura(FILE, source), "/w").files


@pytest.mark.parametrize(
    "line",
    [
        '<line number="0" hits="1"/>',
        '<line number="-4" hits="1"/>',
        '<line number="NaN" hits="1"/>',
        '<line number="99999999999999999999" hits="1"/>',
        '<line hits="1"/>',
    ],
)
def test_lines_that_cannot_be_are_left_out(line: str) -> None:
    (file,) = parse(cobertura(f'<class filename="a.py"><lines>{line}</lines></class>'), "/w").files
    assert file == FileCoverage(path="a.py")


@pytest.mark.parametrize("hits", ["0", "-1", "NaN", "", "000", "inf"])
def test_hits_that_are_no_count_cover_nothing(hits: str) -> None:
    (file,) = parse(cobertura(f'<class filename="a.py"><line number="7" hits="{hits}"/></class>'), "/w").files
    assert (file.covered, file.missed) == ((), (7,))


@pytest.mark.parametrize("branches", ["200% (3/2)", "(1/)", "(1/9999999999)", "50%"])
def test_branches_that_cannot_be_are_not_counted(branches: str) -> None:
    line = f'<line number="7" hits="1" branch="true" condition-coverage="{branches}"/>'
    (file,) = parse(cobertura(f'<class filename="a.py">{line}</class>'), "/w").files
    assert (file.branches_covered, file.branches) == (0, 0)


@pytest.mark.parametrize("document", BOMBS.values(), ids=BOMBS.keys())
def test_document_types_and_entities_are_refused(document: bytes) -> None:
    with pytest.raises(ToolError, match="declares a document type or entities"):
        parse(document, "/w")


def _of_methods(number: int) -> str:
    return '<class filename="a.py">' + "<method/>" * number + "</class>"


def test_what_cannot_be_read_is_said() -> None:
    for document, said in (
        (b"<coverage>", "well-formed"),
        (b"<testsuite/>", "does not begin"),
        (cobertura(_of_methods(300_000) * 3 + _of_methods(MOST_LINES - 900_000 + 1)), "more than 1,000,000 lines"),
        (cobertura(_of_methods(300_001)), "more than 300,000 elements in one"),
    ):
        with pytest.raises(ToolError, match=said):
            parse(document, "/w")


@given(st.binary(max_size=200), st.booleans())
def test_any_bytes_are_read_or_refused(inner: bytes, is_wrapped: bool) -> None:
    try:
        parse(b'<coverage><class filename="a.py">' + inner + b"</class></coverage>" if is_wrapped else inner, "/w")
    except ToolError:
        return
