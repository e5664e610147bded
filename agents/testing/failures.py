"""Classifies failed tests by their error text, without a model, and renders failures for one."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agents.testing.absence import Absence, find_absence
from domain.globs import matches
from domain.paths import clean_name
from domain.runs.output_lines import pick_failures
from domain.runs.testing import (
    LONGEST_ID,
    LONGEST_MESSAGE,
    MAX_DETAILED,
    Analysis,
    CaseOutcome,
    CommandResult,
    FailureClass,
    TestCase,
    TestRun,
)
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing

MOST_TESTS = 10
MOST_COMMANDS = 5
_DETAILS = 2_000  # characters of the end of a trace or an output that are shown
_FIRST_LOOK = 300
_NAME = re.compile(r"[\w./@+-]{2,500}")

MOST_CONFIDENT = 0.7
"""The highest confidence that an error text alone can give."""

_LOOKED_AT = 10_000  # characters
_EXCEPTION = re.compile(
    r"\b(?:[A-Za-z_]\w{0,80}\.){0,8}[A-Za-z_]\w{0,80}(?:Error|Exception|Timeout|Expired|Exit|Interrupt|Failed)\b[^\n]{0,400}"
)
_FOUND_MISSING = re.compile(r"No module named ['\"]?([\w.]{1,200})")
_IS_ASSERTION = re.compile(r"^(?:[\w.]{0,200}\.)?Assert\w{0,40}\b|^assert\b|^expect\(", re.IGNORECASE)

_SYMPTOMS = (
    (
        r"is not installed here(?:, and `[^`]*` needs it)?\.$|there is no network here\.$",
        "The command could not run",
        "Install in `commands.setup` what it needs.",
        0.7,
    ),
    (
        (
            r"command not found|executable file not found|No such file or directory: ['\"][\w.-]+['\"]$"
            r"|spawn \S{1,100} ENOENT"
        ),
        "A program that the test starts is not installed where the tests ran",
        "Install the program in `commands.setup`, or skip the test where it is missing.",
        0.6,
    ),
    (
        (
            r"name resolution|Name or service not known|nodename nor servname|getaddrinfo"
            r"|\bENOTFOUND\b|\bEAI_AGAIN\b|no such host"
        ),
        "The test looks up a host, and there is no network where the tests ran",
        "Have the test talk to something it starts itself instead of a host outside.",
        0.7,
    ),
    (
        r"Connection ?refused|\bECONNREFUSED\b|Network is unreachable|\bENETUNREACH\b|No route to host",
        "The test connects to a service that was not running",
        "Have the test start the service itself, or skip the test where it is missing.",
        0.65,
    ),
    (
        r"No space left on device|\bENOSPC\b|Disk quota exceeded",
        "The disk was full",
        "Have the test write less, or ask the operator of Forge for more room.",
        0.7,
    ),
    (
        r"\bMemoryError\b|out of memory|Cannot allocate memory|\bENOMEM\b|OOMKilled|heap limit",
        "Memory ran out",
        "Have the test use less memory, or ask the operator of Forge for more.",
        0.6,
    ),
    (
        r"timed? ?out\b|\bTimeout\w{0,20}\b|deadline exceeded|\bETIMEDOUT\b",
        "The test took longer than allowed",
        "Find out what it waits for; if it is only slow, give it more time.",
        0.4,
    ),
    (
        r"(Permission denied|\bEACCES\b|\bEPERM\b|Read-only file system|Operation not permitted).{0,40}['\"]/",
        "The test needs something outside the repository that it has no right to",
        "Have the test use a temporary folder instead.",
        0.55,
    ),
)
"""What shows that the environment lacks something: words in any case, the cause, what to do, the confidence."""


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
    failure_class, cause, fix, confidence = _find_cause(case, find_exception_line(case), flaky, modules)
    return Analysis(
        test_id=case.id,
        failure_class=failure_class,
        root_cause=cause[:2_000],
        suggested_fix=fix,
        confidence=min(confidence, MOST_CONFIDENT),
    )


def _find_cause(
    case: TestCase, line: str, flaky: Collection[str], modules: Collection[str]
) -> tuple[FailureClass, str, str, float]:
    """The class of a failure, its cause, what to do, and how sure that is.

    :param line: that says what went wrong.
    """
    if case.id in flaky:
        advice = "Look for what differs between two runs: time, order, chance, leftovers."
        return FailureClass.flaky, f"It failed, and passed when it was run again: {line}", advice, 0.6
    if missing := _FOUND_MISSING.search(line):
        if missing[1].split(".")[0] in modules:
            cause = f"The repository's own module {missing[1]} cannot be imported"
            return FailureClass.real_bug, cause, "Correct the import, or add the module that is missing.", 0.6
        cause = f"The module {missing[1]} is not installed where the tests ran"
        return FailureClass.environment, cause, "Install it in `commands.setup`, and name it as a dependency.", 0.7
    if not _IS_ASSERTION.search(line):
        for words, cause, fix, confidence in _SYMPTOMS:
            if re.search(words, line, re.IGNORECASE):
                return FailureClass.environment, f"{cause}: {line}", fix, confidence
    return FailureClass.real_bug, line, "", 0.5


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


@dataclass(frozen=True)
class ShownFailures:
    """The failures to show, as far as they fit.

    :param shown: the cases, numbered from 1 in this order.
    :param more_tests: how many failed tests are not shown.
    :param more_commands: how many failed commands are not shown.
    """

    shown: tuple[TestCase, ...]
    more_tests: int = 0
    more_commands: int = 0

    @classmethod
    def of(cls, run: TestRun, far: Callable[[TestCase], int] = lambda _case: 0) -> "ShownFailures":
        """The failures of a run.

        :param far: the distance of a test from the change; the nearest come first.
        """
        failed = run.failures
        tests = sorted(failed[:MAX_DETAILED], key=far)[:MOST_TESTS]
        commands = _list_failed_commands(run, {case.id for case in failed})
        shown = (*tests, *commands[:MOST_COMMANDS])
        return cls(shown, len(failed) - len(tests), max(0, len(commands) - MOST_COMMANDS))


def list_failures(run: TestRun) -> tuple[TestCase, ...]:
    """The first failed tests, and a case for each failed command that none of them explains.

    Such a case has the command's line as its id.
    """
    tests = run.failures
    return (*tests[:MAX_DETAILED], *_list_failed_commands(run, {case.id for case in tests}))


def _list_failed_commands(run: TestRun, failed: Collection[str]) -> tuple[TestCase, ...]:
    """A case for each failed command that no failed test explains.

    :param failed: ids of the tests that failed.
    """
    unique: dict[str, TestCase] = {}
    for command in run.failed_commands:
        absence = find_absence(command)
        if absence is not None and command.kind in {"test", "retry"}:
            continue  # it ran no test, so nothing failed
        case = _to_case(command, absence)
        if case.id not in failed and not any(each.outcome.is_bad and each.id in failed for each in command.cases):
            unique.setdefault(case.id, case)
    return tuple(unique.values())


def _to_case(command: CommandResult, absence: Absence | None) -> TestCase:
    ended = "timed out or was stopped" if command.exit_status is None else f"ended with status {command.exit_status}"
    return TestCase(
        id=command.line[:LONGEST_ID] or command.kind,
        outcome=CaseOutcome.error,
        message=str(absence or f"The {command.kind} command {ended}, and no failed test says why.")[:LONGEST_MESSAGE],
        details="" if absence else pick_failures(redact_outgoing(strip_invisible(command.output)), _DETAILS),
    )


def render_failures(
    failed: ShownFailures, looked: Mapping[str, Analysis], never_send: Sequence[str] = ()
) -> Iterator[str]:
    """The lines that show the failures, each case under its number.

    :param looked: id of a test → its first analysis.
    :param never_send: glob patterns of files whose content must not be sent to a model.
    """
    for number, case in enumerate(failed.shown, 1):
        place = f" at {clean_name(case.where)}" if case.where else ""
        yield f"#{number} {clean_name(redact_outgoing(case.id))}{place}"
        if _names_one_of(never_send, case):
            yield "[what it said is not shown: it names a file that is not sent to a model]"
        else:
            yield from _render_case(case, looked.get(case.id))
    yield from note_omitted(failed.more_tests, "failed tests")
    yield from note_omitted(failed.more_commands, "failed commands")


def _render_case(case: TestCase, look: Analysis | None) -> Iterator[str]:
    if look is not None:
        words = (redact_outgoing(strip_invisible(text)).split() for text in (look.root_cause, case.message))
        cause, said = map(" ".join, words)
        more = "" if cause in said else f": {cause[:_FIRST_LOOK]}"  # what it said follows
        yield f"First look: {look.failure_class.value}, confidence {look.confidence:.2f}{more}"
    yield from _quote(redact_outgoing(strip_invisible(case.message)))
    yield from _quote(_end(redact_outgoing(strip_invisible(case.details))))


def _names_one_of(never_send: Sequence[str], case: TestCase) -> bool:
    """Whether a test is in a withheld file, or its text names one and may therefore quote it.

    A trace names files from any folder above the repository, so every end of a path counts.
    """
    if not never_send:
        return False
    words = f"{case.id} {case.path or ''} {case.message} {case.details}"
    found: set[str] = set(_NAME.findall(words))
    names = (name.split("/") for name in found)
    return any(matches("/".join(parts[start:]), never_send) for parts in names for start in range(len(parts)))


def _end(text: str) -> str:
    return text if len(text) <= _DETAILS else "…" + text[-_DETAILS:]


def _quote(text: str) -> list[str]:
    """Marks each line, so that none looks like a heading or a note of Forge."""
    return [f"> {line}" for line in text.split("\n")] if text.strip() else []


def note_omitted(count: int, what: str) -> list[str]:
    """A line that says how many more there are; empty if there are none."""
    return [f"[{count:,} more {what} are left out]"] if count > 0 else []
