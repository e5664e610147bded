"""Addresses of servers as people type them into the set-up page."""

import pytest

from github.registration import WrongAddress, parse_origin


@pytest.mark.parametrize(
    ("typed", "origin"),
    [
        (" https://Forge.example.com/ ", "https://forge.example.com"),
        ("http://127.0.0.1:8100", "http://127.0.0.1:8100"),
        ("https://[::1]:8443", "https://[::1]:8443"),
        ("https://git_hub.internal", "https://git_hub.internal"),
    ],
)
def test_addresses(typed: str, origin: str) -> None:
    assert parse_origin(typed) == origin


@pytest.mark.parametrize(
    "typed",
    [
        *("", "forge.example.com", "ftp://forge.example.com", "https://", "https://[::1", "https://a:port"),
        *(
            "https://a/path",
            "https://a?x",
            "https://a#x",
            "https://ada@a",
            "https://a b",
            "https://a'b",
            "https://é.com",
        ),
        "https://a;script-src *",  # it becomes part of a header
    ],
)
def test_what_is_none(typed: str) -> None:
    with pytest.raises(WrongAddress):
        parse_origin(typed)
