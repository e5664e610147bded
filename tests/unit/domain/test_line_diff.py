"""Texts are compared as difflib does, and soon even where their lines are many and the same."""

from difflib import SequenceMatcher

from hypothesis import given
from hypothesis import strategies as st

from domain.text.line_diff import list_changes, match_lines

Lines = st.lists(st.sampled_from("abcdefghij"), max_size=40)


def _apply(old: list[str], new: list[str]) -> list[str]:
    made = list(old)
    for start, end, at, to in reversed(list_changes(old, new)):
        made[start:end] = new[at:to]
    return made


def _number(lines: list[str]) -> list[str]:
    """Long texts, of which half of the lines are there once."""
    return [f"{line}{number}" if number % 2 else line for number, line in enumerate(lines)]


@given(Lines, Lines)
def test_small_texts_are_compared_as_they_are(old: list[str], new: list[str]) -> None:
    assert match_lines(old, new) == SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
    assert _apply(old, new) == new


@given(Lines, Lines, Lines)
def test_the_changes_of_large_texts_make_one_of_the_other(old: list[str], new: list[str], both: list[str]) -> None:
    shared = [f"{line}{number}" for number, line in enumerate(both * 20)]
    before, after = [*_number(old * 20), *shared], [*_number(new * 20), *shared]
    assert _apply(before, after) == after
    matches = match_lines(before, after)
    assert all(before[each.a : each.a + each.size] == after[each.b : each.b + each.size] for each in matches)
    assert matches[-1] == (len(before), len(after), 0)


def test_one_line_is_found_among_many_alike() -> None:
    """difflib takes minutes for these."""
    row = ["{", '"a": 1,', "},"]
    many = [line for number in range(4_000) for line in (*row, f'"{number}": 2,')]
    assert list_changes(many, [*many[:7_000], "new", *many[7_000:]]) == [(7_000, 7_000, 7_000, 7_001)]
    assert list_changes(["{"] * 9_000, ["}"] * 9_000) == [(0, 9_000, 0, 9_000)]
    [gone] = list_changes(many, [*many[:5_000], *many[5_004:]])
    assert gone.end - gone.start == 4 > gone.to - gone.at == 0
