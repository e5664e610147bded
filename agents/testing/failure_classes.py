"""Classifies a failed test without a model, by its error text."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from agents.testing.failures import list_failures
from domain.runs.testing import Analysis, FailureClass, TestCase, TestRun

MOST_CONFIDENT = 0.7
"""The highest confidence that an error text alone can give."""

_LOOKED_AT = 10_000  # characters
_EXCEPTION = re.compile(
    r"\b(?:[A-Za-z_]\w{0,80}\.){0,8}[A-Za-z_]\w{0,80}(?:Error|Exception|Timeout|Expired|Exit|Interrupt|Failed)\b[^\n]{0,400}"
)
_FOUND_MISSING = re.compile(r"No module named ['\"]?([\w.]{1,200})")
_IS_ASSERTION = re.compile(r"^(?:[\w.]{0,200}\.)?Assert\w{0,40}\b|^assert\b|^expect\(", re.IGNORECASE)


@dataclass(frozen=True)
class _Symptom:
    """Words which show that the environment lacks something."""

    words: re.Pattern[str]
    cause: str
    fix: str
    confidence: float


def _build_symptom(words: str, cause: str, fix: str, confidence: float) -> _Symptom:
    return _Symptom(re.compile(words, re.IGNORECASE), cause, fix, confidence)


_SYMPTOMS = (
    _build_symptom(
        r"is not installed here\.$|there is no network here\.$",
        "The command could not run",
        "Install in `commands.setup` what it needs.",
        0.7,
    ),
    _build_symptom(
        r"command not found|executable file not found|No such file or directory: ['\"][\w.-]+['\"]$"
        r"|spawn \S{1,100} ENOENT",
        "A program that the test starts is not installed where the tests ran",
        "Install the program in `commands.setup`, or skip the test where it is missing.",
        0.6,
    ),
    _build_symptom(
        r"name resolution|Name or service not known|nodename nor servname|getaddrinfo"
        r"|\bENOTFOUND\b|\bEAI_AGAIN\b|no such host",
        "The test looks up a host, and there is no network where the tests ran",
        "Have the test talk to something it starts itself instead of a host outside.",
        0.7,
    ),
    _build_symptom(
        r"Connection ?refused|\bECONNREFUSED\b|Network is unreachable|\bENETUNREACH\b|No route to host",
        "The test connects to a service that was not running",
        "Have the test start the service itself, or skip the test where it is missing.",
        0.65,
    ),
    _build_symptom(
        r"No space left on device|\bENOSPC\b|Disk quota exceeded",
        "The disk was full",
        "Have the test write less, or ask the operator of Forge for more room.",
        0.7,
    ),
    _build_symptom(
        r"\bMemoryError\b|out of memory|Cannot allocate memory|\bENOMEM\b|OOMKilled|heap limit",
        "Memory ran out",
        "Have the test use less memory, or ask the operator of Forge for more.",
        0.6,
    ),
    _build_symptom(
        r"timed? ?out\b|\bTimeout\w{0,20}\b|deadline exceeded|\bETIMEDOUT\b",
        "The test took longer than allowed",
        "Find out what it waits for; if it is only slow, give it more time.",
        0.4,
    ),
    _build_symptom(
        r"(Permission denied|\bEACCES\b|\bEPERM\b|Read-only file system|Operation not permitted).{0,40}['\"]/",
        "The test needs something outside the repository that it has no right to",
        "Have the test use a temporary folder instead.",
        0.55,
    ),
)


def classify_failures(run: TestRun, paths: Collection[str]) -> tuple[Analysis, ...]:
    """The causes of the failures of a run, as far as their texts tell.

    :param paths: the files of the repository.
    """
    modules = find_own_modules(paths)
    return tuple(classify_failure(case, run.flaky, modules) for case in list_failures(run))


def classify_failure(case: TestCase, flaky: Collection[str] = (), modules: Collection[str] = ()) -> Analysis:
    """The cause of a failure, as far as its text tells.

    :param flaky: ids of the tests that passed when they were run again.
    :param modules: names of the repository's own modules; if one of them is missing, it is a bug and nothing to
        install.
    """
    line = find_exception_line(case)
    said = _make_analyser(case.id)
    if case.id in flaky:
        cause = f"It failed, and passed when it was run again: {line}"
        return said(
            FailureClass.flaky, cause, "Look for what differs between two runs: time, order, chance, leftovers.", 0.6
        )
    if missing := _FOUND_MISSING.search(line):
        return _explain_missing_module(said, missing[1], modules)
    if not _IS_ASSERTION.search(line):
        sign = next((sign for sign in _SYMPTOMS if sign.words.search(line)), None)
        if sign is not None:
            return said(FailureClass.environment, f"{sign.cause}: {line}", sign.fix, sign.confidence)
    return said(FailureClass.real_bug, line, "", 0.5)


def find_exception_line(case: TestCase) -> str:
    """The line that says what went wrong."""
    first = case.message.partition("\n")[0]
    if match := _EXCEPTION.search(first):
        return match[0].rstrip("\"' ") if match.start() else first
    details = case.details[-_LOOKED_AT:]
    raised = [
        match[1] for match in re.finditer(r"^E {1,7}(\S[^\n]{0,500})", details, re.MULTILINE)
    ]  # as pytest marks it
    thrown = _EXCEPTION.findall("\n".join(raised) or details)
    if thrown:
        return thrown[-1].strip()
    return first or next(iter(raised), "") or details.strip().partition("\n")[0][:500] or "It gives no reason."


def find_own_modules(paths: Collection[str]) -> frozenset[str]:
    """The names under which a repository's own Python modules may be imported: those of its files and folders."""
    files = (path.removesuffix(".py") for path in paths if path.endswith(".py"))
    return frozenset(part for file in files for part in file.split("/"))


_Analyser = Callable[[FailureClass, str, str, float], Analysis]


def _make_analyser(test_id: str) -> _Analyser:
    def analyse(failure_class: FailureClass, cause: str, fix: str, confidence: float) -> Analysis:
        return Analysis(
            test_id=test_id,
            failure_class=failure_class,
            root_cause=cause[:2_000],
            suggested_fix=fix,
            confidence=min(confidence, MOST_CONFIDENT),
        )

    return analyse


def _explain_missing_module(said: _Analyser, name: str, modules: Collection[str]) -> Analysis:
    if name.split(".")[0] in modules:
        cause = f"The repository's own module {name} cannot be imported"
        return said(FailureClass.real_bug, cause, "Correct the import, or add the module that is missing.", 0.6)
    cause = f"The module {name} is not installed where the tests ran"
    return said(FailureClass.environment, cause, "Install it in `commands.setup`, and name it as a dependency.", 0.7)
