"""What is said of a change that fixes several findings fits a comment, and nothing in it acts."""

from domain.review.line_edits import LineEdit
from messages.fixes_of_all import FixOutcome, render_commit_message, report_none, show
from tests.rendering import find_active
from tests.unit.domain.hostile_findings import BAD, FINDING, HOSTILE, KINDS

LONG = LineEdit(start_line=1, end_line=1, before="a" * 20_000, after="b" * 20_000)


def test_nothing_in_it_acts() -> None:
    outcomes = [FixOutcome(BAD, summary=HOSTILE), FixOutcome(BAD, is_known=True)]
    edit = LineEdit(start_line=1, end_line=1, before=HOSTILE, after=HOSTILE)
    for text in (report_none(outcomes), show(outcomes, {HOSTILE: [edit]}, "Forge does not write to forks")):
        assert find_active(text, KINDS) == []
    assert "@" not in render_commit_message(outcomes, "01J0")
    assert "#" not in render_commit_message(outcomes, "01J0")


def test_what_is_long_is_counted_and_named() -> None:
    outcomes = [FixOutcome(FINDING, why_not="" if number % 2 else "x" * 200) for number in range(400)]
    text = show(outcomes, {"app.py": [LONG], "more.py": [LONG]}, "Forge does not write to forks")
    assert len(text) < 65_536
    assert text.startswith("Fixes of 200 of 400 open findings.")
    assert "and 300 more, of which 150 are fixed" in text
    assert "The change of `app.py` is too long to show." in text
