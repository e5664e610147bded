"""Every text about how a repository's commands end before anything is changed."""

from collections.abc import Sequence

from domain.runs.baseline import Baseline
from domain.runs.testing import Analysis, CommandResult, FailureClass, TestRun
from domain.text.escaping import escape, inline_code, strip_invisible
from domain.verdicts import Reason

PROMPT = (
    "The tests of this repository show nothing where Forge runs them. Shall it go on all the same, with a draft whose "
    "tests did not run?"
)
_LINE, _SAID = 160, 300  # characters that are shown
_NAMED = 5  # failed tests that are named
_SETUP = (
    "To have them run: name in `commands.setup` in .github/forge.yml on the default branch what installs what they "
    "need. With `commands.network: true` it reaches the registry that the operator of Forge names "
    "(FORGE_SANDBOX_PROXY). Then write /forge run."
)
_WORKFLOWS = "Or have the repository's own workflows test: `testing.runner: actions`."


def explain_lack(run: TestRun, analyses: Sequence[Analysis]) -> str:
    """Why the tests show nothing, in one sentence of plain text.

    :param run: of all tests on the base, which shows nothing.
    :param analyses: what its failures mean.
    """
    if run.not_run:
        return run.not_run
    if failed := next((each for each in run.commands if each.kind == "setup" and not each.is_successful), None):
        return f"{_describe_end('The set-up', failed)}{_quote_last_line(failed)}"
    if unproven := next((each for each in run.test_commands if each.is_unproven), None):
        return f"`{unproven.line[:_LINE]}` left no report that can be read."
    if run.is_all_skipped:
        return "All tests are skipped."
    if run.cases:
        count = len(run.failures)
        cause = next((each.root_cause for each in analyses if each.failure_class is not FailureClass.flaky), "")
        fails = "The only test fails" if count == 1 else f"All {count:,} tests fail"
        return f"{fails} already, before anything is changed{f': {cause[:_SAID]}' if cause else ''}."
    command = run.test_commands[0]
    return f"{_describe_end('The command for tests', command)}{_quote_last_line(command)}"


def list_reasons(baseline: Baseline) -> tuple[Reason, ...]:
    """Why people are asked, and what they can do instead."""
    advice = tuple(Reason(code="help.advice", text=text) for text in (_SETUP, _WORKFLOWS))
    return (Reason(code="help.untestable", text=baseline.lacks.rstrip("."), children=advice),)


def render_note(baseline: Baseline) -> str:
    """What people should know beside the progress of the run; empty where everything works."""
    if baseline.lacks:
        return f"**Before any change** the tests show nothing here: {escape(baseline.lacks, 500)}"
    failing, checks = baseline.failing, baseline.list_failed_checks()
    named = ", ".join(inline_code(name, _LINE) for name in failing[:_NAMED])
    more = f" and {len(failing) - _NAMED:,} more" if len(failing) > _NAMED else ""
    tests = f"{_count_tests(len(failing))} already: {named}{more}" if failing else ""
    ended = ", ".join(inline_code(check.line, _LINE) for check in checks)
    commands = f"{ended} {'fails' if len(checks) == 1 else 'fail'} already" if checks else ""
    told = "; ".join(filter(None, (tests, commands)))
    return f"**Before any change** {told}. This does not count against the work on the issue." if told else ""


def _count_tests(count: int) -> str:
    return "1 test fails" if count == 1 else f"{count:,} tests fail"


def _describe_end(what: str, command: CommandResult) -> str:
    name = f"{what} `{command.line[:_LINE]}`"
    if command.exit_status is None:
        return f"{name} does not end: it takes too long or is stopped."
    return f"{name} ends with exit status {command.exit_status}."


def _quote_last_line(command: CommandResult) -> str:
    """The last line that a command printed, which mostly says what is wrong."""
    lines = [line for line in strip_invisible(command.output).splitlines() if line.strip()]
    return f" It says: {lines[-1].strip()[:_SAID]}" if lines else ""
