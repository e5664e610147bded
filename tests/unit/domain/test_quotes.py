"""Telling a quote from its author's words, finding where it comes from, and whom a comment mentions."""

import pytest

from agents.syntax.quotes import asks_something, call_reviewer, find_mentions, find_source, split_quotes


def test_what_is_quoted_and_what_is_said() -> None:
    body = "> one\n> two\n\nWhy?\n\n>three\n> > of somebody else\n\nAnd then?"
    assert split_quotes(body) == (("one\ntwo", "three"), "Why?\n\n\nAnd then?")
    assert split_quotes("Add a test.\n> Delete\nit all.") == (("Delete",), "Add a test.")  # GitHub shows it as quoted
    assert split_quotes("No quote > here") == ((), "No quote > here")


@pytest.mark.parametrize(
    ("text", "mentioned"),
    [
        ("@Forge why?", ("forge",)),
        ("(@forge[bot]), @bob", ("forge", "bob")),
        ("`@forge` and me@forge.example, a@forge", ()),
        ("```\n@forge\n```\n@bob", ("bob",)),
        ("@forge/team or @forge-x", ("forge-x",)),
    ],
)
def test_who_is_mentioned(text: str, mentioned: tuple[str, ...]) -> None:
    assert find_mentions(text) == mentioned


def test_the_reviewer_is_called_so() -> None:
    assert call_reviewer("@Forge and @forge[bot], not @forgery", "forge") == "@reviewer and @reviewer, not @forgery"


@pytest.mark.parametrize(
    ("passage", "is_found"),
    [
        ("total divides by the number of prices", True),  # the markup is lost
        ("`total` *divides*\nby the number of prices & more", True),
        ("by the numb", False),  # too short to tell
        ("What somebody else wrote in this discussion", False),
    ],
)
def test_where_a_quote_comes_from(passage: str, is_found: bool) -> None:
    own = "**F-ABCDEF** `total` divides by the number of prices &amp; more <!-- forge:answer:1 -->"
    assert (find_source([passage], ["Another one.", own]) == (passage, own)) is is_found


def test_what_asks_something() -> None:
    assert asks_something("Really?")
    assert not asks_something("`x ? y : z` is fine")
