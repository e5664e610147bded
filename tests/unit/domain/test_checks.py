"""The table of checks: everything that speaks of them derives from its rows."""

from domain.review.reading import CHECKS, CheckName


def test_each_check_has_a_row() -> None:
    assert [*CHECKS] == [*CheckName]
    assert all(check.rules for check in CHECKS.values())


def test_no_two_checks_share_a_rule() -> None:
    rules = [rule for check in CHECKS.values() for rule in check.rules]
    assert len(rules) == len(set(rules))
