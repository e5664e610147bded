"""Conflicts of a merge: whose lines a resolution loses, and which tests."""

import pytest

from domain.runs.testing import CaseOutcome, CommandResult, Framework, TestCase, TestRun
from safety.conflicts import (
    BesideEdit,
    ConflictHunk,
    Kept,
    ResolvedHunk,
    ResolvedHunks,
    Side,
    SideTests,
    edit_beside,
    find_broken,
    find_mistakes,
    judge,
)

HUNK = ConflictHunk(number=1, path="a.py", line=1, before="one\ntwo\n", branch="one\ntwo\nmine\n", base="one\ntheirs\n")


def resolve(text: str, reason: str = "") -> ResolvedHunks:
    return ResolvedHunks(hunks=(ResolvedHunk(number=1, text=text, reason=reason),))


@pytest.mark.parametrize(
    ("text", "kept", "lost"),
    [
        ("one\ntheirs\nmine\n", Kept.both, ()),
        ("one\ntheirs\nmine", Kept.both, ()),
        (HUNK.branch, Kept.branch, (Side.base,)),
        (HUNK.base, Kept.base, (Side.branch,)),
        ("one\ntwo\ntheirs\nmine\n", Kept.mixed, (Side.base,)),  # what the base removed is back
        ("one\ntheirs\n    mine\n", Kept.mixed, (Side.branch,)),  # in Python another program
        ("", Kept.mixed, (Side.branch, Side.base)),
    ],
)
def test_what_a_side_loses_takes_a_reason(text: str, kept: Kept, lost: tuple[Side, ...]) -> None:
    [judged] = judge([HUNK], resolve(text))
    assert (judged.kept, judged.lost) == (kept, lost)
    assert bool(judged.question) == bool(lost)
    [reasoned] = judge([HUNK], resolve(text, "They agreed."))
    assert not reasoned.question


def test_a_side_that_has_all_of_the_other_takes_none() -> None:
    hunk = HUNK.model_copy(update={"before": "", "branch": "\n", "base": "\nnew\n"})
    [judged] = judge([hunk], resolve("\nnew\n"))
    assert (judged.kept, judged.lost, judged.question) == (Kept.base, (), "")


def test_an_answer_has_each_conflict_once_and_no_marks() -> None:
    assert find_mistakes([HUNK], {}, resolve("one\n")) is None
    assert "one entry for each conflict: 1" in (find_mistakes([HUNK], {}, ResolvedHunks(hunks=())) or "")
    assert "marks of a conflict: 1" in (find_mistakes([HUNK], {}, resolve("one\n=======\ntwo\n")) or "")


OUTSIDE = {"a.py": ["import one\n", "use(one)\nuse(two)\nuse(one)\n"]}


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        (BesideEdit(path="a.py", old="use(two)", new="use(deux)\n", reason="It is renamed."), None),
        (BesideEdit(path="a.py", old="import one\n", reason="Nobody uses it."), None),
        (BesideEdit(path="a.py", old="use(one)\n", new="use(un)\n", reason="It is renamed."), "stand in a.py once"),
        (BesideEdit(path="a.py", old="(two)", new="(deux)", reason="It is renamed."), "whole lines"),
        (BesideEdit(path="a.py", old="mine\n", new="yours\n", reason="It is in a conflict."), "outside of conflicts"),
        (BesideEdit(path="a.py", old="\n", new="more\n", reason="It is nothing."), "whole lines"),
        (BesideEdit(path="b.py", old="use(two)", new="use(deux)\n", reason="It is renamed."), "without a conflict"),
        (BesideEdit(path="a.py", old="use(two)", new="use(deux)\n", reason=" "), "has no reason"),
        (BesideEdit(path="a.py", old="use(two)", new="<<<<<<< a\n", reason="It is renamed."), "marks of a conflict"),
        (BesideEdit(path="a.py", old="use(two)", new="use(\u200btwo)", reason="It is renamed."), "nobody sees"),
    ],
)
def test_beside_a_conflict_whole_lines_of_its_file_may_change_for_a_reason(edit: BesideEdit, said: str | None) -> None:
    resolved = resolve("one\n").model_copy(update={"beside": (edit,)})
    told = find_mistakes([HUNK], OUTSIDE, resolved)
    assert told is None if said is None else said in (told or "")


def test_what_changes_beside_a_conflict_leaves_the_rest_as_it_is() -> None:
    edit = BesideEdit(path="a.py", old="use(two)\n", new="use(deux)", reason="It is renamed.")
    assert edit_beside(OUTSIDE["a.py"], edit) == ["import one\n", "use(one)\nuse(deux)\nuse(one)\n"]
    assert edit_beside(["a\n", "b"], edit.model_copy(update={"old": "b", "new": "c\n"})) == ["a\n", "c"]
    assert edit_beside(["a\n", "b\n"], edit.model_copy(update={"old": "b\n", "new": ""})) == ["a\n", ""]


def run(**outcomes: CaseOutcome) -> TestRun:
    cases = tuple(TestCase(id=f"t.py::{name}", path="t.py", outcome=outcome) for name, outcome in outcomes.items())
    status = 1 if CaseOutcome.failed in outcomes.values() else 0
    done = CommandResult(kind="test", line="pytest", framework=Framework.pytest, exit_status=status, cases=cases)
    return TestRun(commands=(done,))


def test_what_passes_on_a_side_has_to_pass_and_to_be_there() -> None:
    passed, failed = CaseOutcome.passed, CaseOutcome.failed
    branch = SideTests.of(run(old=passed, mine=passed, broken=failed, dropped=passed))
    base = SideTests.of(run(old=passed, theirs=passed, broken=failed))
    written = {"t.py": "def old(): ...\ndef dropped(): ...\n"}

    def names(result: TestRun, texts: dict[str, str] = written) -> list[str]:
        return [each.rule.removeprefix("t.py::") for each in find_broken(result, [branch, base], texts)]

    assert names(run(old=passed, mine=passed, theirs=passed, broken=failed)) == []  # the base dropped that one
    assert names(run(old=failed, mine=passed, theirs=passed)) == ["old"]
    assert names(run(old=passed, mine=passed)) == ["theirs"]
    assert names(run(mine=passed, theirs=passed)) == ["old"]  # neither side dropped it
    assert names(run(old=passed, mine=passed), {}) == []  # git merged that file by itself
