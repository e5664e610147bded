"""JUnit reports as the tools write them, and as somebody who wants to deceive writes them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agents.testing.junit import MOST_BYTES, MOST_CASES, parse
from domain.errors import ToolError
from domain.runs.testing import CaseOutcome, TestCase
from tests.unit.testing.forging import BOMBS, junit

PYTEST = junit(
    '<testcase classname="tests.test_a.TestSum" name="test_one[1-2]" file="tests/test_a.py" line="6" time="0.25">'
    '<failure message="AssertionError: assert 1 == 2">E   AssertionError: assert 1 == 2</failure></testcase>'
    '<testcase classname="tests.test_a" name="test_two" file="tests/test_a.py" line="0" time="0.1"/>'
    '<testcase classname="tests.test_a" name="test_three" file="tests/test_a.py" line="9"><skipped message="no"/>'
    "</testcase>",
    "pytest",
)


def test_pytest() -> None:
    failed, passed, skipped = parse(PYTEST, "/w")
    assert failed == TestCase(
        id="tests/test_a.py::TestSum::test_one[1-2]",
        path="tests/test_a.py",
        line=7,
        outcome=CaseOutcome.failed,
        seconds=0.25,
        message="AssertionError: assert 1 == 2",
        details="E   AssertionError: assert 1 == 2",
    )
    assert (passed.id, passed.line, passed.outcome) == ("tests/test_a.py::test_two", 1, CaseOutcome.passed)
    assert (skipped.outcome, skipped.message) == (CaseOutcome.skipped, "no")


UNITTEST = """<testsuite name="T"><testcase classname="tests.test_a.T" name="test_x" file="tests/test_a.py" line="4">
<error type='ValueError'>boom</error></testcase></testsuite>"""
JEST = """<testsuites><testsuite name="sum" file="/w/src/sum.test.ts"><testcase classname="sum adds" name="sum adds">
<failure>Error: expect(1)\n at x</failure></testcase></testsuite></testsuites>"""
VITEST = """<testsuites><testsuite name="src/a.test.ts"><testcase classname="src/a.test.ts" name="a &gt; b"/>
</testsuite></testsuites>"""
GO = """<testsuites><testsuite name="example.com/m/store"><testcase classname="store" name="TestGet/empty">
<failure message="Failed">store_test.go:9: no</failure></testcase></testsuite></testsuites>"""
SUREFIRE = """<testsuite name="com.acme.FooTest" time="1,234.5">
<testcase name="bar" classname="com.acme.FooTest" time="1,234.5"><rerunFailure message="x"/></testcase></testsuite>"""
NODE = """<testsuites><testsuite name="s"><testcase name="t" classname="test" file="/w/a.test.js"/>
</testsuite></testsuites>"""


@pytest.mark.parametrize(
    ("document", "identity", "path", "line", "outcome"),
    [
        (UNITTEST, "tests/test_a.py::T::test_x", "tests/test_a.py", 4, CaseOutcome.error),
        (JEST, "src/sum.test.ts::sum adds::sum adds", "src/sum.test.ts", None, CaseOutcome.failed),
        (VITEST, "src/a.test.ts::a > b", "src/a.test.ts", None, CaseOutcome.passed),
        (GO, "store::TestGet/empty", None, None, CaseOutcome.failed),
        (SUREFIRE, "com.acme.FooTest::bar", None, None, CaseOutcome.passed),
        (NODE, "a.test.js::test::t", "a.test.js", None, CaseOutcome.passed),
    ],
)
def test_other_tools(document: str, identity: str, path: str | None, line: int | None, outcome: CaseOutcome) -> None:
    (found,) = parse(document.encode(), "/w")
    assert (found.id, found.path, found.line, found.outcome) == (identity, path, line, outcome)


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("/w/tests/a.py", "tests/a.py"),
        ("./tests//a.py", "tests/a.py"),
        ("tests/x/../a.py", "tests/a.py"),
        ("/etc/passwd", None),
        ("/work/a.py", None),
        ("../a.py", None),
        ("/w/../etc/passwd", None),
        ("tests/../../a.py", None),
        ("~/a.py", None),
        ("C:\\a.py", None),
        ("a\u202e.py", None),
        ("x" * 600 + ".py", None),
        ("..", None),
        ("/w/", None),
    ],
)
def test_only_files_inside_are_named(file: str, path: str | None) -> None:
    (found,) = parse(junit(f'<testcase name="t" file="{file}"/>'), "/w")
    assert found.path == path


def test_names_that_differ_in_spaces_are_two_tests() -> None:
    names = ["t[a  b]", "t[a b]", "t[a&#10;b]", "t[ a b]"]
    found = parse(junit("".join(f'<testcase name="{name}"/>' for name in names)), "/w")
    assert [each.id for each in found] == ["a::t[a  b]", "a::t[a b]", "a::t[ a b]"]


@pytest.mark.parametrize("kind", ["pytest.xfail", "unittest.expectedFailure"])
def test_an_expected_failure_ran(kind: str) -> None:
    told = f'<testcase name="a"><skipped type="{kind}"/></testcase>'
    other = '<testcase name="b"><skipped type="pytest.skip"/></testcase>'
    ran, skipped = parse(junit(told + other), "/w")
    assert (ran.outcome, ran.is_expected) == (CaseOutcome.skipped, True)
    assert not skipped.is_expected


@pytest.mark.parametrize("time", ["NaN", "-1", "inf", "1e999", "", "x", "1e9", "0x10"])
def test_a_time_that_cannot_be_one_is_none(time: str) -> None:
    (found,) = parse(junit(f'<testcase name="t" time="{time}"/>'), "/w")
    assert found.seconds == 0


REFUSED: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "not well-formed"),
    "half": (b"<testsuite>", "not well-formed"),
    "an entity": (b"<testsuite>&a;</testsuite>", "not well-formed"),
    "a page": (b"<html/>", "does not begin with"),
    "no encoding": (b'<?xml version="1.0" encoding="nonsense"?><testsuite/>', "encoding"),
    "depth": (b"<testsuite>" * 100, "nested more than"),
    "bytes": (b" " * (MOST_BYTES + 1), "bytes"),
    "cases": (junit('<testcase name="a"/>' * (MOST_CASES + 1)), "more than 20,000 tests"),
    "a million cases, before all are read": (junit('<testcase name=""/>' * 800_000), "20,000|bytes"),
    **{name: (document, "declares a document type or entities") for name, document in BOMBS.items()},
}


@pytest.mark.parametrize("why", REFUSED)
def test_what_cannot_be_read_is_said(why: str) -> None:
    document, said = REFUSED[why]
    with pytest.raises(ToolError, match=said):
        parse(document, "/w")


def test_huge_messages_are_cut_and_keep_their_end() -> None:
    body = f"{'x' * 3_000_000}\nE   ValueError: the end"
    (found,) = parse(
        junit(f'<testcase name="t"><failure message="{"m" * 1_000_000}">{body}</failure></testcase>'), "/w"
    )
    assert len(found.message) == 500
    assert len(found.details) <= 4_000
    assert found.details.endswith("ValueError: the end")


def test_all_texts_together_are_bounded() -> None:
    failing = f'<failure message="{"é" * 500}">{"é" * 3_000}</failure>'
    cases = parse(junit("".join(f'<testcase name="{n}">{failing}</testcase>' for n in range(2_000))), "/w")
    assert len(cases) == 2_000
    assert sum(len(each.details) for each in cases) < 16_000_000 / 6
    assert all(each.outcome is CaseOutcome.failed for each in cases)


def test_what_is_invisible_is_written_out() -> None:
    (found,) = parse(
        junit('<testcase name="a&#x202e;b&#x9b;"><failure message="x&#x200b;y">z</failure></testcase>'), "/w"
    )
    assert found.id == "a::a\\u202eb\\x9b"
    assert found.message == "x\\u200by"


def test_the_worse_of_two_entries_counts() -> None:
    first, second = '<testcase name="t"><failure message="no"/></testcase>', '<testcase name="t"/>'
    for inner in (first + second, second + first):
        assert [each.outcome for each in parse(junit(inner), "/w")] == [CaseOutcome.failed]
    (both,) = parse(junit('<testcase name="t"><skipped/><failure message="no"/></testcase>'), "/w")
    assert both.outcome is CaseOutcome.failed


NAMES = st.sampled_from(
    ["testsuites", "testsuite", "testcase", "failure", "error", "skipped", "x:testcase", "properties"]
)
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="<>&\"'"), max_size=30)
KEYS = st.sampled_from(["name", "classname", "file", "line", "time", "message", "type"])


@st.composite
def elements(draw: st.DrawFn, depth: int = 4) -> str:
    name = draw(NAMES)
    given_attributes = draw(st.dictionaries(KEYS, TEXTS, max_size=4))
    attributes = "".join(f' {key}="{value}"' for key, value in given_attributes.items())
    inner = "".join(draw(st.lists(elements(depth - 1), max_size=3))) if depth else draw(TEXTS)
    return f"<{name}{attributes}>{inner}</{name}>"


@given(elements())
def test_any_tree_is_read_or_refused(document: str) -> None:
    try:
        cases = parse(document.encode(), "/w")
    except ToolError:
        return
    assert len({each.id for each in cases}) == len(cases)


@given(st.binary(max_size=300))
@example(b"\xff\xfe<\x00t\x00")
@example(b'<?xml version="1.0" encoding="utf-7"?><testsuite/>')
@example(b'<?xml version="1.0" encoding="idna"?><testsuite/>')
@example(b'<?xml version="1.0" encoding="hex"?><testsuite/>')
@example(b"<testsuite><testcase/></testsuite>")
def test_any_bytes_are_read_or_refused(document: bytes) -> None:
    try:
        parse(document, "/w")
    except ToolError:
        return
