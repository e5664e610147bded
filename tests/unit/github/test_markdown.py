"""Shortened Markdown stays well-formed (T-O3, T-O4)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from domain.text.escaping import cut_text
from github.check_runs import shorten, shorten_bytes

NOTE = "*Shortened: GitHub shows no more than 2,000 characters here.*"


def test_what_fits_is_left_alone() -> None:
    text = "```\n<details>" + "x" * 1987
    assert shorten(text, 2000) == text


def test_it_ends_at_the_end_of_a_line() -> None:
    short = shorten("a line of text\n" * 500, 2000)
    assert short.endswith(f"a line of text\n\n{NOTE}")
    assert len(short) <= 2000


@pytest.mark.parametrize("fence", ["```", "~~~~", "`````"])
def test_an_open_fence_is_closed(fence: str) -> None:
    info = "python" if fence[0] == "`" else ""
    short = shorten(f"Intro\n\n{fence}{info}\n" + "code ``` here\n" * 500, 2000)
    assert f"\n{fence}\n\n{NOTE}" in short


def test_a_closed_fence_is_not_closed_again() -> None:
    short = shorten("```\ncode\n```\n" + "text\n" * 2000, 2000)
    assert short.count("```") == 2


def test_open_details_are_closed_innermost_first() -> None:
    text = "<details><summary>A</summary>\n\n<details open>\n<details></details>\n\n```\n<details>\n" + "x\n" * 5000
    short = shorten(text, 2000)
    assert f"\n```\n\n</details>\n\n</details>\n\n{NOTE}" in short


def test_an_open_comment_is_closed() -> None:
    assert f"\n-->\n\n{NOTE}" in shorten("<!-- hidden\n" + "x\n" * 5000, 2000)


def test_one_endless_line_is_cut_inside() -> None:
    assert len(shorten("short\n" + "x" * 90_000, 65_535)) > 60_000


@given(st.text(max_size=6000), st.integers(1000, 3000))
def test_it_never_exceeds_the_limit(text: str, limit: int) -> None:
    assert len(shorten(text, limit)) <= limit
    assert len(shorten("<details>" * 900 + text, limit)) <= limit


@given(st.text(), st.integers(3, 50))
def test_bytes_are_counted_and_characters_kept_whole(text: str, limit: int) -> None:
    short = shorten_bytes(text, limit)
    assert len(short.encode()) <= limit
    assert short == text or short.endswith("…")


def test_plain_text_gets_an_ellipsis() -> None:
    assert (cut_text("abcdef", 4), cut_text("abcd", 4)) == ("abc…", "abcd")
