"""The table of results in ``last-result.md`` promises nothing that is not tested."""

import re

from tests.threats.cases import CASES
from tests.threats.table import (
    BEGIN,
    DOCUMENT,
    END,
    FOLDER,
    NOT_YET,
    PASSES,
    case_of,
    find_tests,
    parse_results,
    with_table,
)


def test_the_table_lists_every_case() -> None:
    assert list(parse_results(DOCUMENT.read_text())) == list(CASES)


def test_the_page_of_threats_says_how_each_is_met() -> None:
    page = (FOLDER.parents[1] / "docs" / "threats.md").read_text()
    assert re.findall(r"^- \*\*(T-[A-Z]\d+)\*\*", page, re.MULTILINE) == list(CASES)


def test_what_is_listed_as_tried_has_a_test() -> None:
    tests = find_tests()
    tried = [case for case, result in parse_results(DOCUMENT.read_text()).items() if result != NOT_YET]
    assert [case for case in tried if case not in tests] == [], "make security writes the table anew"


def test_every_test_is_of_a_known_case() -> None:
    assert {case: names for case, names in find_tests().items() if case not in CASES} == {}


def test_the_table_is_written_between_its_marks() -> None:
    document = with_table(f"before\n{BEGIN}\nwritten before\n{END}\nafter\n", {"T-W1": PASSES})
    assert document.startswith(f"before\n{BEGIN}\n")
    assert document.endswith(f"{END}\nafter\n")
    assert "written before" not in document
    results = parse_results(document)
    assert (results["T-W1"], results["T-W2"]) == (PASSES, NOT_YET)
    assert with_table(document, {"T-W1": PASSES}) == document


def test_names() -> None:
    assert case_of("test_t_w10_a_thousand[sqlite]") == "T-W10"
    assert case_of("test_g1_a_write_fails") == "T-G1"
    assert case_of("test_the_table") is None
