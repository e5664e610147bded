"""Lets an agent build, check and test its draft: with the repository's own commands, and with the review's checks."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Container, Iterator, Sequence
from typing import Annotated

from pydantic import Field, StringConstraints

from agents.loop.tools.tool import Tool, ToolArguments, ToolEffect, ToolMistake
from agents.review.layers import CheckedChange
from agents.testing.failures import ShownFailures, render_failures
from domain.errors import CodeAccessError
from domain.review.findings import Finding, Layer
from domain.runs.testing import CaseOutcome, SuiteVerdict, TestRun, decide_verdict
from domain.text.escaping import flatten_text, strip_invisible
from domain.text.redaction import redact_outgoing
from messages.tests import explain_not_run
from workspace.draft import Draft

LINTER, SCAN = "run_linter", "run_security_scan"
MAX_CHECKS = 8
"""The most drafts of one task that are checked."""
_SHOWN, _MESSAGE = 40, 300  # findings, and characters of each
_DESCRIPTIONS = {
    LINTER: (
        "Runs the linters of Forge's review on what you changed, and lists what they find there. Call it when your "
        "edits are applied: what is left is sent back to you."
    ),
    SCAN: (
        "Searches what you changed for credentials and dangerous code, as Forge's review does. Call it when your edits "
        "are applied: what is left is sent back to you."
    ),
}
_LAYERS = {LINTER: Layer.static, SCAN: Layer.security}
_CHECKED_OFTEN = (
    "Your drafts were checked often enough for one task. Hand in what you have; the review checks it again."
)
CheckDraft = Callable[[str], Awaitable[CheckedChange]]
"""Runs the checks of the review on a commit."""

RUN_TESTS = "run_tests"
_DESCRIPTION = (
    "Sets the repository up, builds it, checks style and types, and runs the tests that the files you changed concern, "
    "or those you name, as far as it has commands for that. Takes up to minutes: call it when your edits are applied, "
    "not in between."
)
_SAME = "Nothing changed since you last asked, so it is the same:"
_UNKNOWN = "No such file: {}. Name files of tests as they are now, or leave `tests` out."
_OFTEN = "The tests ran often enough for one task. Hand in what you have; they are run once more afterwards."
_MOST_KNOWN = 20  # tests that are named
_LAST_LINES, _LONGEST_LINE = 5, 300  # of what a command without a report printed; characters of one
MAX_RUNS = 6
"""The most runs of one task before it waits for people; nothing else limits them within a turn."""
SECONDS = 300.0
"""The time limit of one run, including set-up and repeated tests."""

Test = Callable[[str, Sequence[str]], Awaitable[TestRun]]
"""Tests a commit: all that its change concerns, or only the named tests; raises no errors."""


class RunTests(ToolArguments):
    """What ``run_tests`` takes: which tests. With what they are run is for people to say."""

    tests: tuple[Annotated[str, StringConstraints(max_length=500, pattern=r"^[^\x00-\x1f\x7f]+$")], ...] = Field(
        default=(),
        max_length=20,
        description="Files of tests, such as tests/test_cart.py; for pytest also one test, such as "
        "tests/test_cart.py::test_total. Empty: all that your changes concern.",
    )


def make_run_tests(draft: Draft, test: Test, *, says_words: bool = True, seconds: float = SECONDS) -> Tool:
    """``run_tests`` on a draft with all diffs that were applied before the call.

    :param says_words: whether the model may see what tests print. An agent writes tests, and could make them print any
        file.
    :param seconds: the time limit of all commands of one call together.
    """
    answers: dict[tuple[str, tuple[str, ...]], str] = {}
    one_at_a_time = asyncio.Lock()

    async def run(arguments: RunTests) -> str:
        now = await draft.snapshot()
        _require_files(arguments.tests, now.files)
        asked = (now.commit, arguments.tests)
        async with one_at_a_time:
            if asked in answers:
                return f"{_SAME}\n{answers[asked]}"
            if len(answers) >= MAX_RUNS:
                raise ToolMistake(_OFTEN)
            answers[asked] = "\n".join(_describe_run(await _test_commit(test, *asked, seconds), says_words))
            return answers[asked]

    return Tool(RUN_TESTS, _DESCRIPTION, RunTests, run, ToolEffect.runs)


def _require_files(tests: Sequence[str], files: Container[str]) -> None:
    unknown = [test for test in tests if test.partition("::")[0] not in files]
    if unknown:
        raise ToolMistake(redact_outgoing(_UNKNOWN.format(unknown[0][:300])), _UNKNOWN)


async def _test_commit(test: Test, commit: str, tests: Sequence[str], seconds: float) -> TestRun:
    try:
        async with asyncio.timeout(seconds):
            return await test(commit, tests)
    except TimeoutError:
        return TestRun(not_run=f"Its commands did not end within {seconds:.0f} seconds, which says nothing about it.")


def _describe_run(run: TestRun, says_words: bool) -> Iterator[str]:
    """The verdict, how many tests ran and why these, the failures, and those that exist without the change."""
    yield _describe_verdict(run)
    yield from _count_tests(run)
    if run.selection:
        yield redact_outgoing(run.selection)
    if decide_verdict(run) is SuiteVerdict.not_run:
        yield redact_outgoing(run.not_run or explain_not_run(run))
    if says_words:
        yield from _show_ends(run)
    failed = ShownFailures.of(run)
    yield from render_failures(failed, {}) if says_words else _list_places(failed)
    if run.known and says_words:
        yield "These fail without the change, too; leave them:"
        yield from (f"- {redact_outgoing(name)}" for name in sorted(run.known)[:_MOST_KNOWN])


def _show_ends(run: TestRun) -> Iterator[str]:
    """What tests printed last that left no report and did not fail: how many ran stands there, if anywhere."""
    for command in run.without_report:
        if command not in run.failed_commands:
            lines = [line for line in redact_outgoing(strip_invisible(command.output)).split("\n") if line.strip()]
            yield f"{redact_outgoing(command.line)} left no report that can be read. It printed last:"
            yield from (f"> {line[:_LONGEST_LINE]}" for line in lines[-_LAST_LINES:] or ["(nothing)"])


def _count_tests(run: TestRun) -> Iterator[str]:
    """How many tests ended how; nothing where no report says so."""
    counts = Counter(case.outcome for case in run.cases)
    if counts:
        named = (
            (len(run.failures), "failed"),
            (counts[CaseOutcome.passed], "passed"),
            (len(run.flaky), "failed and passed when run again"),
            (len(run.known), "failed as without the change"),
            (counts[CaseOutcome.skipped], "skipped"),
        )
        yield f"Tests: {', '.join(f'{count:,} {what}' for count, what in named if count)}."


def _list_places(failed: ShownFailures) -> Iterator[str]:
    """Where something failed, without any of its output."""
    yield from (f"#{number} {case.where or 'a command'}" for number, case in enumerate(failed.shown, 1))
    if failed.shown:
        yield "[what they print is not shown, because files of this repository must not leave]"


def _describe_verdict(run: TestRun) -> str:
    match decide_verdict(run):
        case SuiteVerdict.passed if run.is_unconcerned:
            return "No test concerns what you changed."
        case SuiteVerdict.passed:
            return "Everything passed."
        case SuiteVerdict.failed:
            return "This failed:"
        case SuiteVerdict.no_tests:
            return "There are no tests here, so nothing says whether it works."
        case SuiteVerdict.not_run:
            return "Forge could not run the tests, so go on without them."


class NoArguments(ToolArguments):
    """What both tools take: nothing, because they look at all that changed."""


def make_check_tools(draft: Draft, check: CheckDraft) -> tuple[Tool, ...]:
    """``run_linter`` and ``run_security_scan`` on a draft with all edits that were applied before the call."""
    checked: dict[str, CheckedChange] = {}
    one_at_a_time = asyncio.Lock()

    async def load(commit: str) -> CheckedChange:
        async with one_at_a_time:
            if commit not in checked:
                if len(checked) >= MAX_CHECKS:
                    raise ToolMistake(_CHECKED_OFTEN)
                try:
                    checked[commit] = await check(commit)
                except CodeAccessError as error:
                    raise ToolMistake(f"Nothing was checked: {error}") from error
            return checked[commit]

    def make(name: str) -> Tool:
        async def run(_arguments: NoArguments) -> str:
            commit = (await draft.snapshot()).commit
            if commit == draft.base:
                return "You changed nothing yet."
            return redact_outgoing("\n".join(_describe_checks(await load(commit), _LAYERS[name])))

        return Tool(name, _DESCRIPTIONS[name], NoArguments, run, ToolEffect.runs)

    return make(LINTER), make(SCAN)


def _describe_checks(checked: CheckedChange, layer: Layer) -> Iterator[str]:
    found = sorted((each for each in checked.findings if each.layer is layer), key=lambda each: each.sort_key)
    yield f"{len(found):,} found:" if found else "Nothing was found."
    yield from (_render_finding(each) for each in found[:_SHOWN])
    if len(found) > _SHOWN:
        yield f"[{len(found) - _SHOWN:,} more are left out]"
    yield from _list_gaps(checked, layer)


def _render_finding(finding: Finding) -> str:
    place = finding.path if finding.line is None else f"{finding.path}:{finding.line}"
    message = flatten_text(finding.message)[:_MESSAGE]
    return f"- {place} {finding.rule} ({finding.severity.value}): {message}"


def _list_gaps(checked: CheckedChange, layer: Layer) -> Iterator[str]:
    """What was not looked at, because a tool failed or is missing."""
    reports = [report for report in checked.layers if report.layer is layer]
    problems: Sequence[str] = [tool.problem for report in reports for tool in report.tools if tool.problem]
    yield from (f"Not everything was checked: {' '.join(problem.split())[:_MESSAGE]}" for problem in problems)
