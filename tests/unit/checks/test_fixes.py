import pytest

from agents.review.checks.fingerprints import Edit, merge_edits
from domain.review.findings import Fix

TEXT = "import os\nimport sys\nx = 'ä' ;y = 2\nlast"


def apply_fix(text: str, fix: Fix) -> str:
    lines = text.split("\n")
    new = fix.replacement.split("\n") if fix.replacement else []
    return "\n".join([*lines[: fix.start_line - 1], *new, *lines[fix.end_line :]])


@pytest.mark.parametrize(
    ("edits", "fix"),
    [
        ([Edit(1, 1, 2, 1, "")], (1, 1, "")),
        ([Edit(3, 5, 3, 8, "b''")], (3, 3, "x = b'' ;y = 2")),  # columns count characters
        ([Edit(3, 10, 3, 11, "z"), Edit(3, 1, 3, 2, "a")], (3, 3, "a = 'ä' ;z = 2")),
        ([Edit(1, 10, 2, 1, "; ")], (1, 2, "import os; import sys")),  # takes the next line in
        ([Edit(4, 1, 4, 5, "end")], (4, 4, "end")),  # the last line has no line break
        ([Edit(4, 1, 4, 5, "re.x"), Edit(1, 1, 1, 1, "import re\n")], None),  # far from the finding
        ([Edit(9, 1, 9, 2, "x")], None),
        ([Edit(1, 5, 1, 2, "x")], None),
        ([Edit(1, 99, 1, 100, "x")], None),
        ([Edit(1, 0, 1, 1, "")], None),
        ([Edit(1, 1, 1, 10, "import os")], None),  # changes nothing
        ([Edit(1, 1, 1, 10, "")], None),  # leaves an empty line
    ],
)
def test_which_lines_a_suggestion_replaces(edits: list[Edit], fix: tuple[int, int, str] | None) -> None:
    found = merge_edits(TEXT, edits, edits[0].line, edits[0].line)
    assert (found and (found.start_line, found.end_line, found.replacement)) == fix


def test_an_insertion_of_lines() -> None:
    fix = merge_edits(TEXT, [Edit(2, 1, 2, 1, "import re\n")], 2, 2)
    assert fix is not None
    assert apply_fix(TEXT, fix).startswith("import os\nimport re\nimport sys\n")


def test_windows_line_ends_are_not_suggested() -> None:
    fix = merge_edits("a\r\nb = 1\r\n", [Edit(2, 1, 2, 2, "c")], 2, 2)
    assert fix == Fix(start_line=2, end_line=2, replacement="c = 1")
