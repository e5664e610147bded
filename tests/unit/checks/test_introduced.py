from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.review.checks.results import find_introduced
from domain.review.findings import RawFinding
from tests.unit.checks.building import file_change
from tests.unit.checks.findings import build_raw_finding

LINES = st.lists(st.sampled_from(["bad()", "  bad()", "worse()", "fine()", "", "other"]), max_size=25)


def run_linter(lines: list[str]) -> list[RawFinding]:
    """A linter that reports every line with "bad" or "worse"."""
    return [finding(line, text.strip()) for line, text in enumerate(lines, 1) if text.strip() in ("bad()", "worse()")]


def finding(line: int | None, said: str, rule: str = "t/1") -> RawFinding:
    return build_raw_finding(rule=rule, path="a", line=line, message=said)


def new(base: list[str], head: list[str], before: list[RawFinding] | None = None, now: list[RawFinding] | None = None):
    return find_introduced(
        file_change("a", "\n".join(base), "\n".join(head)),
        run_linter(head) if now is None else now,
        run_linter(base) if before is None else before,
        head_lines=head,
        base_lines=base,
    )


@settings(deadline=None)
@given(LINES)
def test_an_unchanged_file_introduces_nothing(lines: list[str]) -> None:
    assert new(lines, lines) == ()


@settings(deadline=None)
@given(LINES, st.data())
def test_inserting_harmless_lines_introduces_nothing(lines: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(lines)))
    assert new(lines, [*lines[:at], "fine()", "more()", *lines[at:]]) == ()


@settings(deadline=None)
@given(LINES, st.randoms())
def test_moving_lines_introduces_nothing(lines: list[str], order: Random) -> None:
    moved = lines[:]
    order.shuffle(moved)
    assert new(lines, moved) == ()


@settings(deadline=None)
@given(LINES, LINES)
def test_exactly_the_surplus_is_new(base: list[str], head: list[str]) -> None:
    surplus = Counter(f.message for f in run_linter(head)) - Counter(f.message for f in run_linter(base))
    assert Counter(f.message for f in new(base, head)) == surplus


@settings(deadline=None)
@given(LINES, LINES)
def test_the_answer_is_an_ordered_part_of_head(base: list[str], head: list[str]) -> None:
    places = [f.line or 0 for f in new(base, head)]
    assert places == sorted(set(places))


def test_the_added_copy_is_new_not_the_old_one() -> None:
    assert [f.line for f in new(["bad()", "x", "y"], ["bad()", "x", "bad()", "y"])] == [3]


def test_a_finding_on_an_unchanged_line_caused_by_the_change_stays() -> None:
    base, head = ["import os", "os.getcwd()"], ["import os", "pass"]
    assert new(base, head, before=[], now=[finding(1, "`os` imported but unused")])


def test_another_name_on_the_same_unchanged_line_stays() -> None:
    lines = ["from a import b, c"]
    before, now = [finding(1, "`b` unused")], [finding(1, "`c` unused")]
    assert new(lines, lines, before, now) == tuple(now)


def test_numbers_in_messages_may_change() -> None:
    lines = ["def f():"]
    assert new(lines, lines, [finding(1, "too complex (11 > 10)")], [finding(1, "too complex (12 > 10)")]) == ()


def test_findings_about_the_whole_file() -> None:
    assert new(["a"], ["b"], [finding(None, "x")], [finding(None, "x")]) == ()
    assert len(new(["a"], ["b"], [], [finding(None, "x")])) == 1


def test_another_version_of_the_same_is_nothing_new() -> None:
    base, head = ["uses: a/b@v1", "uses: c/d@v1"], ["uses: a/b@v3  # newer", "uses: e/f@v1", "uses: c/d@v1.2"]
    before = [finding(line, "not pinned") for line in (1, 2)]
    now = [finding(line, "not pinned") for line in (1, 2, 3)]
    assert [each.line for each in new(base, head, before, now)] == [2]


@pytest.mark.parametrize(
    ("base", "head", "is_new"),
    [
        ('    uses: "a/b/c.yml@2.0.0"', '    uses: "a/b/c.yml@2.1.0"', False),
        ("FROM python:3.12-slim", "FROM python:3.13-slim", False),
        ("FROM python:3.12-slim", "FROM python:3.13-alpine", True),
        ("  - uses: 'a/b@v1'", "  - uses: 'a/c@v1'", True),
    ],
)
def test_a_version_may_be_quoted_or_have_a_kind(base: str, head: str, is_new: bool) -> None:
    found = new([base], [head], [finding(1, "not pinned")], [finding(1, "not pinned")])
    assert bool(found) is is_new


def test_another_credential_is_new() -> None:
    before, now = [finding(1, "a key", "secret/aws")], [finding(1, "a key", "secret/aws")]
    assert len(new(["key = 'AKIA1'"], ["key = 'AKIA2'"], before, now)) == 1
    assert new(["key = 'AKIA1'"], ["key = 'AKIA1'", "more"], before, now) == ()


def test_another_number_or_text_is_new() -> None:
    """A mode of a file may be graver, and what stands in quotation marks is no comment."""
    before = [finding(1, "permissive")]
    for base, head in [
        ("os.chmod(p, 0o757)", "os.chmod(p, 0o777)"),
        ("sh('a # b')", "sh('a # c')"),
        ("f('a  b')", "f('a b')"),
    ]:
        assert len(new([base], [head], before, [finding(1, "permissive")])) == 1
    assert new(["f(1)"], ["", "  f(1)"], before, [finding(2, "permissive")]) == ()
