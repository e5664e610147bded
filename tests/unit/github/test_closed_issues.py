"""Which issues a description says a pull request closes."""

import pytest

from domain.github.pull_requests import find_closed_issues


@pytest.mark.parametrize(
    ("description", "closed"),
    [
        ("Fixes #12", (12,)),
        ("closes: #3 and RESOLVED #4, fixed #3", (3, 4)),
        ("See #5", ()),
        ("prefixes #6", ()),
        ("fixes octo-org/other#7", ()),
        ("fixes #0 fixes #1234567890", ()),
        ("fix #1 fix #2 fix #3 fix #4", (1, 2, 3)),
        ("", ()),
    ],
)
def test_keywords_of_github(description: str, closed: tuple[int, ...]) -> None:
    assert find_closed_issues(description) == closed
