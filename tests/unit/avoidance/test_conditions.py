"""Conditions of compilation, as Go, Rust and C# write them."""

import pytest

from agents.review.avoidance.conditions import holds


@pytest.mark.parametrize(
    ("condition", "is_met"),
    [
        ("a", True),
        ("!a", False),
        ("b", False),
        ("a || b", True),
        ("b || a", True),
        ("b || c", False),
        ("a && b", False),
        ("a && !b", True),
        ("!(a && b) && a", True),
        ("b && (a || c)", False),
        ("all(a, not(b))", True),
        ("any(b, c)", False),
        ('any(b, feature = "x")', True),
        ("", True),
        ("a && " * 40 + "b", True),  # nobody writes that
    ],
)
def test_a_condition_holds_where_what_it_names_does(condition: str, *, is_met: bool) -> None:
    assert holds(condition, {"a", 'feature = "x"'}.__contains__) is is_met
