"""Reads the report that `dotnet test` writes in Visual Studio's form."""

import re
from collections.abc import Iterator, Mapping

from agents.testing.runners.outcomes import Ended
from agents.testing.xml import parse_xml
from domain.runs.testing import CaseOutcome

_OUTCOMES = {"Passed": CaseOutcome.passed, "Failed": CaseOutcome.failed, "Error": CaseOutcome.error}


def read_trx(document: bytes) -> Iterator[Ended]:
    """The tests of .NET; the class of each is named apart from how it ended."""
    report = _Report()
    parse_xml(document, "The report of dotnet", report.start, report.end)
    for result in report.results:
        group = report.classes.get(result.get("testId", ""), "").partition(",")[0]
        name = result.get("testName", "").removeprefix(f"{group}.")
        message, trace = result.get("Message", ""), result.get("StackTrace", "")
        outcome = _OUTCOMES.get(result.get("outcome", ""), CaseOutcome.skipped)
        at = re.search(r":line (\d{1,8})", trace)
        yield Ended("", (group, name), outcome, int(at[1]) if at else None, message, f"{message}\n{trace}".strip())


class _Report:
    """What was read so far."""

    def __init__(self) -> None:
        self.results: list[dict[str, str]] = []
        self.classes: dict[str, str] = {}
        self._unit = ""

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        if name == "UnitTestResult":
            self.results.append(dict(attributes))
        elif name == "UnitTest":
            self._unit = attributes.get("id", "")
        elif name == "TestMethod":
            self.classes[self._unit] = attributes.get("className", "")

    def end(self, name: str, text: str) -> None:
        if name in {"Message", "StackTrace"} and self.results:
            self.results[-1].setdefault(name, text)
