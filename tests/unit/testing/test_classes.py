"""What failures mean by their own words: what the environment lacks is told from bugs, both ways."""

import pytest

from agents.testing.failures import MOST_CONFIDENT, classify_failure, find_exception_line, find_own_modules
from domain.runs.testing import CaseOutcome, FailureClass, TestCase
from tests.unit.testing.forging import case

MODULES = find_own_modules(["src/shop/cart.py", "tests/test_a.py"])


def build_failure(message: str, details: str = "") -> TestCase:
    return case("t", CaseOutcome.failed, message=message, details=details)


@pytest.mark.parametrize(
    "message",
    [
        "ModuleNotFoundError: No module named 'requests'",
        "failed on setup with \"ModuleNotFoundError: No module named 'yaml.nodes'\"",
        "FileNotFoundError: [Errno 2] No such file or directory: 'psql'",
        "sh: 1: docker: command not found",
        "ConnectionRefusedError: [Errno 111] Connection refused",
        "Error: connect ECONNREFUSED 127.0.0.1:5432",
        "socket.gaierror: [Errno -3] Temporary failure in name resolution",
        "Error: getaddrinfo ENOTFOUND example.org",
        "OSError: [Errno 28] No space left on device",
        "MemoryError",
        "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
        "Failed: Timeout (>5.0s) from pytest-timeout.",
        "context deadline exceeded",
        "PermissionError: [Errno 13] Permission denied: '/var/lib/x'",
    ],
)
def test_what_the_environment_lacks(message: str) -> None:
    found = classify_failure(build_failure(message), modules=MODULES)
    assert found.failure_class is FailureClass.environment
    assert found.suggested_fix


@pytest.mark.parametrize(
    "message",
    [
        "AssertionError: assert 'Connection refused' in 'ok'",
        "assert 'command not found' == ''",
        "ModuleNotFoundError: No module named 'shop.missing'",
        "FileNotFoundError: [Errno 2] No such file or directory: '/w/data/missing.json'",
        "PermissionError: only the owner may do this",
        "ValueError: invalid literal for int() with base 10: 'x'",
        "TypeError: x is not a function",
        "expect(received).toBe(expected)",
        "",
    ],
)
def test_what_is_wrong_with_the_code(message: str) -> None:
    assert classify_failure(build_failure(message), modules=MODULES).failure_class is FailureClass.real_bug


def test_what_passed_when_run_again_is_flaky() -> None:
    found = classify_failure(build_failure("ConnectionRefusedError: no"), flaky=["t"])
    assert found.failure_class is FailureClass.flaky
    assert "ConnectionRefusedError: no" in found.root_cause


@pytest.mark.parametrize(
    ("message", "details", "line"),
    [
        (
            "collection failure",
            "x\nE   ModuleNotFoundError: No module named 'a'",
            "ModuleNotFoundError: No module named 'a'",
        ),
        ("Failed", "a_test.go:9: got 1, want 2", "Failed"),
        ("", "Traceback\n  x\nKeyError: 'a'\n", "KeyError: 'a'"),
        ("", "plain words\nmore", "plain words"),
        ("", "", "It gives no reason."),
        ("one\ntwo", "", "one"),
    ],
)
def test_the_line_that_says_why(message: str, details: str, line: str) -> None:
    assert find_exception_line(build_failure(message, details)) == line


def test_nobody_is_too_sure_and_nothing_takes_long() -> None:
    for message in ("aError " * 70, "a." * 250, "No module named " + "a" * 480, "E" * 500, "Permission denied" * 29):
        found = classify_failure(build_failure(message, (message + "\n") * 7), modules=MODULES)
        assert found.confidence <= MOST_CONFIDENT
