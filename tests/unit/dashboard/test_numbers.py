"""Numbers of issues and pull requests, as addresses and forms hold them."""

import pytest

from bot.dashboard.runs import parse_number


@pytest.mark.parametrize(("text", "number"), [("7", 7), ("007", 7), ("999999999999", 999_999_999_999)])
def test_numbers(text: str, number: int) -> None:
    assert parse_number(text) == number


@pytest.mark.parametrize("text", ["", "0", "-1", "+1", "1_0", "1.5", "٣", "9" * 13, "0" * 19 + "1" * 5_000])
def test_what_is_none(text: str) -> None:
    """The last one is more digits than Python reads, and than a column holds."""
    assert parse_number(text) is None
