import pytest

from agents.review.checks.fingerprints import Edit, merge_edits
from domain.review.findings import Fix

TEXT = "import os\nimport sys\nx = 'ä' ;y = 2\nlast"


def apply_fix(text: str, fix: Fix) -> str:
    lines = text.split("\n")
    new = fix.replacement.split("\n") if fix.replacement else []
    return "\n".join([*lines[: fix.start_line - 1], *new, *lines[fix.end_line :]])


def test_a_removed_line() -> None:
    assert merge_edits(TEXT, [Edit(1, 1, 2, 1, "")], 1, 1) == Fix(start_line=1, end_line=1, replacement="")


def test_columns_count_characters() -> None:
    fix = merge_edits(TEXT, [Edit(3, 5, 3, 8, "b''")], 3, 3)
    assert fix == Fix(start_line=3, end_line=3, replacement="x = b'' ;y = 2")


def test_several_edits_of_one_line() -> None:
    fix = merge_edits(TEXT, [Edit(3, 10, 3, 11, "z"), Edit(3, 1, 3, 2, "a")], 3, 3)
    assert fix == Fix(start_line=3, end_line=3, replacement="a = 'ä' ;z = 2")


def test_an_edit_far_from_the_finding_is_no_suggestion() -> None:
    assert merge_edits(TEXT, [Edit(1, 1, 1, 1, "import re\n"), Edit(4, 1, 4, 5, "re.x")], 4, 4) is None


def test_a_joined_line_takes_the_next_one_in() -> None:
    fix = merge_edits(TEXT, [Edit(1, 10, 2, 1, "; ")], 1, 1)
    assert fix == Fix(start_line=1, end_line=2, replacement="import os; import sys")


def test_an_insertion_of_lines() -> None:
    fix = merge_edits(TEXT, [Edit(2, 1, 2, 1, "import re\n")], 2, 2)
    assert fix is not None
    assert apply_fix(TEXT, fix).startswith("import os\nimport re\nimport sys\n")


def test_the_last_line_without_a_line_break() -> None:
    assert merge_edits(TEXT, [Edit(4, 1, 4, 5, "end")], 4, 4) == Fix(start_line=4, end_line=4, replacement="end")


def test_windows_line_ends_are_not_suggested() -> None:
    fix = merge_edits("a\r\nb = 1\r\n", [Edit(2, 1, 2, 2, "c")], 2, 2)
    assert fix == Fix(start_line=2, end_line=2, replacement="c = 1")


@pytest.mark.parametrize(
    "edit", [Edit(9, 1, 9, 2, "x"), Edit(1, 5, 1, 2, "x"), Edit(1, 99, 1, 100, "x"), Edit(1, 0, 1, 1, "")]
)
def test_nonsense_positions(edit: Edit) -> None:
    assert merge_edits(TEXT, [edit], edit.line, edit.line) is None


def test_a_fix_that_changes_nothing_or_leaves_an_empty_line_is_none() -> None:
    assert merge_edits(TEXT, [Edit(1, 1, 1, 10, "import os")], 1, 1) is None
    assert merge_edits(TEXT, [Edit(1, 1, 1, 10, "")], 1, 1) is None
