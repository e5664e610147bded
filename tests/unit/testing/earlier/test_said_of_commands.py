"""What is said of a command whose report proves nothing: by its name, and not by what Forge adds to it."""

import pytest

from agents.testing.earlier_tests.running import read_result
from domain.runs.testing import CaseOutcome, CommandResult, TestCase


@pytest.mark.parametrize(
    ("line", "called"),
    [
        ("npx vitest run --typecheck --reporter=default --reporter=json --outputFile.json=/r/v.json", "vitest run"),
        ("npx jest --json --outputFile=/r/jest.json --bail=0 a.test.js", "npx jest"),
        ("python3 -m pytest -o junit_family=xunit1 --junit-xml=/r/junit.xml tests", "python3 -m pytest"),
        ("sh test.sh " + "slowly " * 30, "slowly…"),
    ],
)
def test_a_command_is_named_as_people_call_it(line: str, called: str) -> None:
    passed = TestCase(id="a::b", path="a", outcome=CaseOutcome.passed)
    for result in (
        CommandResult(kind="test", line=line, exit_status=1, cases=(passed,)),
        CommandResult(kind="test", line=line, exit_status=None),
    ):
        [said] = read_result(result, ["a"]).not_run
        assert called in said
        assert "/r/" not in said
        assert "report=" not in said
        assert len(said) < 220
