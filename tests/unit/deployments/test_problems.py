"""What Forge does about a report: of issues, of the files that a deployment changed, and of tokens."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from domain.deployments.problems import (
    QUIET_AFTER_CLOSING,
    IssueFacts,
    ReportStep,
    Suspect,
    choose_step,
    find_suspects,
)
from domain.deployments.stack import Frame
from domain.review.changes import Change, ChangeStatus, FileChange, Hunk
from safety.eligibility import BURST, ReportAllowance, take_report
from safety.learning_screening import screen_lesson

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
CLOSED = IssueFacts(is_open=False, closed_at=NOON - timedelta(hours=2))


@pytest.mark.parametrize(
    ("facts", "step"),
    [
        (IssueFacts(), ReportStep.open),
        (IssueFacts(is_open=True), ReportStep.update),
        (IssueFacts(is_open=True, obstacle="Level 0"), ReportStep.update),
        (IssueFacts(obstacle="Level 0"), ReportStep.record),
        (CLOSED, ReportStep.record),
        (replace(CLOSED, deployed_at=NOON - timedelta(hours=3)), ReportStep.record),
        (replace(CLOSED, deployed_at=NOON - timedelta(hours=1)), ReportStep.open),
        (replace(CLOSED, deployed_at=NOON - timedelta(hours=1), obstacle="paused"), ReportStep.record),
        (replace(CLOSED, closed_at=NOON - QUIET_AFTER_CLOSING), ReportStep.open),
    ],
)
def test_when_an_issue_is_opened(facts: IssueFacts, step: ReportStep) -> None:
    assert choose_step(facts, NOON).step is step


def _file(path: str, *added: int) -> FileChange:
    hunks = tuple(Hunk(old_start=n, old_length=0, new_start=n, new_length=1, lines=("+x",)) for n in added)
    return FileChange(path=path, status=ChangeStatus.modified, hunks=hunks)


def _change(*files: FileChange) -> Change:
    return Change(merge_base="a", head_sha="b", files=files, total_files=len(files), additions=0, deletions=0)


def test_a_frame_is_recognised_by_the_end_of_its_path() -> None:
    change = _change(_file("src/app.py", 3), _file("docs/app.md", 1))
    frames = [
        Frame(path="/srv/app/src/app.py", line=3, function="price"),
        Frame(path="/usr/lib/python3/json.py", line=9, function="dumps"),
        Frame(path="./src/app.py", line=4, function="total"),
        Frame(path="app.py", line=4, function="again, at the same place"),
    ]
    assert find_suspects(frames, change) == [
        Suspect(path="src/app.py", line=3, function="price", is_changed=True),
        Suspect(path="src/app.py", line=4, function="total", is_changed=False),
    ]


@pytest.mark.parametrize("shown", ["app.py", "/srv/c/app.py", "/srv/myapp.py", "", "/", "src"])
def test_nothing_is_claimed_where_it_is_not_clear(shown: str) -> None:
    change = _change(_file("a/app.py", 1), _file("b/app.py", 1))
    assert find_suspects([Frame(path=shown, line=1)], change) == []


def test_reports_come_in_bursts_and_at_a_steady_rate() -> None:
    allowance, waits = ReportAllowance(float(BURST), NOON), list[timedelta]()
    for _ in range(BURST + 1):
        turn = take_report(allowance, NOON)
        allowance = turn.allowance
        waits.append(turn.wait)
    assert waits == [timedelta()] * BURST + [timedelta(seconds=1)]
    assert take_report(allowance, NOON + timedelta(seconds=1)).wait == timedelta()
    later = take_report(allowance, NOON + timedelta(days=1)).allowance
    assert later.left == BURST - 1
    assert take_report(later, NOON).allowance == ReportAllowance(BURST - 2.0, later.at)  # the clock was set back


@pytest.mark.parametrize(
    ("content", "code"),
    [
        ("Production showed `KeyError` in staging until a change of `app.py`. Check that it is kept.", None),
        ("Production showed `KeyError`, see https://evil.example for what to do next.", "learning.address"),
        ("Production showed `KeyError`, ask @alice about it and what to do next.", "learning.address"),
        ("Short.", "learning.short"),
    ],
)
def test_a_lesson_of_production_is_screened(content: str, code: str | None) -> None:
    refused = screen_lesson(content, "a change touches `app.py`", ["app.py"])
    assert (refused.code if refused else None) == code
