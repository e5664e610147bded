"""Which small changes of a file are taken, and what they make of it."""

import pytest

from domain.review.line_edits import LineEdit, widen
from safety.line_edits import apply_edits, find_mistakes, overlaps

FILE = b"one\r\ntwo\r\nthree\r\nfour\r\n"


def edit(first: int, before: str, after: str) -> LineEdit:
    return LineEdit(start_line=first, end_line=first + before.count("\n"), before=before, after=after)


def test_edits_keep_line_ends_and_each_others_lines() -> None:
    edits = [edit(1, "one", "zero\none"), edit(3, "three\nfour", "")]
    assert find_mistakes(FILE, edits) == []
    assert apply_edits(FILE, edits) == b"zero\r\none\r\ntwo\r\n"


def test_what_stood_above_a_file_leaves_no_gap() -> None:
    assert apply_edits(b"import os\r\n\r\nx = 1\r\n", [edit(1, "import os", "")]) == b"x = 1\r\n"
    assert apply_edits(b"\nimport os\n\nx = 1\n", [edit(2, "import os", "")]) == b"\n\nx = 1\n"


@pytest.mark.parametrize(("first", "last", "holds"), [(1, 1, False), (1, 2, True), (3, 9, True), (4, 9, False)])
def test_changes_of_the_same_lines(first: int, last: int, holds: bool) -> None:
    assert overlaps([edit(2, "two\nthree", "x")], first, last) is holds


@pytest.mark.parametrize(
    ("edits", "said"),
    [
        ([edit(9, "nine", "x")], "are not in the file"),
        ([edit(0, "one", "x")], "are not in the file"),
        ([edit(1, "one ", "x")], "are not what"),
        ([edit(1, "one", "one")], "stay as they are"),
        ([edit(1, "one\ntwo", "x"), edit(2, "two", "y")], "overlap"),
        ([edit(1, "one", "a\u202eb")], "cannot be seen"),
        ([edit(1, "one", "x" * 1_001)], "a line of more than"),
        ([edit(1, "one", "\n".join("x" * 60))], "too large"),
        ([], "There is no edit"),
    ],
)
def test_what_is_refused(edits: list[LineEdit], said: str) -> None:
    assert any(said in mistake for mistake in find_mistakes(FILE, edits))


def test_a_file_that_is_no_text() -> None:
    assert find_mistakes(b"\xff", [edit(1, "a", "b")]) == ["The file is not UTF-8 text."]


def test_a_wider_edit_does_the_same() -> None:
    lines = ["one", "two", "three", "four"]
    wide = widen(edit(2, "two", "2\n2b"), lines, 1, 3)
    assert (wide.start_line, wide.end_line, wide.before, wide.after) == (1, 3, "one\ntwo\nthree", "one\n2\n2b\nthree")
