"""Renders the failures of a test run for a model: failed tests, and failed commands that no failed test explains."""

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
    TestCase,
    TestRun,
)
from domain.text.escaping import strip_invisible
from domain.text.redaction import Redact, redact_outgoing

MOST_TESTS = 10
MOST_COMMANDS = 5

_DETAILS = 2_000  # characters of the end of a trace or an output that are shown
_FIRST_LOOK = 300
_NAME = re.compile(r"[\w./@+-]{2,500}")


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
    failed: ShownFailures, looked: Mapping[str, Analysis], redact: Redact, never_send: Sequence[str] = ()
) -> Iterator[str]:
    """The lines that show the failures, each case under its number.

    :param looked: id of a test → its first analysis.
    :param redact: removes credentials from a text.
    :param never_send: glob patterns of files whose content must not be sent to a model.
    """
    for number, case in enumerate(failed.shown, 1):
        place = f" at {clean_name(case.where)}" if case.where else ""
        yield f"#{number} {clean_name(redact(case.id))}{place}"
        if _names_one_of(never_send, case):
            yield "[what it said is not shown: it names a file that is not sent to a model]"
        else:
            yield from _render_case(case, looked.get(case.id), redact)
    yield from note_omitted(failed.more_tests, "failed tests")
    yield from note_omitted(failed.more_commands, "failed commands")


def _render_case(case: TestCase, look: Analysis | None, redact: Redact) -> Iterator[str]:
    if look is not None:
        cause, said = (" ".join(redact(strip_invisible(text)).split()) for text in (look.root_cause, case.message))
        more = "" if cause in said else f": {cause[:_FIRST_LOOK]}"  # what it said follows
        yield f"First look: {look.failure_class.value}, confidence {look.confidence:.2f}{more}"
    yield from _quote(redact(strip_invisible(case.message)))
    yield from _quote(_end(redact(strip_invisible(case.details))))


def _names_one_of(never_send: Sequence[str], case: TestCase) -> bool:
    """Whether a test is in a withheld file, or its text names one and may therefore quote it.

    A trace names files from any folder above the repository, so every end of a path counts.
    """
    if not never_send:
        return False
    words = f"{case.id} {case.path or ''} {case.message} {case.details}"
    names = (name.split("/") for name in set(_NAME.findall(words)))
    return any(matches("/".join(parts[start:]), never_send) for parts in names for start in range(len(parts)))


def _end(text: str) -> str:
    return text if len(text) <= _DETAILS else "…" + text[-_DETAILS:]


def _quote(text: str) -> list[str]:
    """Marks each line, so that none looks like a heading or a note of Forge."""
    return [f"> {line}" for line in text.split("\n")] if text.strip() else []


def note_omitted(count: int, what: str) -> list[str]:
    """A line that says how many more there are; empty if there are none."""
    return [f"[{count:,} more {what} are left out]"] if count > 0 else []
