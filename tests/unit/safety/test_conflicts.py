"""Conflicts of a merge: whose lines a resolution loses, and which tests."""

import pytest

from domain.runs.conflicts import ConflictHunk, ResolvedHunk, ResolvedHunks
from domain.runs.testing import CaseOutcome, CommandResult, Framework, TestCase, TestRun
from safety.conflicts import Kept, Side, SideTests, find_broken, find_mistakes, judge

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
    assert find_mistakes([HUNK], resolve("one\n")) is None
    assert "one entry for each conflict: 1" in (find_mistakes([HUNK], ResolvedHunks(hunks=())) or "")
    assert "marks of a conflict: 1" in (find_mistakes([HUNK], resolve("one\n=======\ntwo\n")) or "")


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
