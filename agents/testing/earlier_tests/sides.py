"""STAND-IN."""

from domain.paths import is_test


def is_of_tests(path: str) -> bool:
    return is_test(path)
