"""Runs, cases and reports as tests want them."""

from domain.runs.testing import CaseOutcome, CommandResult, Framework, TestCase, TestRun


def case(name: str, outcome: CaseOutcome = CaseOutcome.passed, **more: object) -> TestCase:
    return TestCase.model_validate({"id": name, "outcome": outcome, **more})


def command(exit_status: int | None, *cases: TestCase, **more: object) -> CommandResult:
    fields = {
        "kind": "test",
        "line": "pytest",
        "framework": Framework.pytest,
        "exit_status": exit_status,
        "cases": cases,
    }
    return CommandResult.model_validate({**fields, **more})


def run(*commands: CommandResult, **more: object) -> TestRun:
    return TestRun.model_validate({"commands": commands, **more})


def junit(inner: str, name: str = "a") -> bytes:
    return f'<testsuites><testsuite name="{name}">{inner}</testsuite></testsuites>'.encode()


def cobertura(inner: str, source: str = "/w") -> bytes:
    return (
        f"<coverage><sources><source>{source}</source></sources><packages><package><classes>{inner}"
        "</classes></package></packages></coverage>"
    ).encode()


BOMBS = {
    "billion laughs": b'<!DOCTYPE l [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]><testsuite name="&b;"/>',
    "external entity": b'<!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]><testsuite name="a">&x;</testsuite>',
    "external document type": b'<!DOCTYPE coverage SYSTEM "http://127.0.0.1/x.dtd"><coverage/>',
    "parameter entity": b'<!DOCTYPE l [<!ENTITY % x SYSTEM "http://127.0.0.1/x"> %x;]><testsuite/>',
}
