"""Tests that are written anew check what they did, and those that look so and check less are still found."""

import pytest

from domain.review.avoidance import AvoidanceKind
from tests.unit.avoidance.samples import compare, list_kinds

# --- tests within a program that moved to a file of their own ---------------------------------------------------

RUST = """\
pub fn order(a: &str, b: &str) -> Ordering {
    a.cmp(b)
}
"""
INLINE = """
#[cfg(test)]
mod tests {
    use super::order;

    fn check_order(all: &[&str]) {
        for (i, x) in all.iter().enumerate() {
            for (j, y) in all.iter().enumerate() {
                assert!(order(x, y) == i.cmp(&j), "{} and {}", x, y);
            }
        }
    }

    #[test]
    fn test_plain() {
        check_order(&["a0", "a1", "a2"]);
    }
}
"""
OUTSIDE = """\
fn check_order(by: fn(&str, &str) -> Ordering, all: &[&str]) {
    for (i, x) in all.iter().enumerate() {
        for (j, y) in all.iter().enumerate() {
            assert_eq!(by(x, y), i.cmp(&j), "{} and {}", x, y);
        }
    }
}

fn check_both(all: &[&str]) {
    check_order(shop::order, all);
    check_order(shop::order_loosely, all);
}

#[test]
fn plain() {
    check_both(&["a0", "a1", "a2"]);
}

#[test]
fn empty() {
    assert_eq!(shop::order("", ""), Ordering::Equal);
}
"""


def test_inline_tests_may_move_and_hand_their_values_to_another_helper() -> None:
    assert not list_kinds(compare({"lib.rs": RUST + INLINE}, {"lib.rs": RUST, "tests/order.rs": OUTSIDE}))


@pytest.mark.parametrize(
    ("was", "becomes"),
    [
        ('"a1", "a2"]);\n}\n\n#[test]\nfn empty', '"a1"]);\n}\n\n#[test]\nfn empty'),
        ('assert_eq!(by(x, y), i.cmp(&j), "{} and {}", x, y);', "by(x, y);"),
        ("    check_order(shop::order, all);\n    check_order(shop::order_loosely, all);\n", "    all.len();\n"),
        ("#[test]\nfn plain", "#[test]\n#[ignore]\nfn plain"),
    ],
)
def test_inline_tests_that_lose_something_on_their_way_are_gone(was: str, becomes: str) -> None:
    less = OUTSIDE.replace(was, becomes)
    assert less != OUTSIDE
    found = list_kinds(compare({"lib.rs": RUST + INLINE}, {"lib.rs": RUST, "tests/order.rs": less}))
    assert found & {AvoidanceKind.test_removed, AvoidanceKind.test_skipped}
