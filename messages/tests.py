"""Every text about a run of the tests: what was run and why, what failed and what it means, what to do next."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.errors import ForgeError
from domain.review.avoidance import AvoidanceKind
from domain.runs.coverage import CoverageComparison, CoveredShare, Obstacle
from domain.runs.earlier_tests import NOTHING_EARLIER, EarlierTests
from domain.runs.output_lines import list_errors, pick_failures, pick_sum, pick_telling_line
from domain.runs.patches import RequiredFix
from domain.runs.testing import (
    LONGEST_ID,
    MAX_DETAILED,
    Analysis,
    CaseOutcome,
    CommandResult,
    DiffCoverage,
    FailureClass,
    SuiteVerdict,
    TestCase,
    TestRun,
    decide_verdict,
)
from domain.text.escaping import code_block, escape, inline_code, inline_path, name_count, strip_invisible
from domain.text.redaction import redact_outgoing
from messages.earlier_tests import render_section
from messages.review import CheckText

CHECK_NAME = "Forge / test"

_LONGEST = 60_000  # characters; GitHub takes 65,535
_FAILURES = 40
_FLAKY = 20
_FILES = 20  # whose uncovered lines are named
_RANGES = 12  # of them, per file
_ANALYSES = 10
_SAME = 3  # tests of one cause that are named
_OUTPUT = 3_000  # characters of what a command printed at its end


@dataclass(frozen=True)
class CoverageReport:
    """How the coverage of a head compares with that of its base.

    :param compared: None if it was not compared; :param obstacle: why not, where one side has coverage.
    :param needs_person: whether a person has to look at what was lost.
    """

    compared: CoverageComparison | None = None
    obstacle: Obstacle | None = None
    needs_person: bool = False


def explain_all_tests(seconds: float) -> str:
    """Why all tests run, whatever the change concerns.

    :param seconds: how long they took on the base.
    """
    return f"All tests, to compare the coverage with that of the base, where they took {seconds:.0f} s."


QUEUED = CheckText("Waiting to be tested", "The tests start as soon as a worker is free.")


def render_progress(doing: str) -> CheckText:
    """While the tests run.

    :param doing: a few words of Forge's own.
    """
    return CheckText(doing, f"{doing}. Forge updates this check as the tests proceed.")


def render_outcome(
    run: TestRun,
    analyses: Sequence[Analysis] = (),
    *,
    proposes: bool = False,
    weakened: Sequence[RequiredFix] = (),
    earlier: EarlierTests = NOTHING_EARLIER,
    unexplained: str = "",
    coverage: "CoverageReport | None" = None,
) -> CheckText:
    """The finished check run.

    :param analyses: what the failures mean, as far as anybody looked.
    :param proposes: whether Forge goes on to write tests where there are none.
    :param weakened: where the change gives up in disguise.
    :param earlier: what the tests of before say.
    :param unexplained: why a model that was to explain the failures did not, and what to do.
    :param coverage: how the coverage compares with that of the base.
    """
    came_to = decide_verdict(run)
    coverage = coverage or CoverageReport()
    parts = [
        _describe_result(run, came_to),
        f"**Next:** {_next(run, came_to, analyses, proposes, coverage)}",
        _failures(run),
        render_section(earlier),
        _list_weakened([each for each in weakened if each.rule != AvoidanceKind.failure_hidden.rule]),
        _analyses(analyses, unexplained),
        _list_known(run),
        _flaky(run),
        _coverage(run, coverage),
        _commands(run),
    ]
    number = len(earlier.lost)
    lost = f"; {number:,} of before {'fails' if number == 1 else 'fail'}" if number else ""
    title = f"{_title(run, came_to)}{lost}{_describe_fall(coverage)}"
    return CheckText(title, _join(parts), _outputs(run))


UNREVIEWED = "All tests: this head has no verdict yet, so its risk is not known."


def render_failure(error: ForgeError) -> CheckText:
    """Where Forge itself did not get through."""
    return CheckText(
        "Forge could not run the tests",
        f"**What happened:** {escape(str(error), 800)}\n\n**Next:** write `/forge test` to try again.",
    )


def render_cancelled(by: str) -> CheckText:
    """Where nobody waits for the result any more: a push, a close, a person who stopped it.

    :param by: that person; empty if it was something else.
    """
    other = "Something newer started, the pull request ended, or a person stopped what runs here."
    why = f"{inline_code(by)} stopped the tests with `/forge cancel`." if by else other
    return CheckText(
        "Testing stopped early", f"**What happened:** {why}\n\n**Next:** write `/forge test` to test this head."
    )


def render_paused(by: str) -> CheckText:
    """Where Forge does nothing in the repository."""
    return CheckText(
        "Not tested: Forge is paused",
        f"**What happened:** {inline_code(by)} paused Forge in this repository.\n\n"
        "**Next:** after `/forge unpause`, write `/forge test`.",
    )


# --- what happened and what to do --------------------------------------------------------------------------


def render_line(run: TestRun) -> str:
    """What a run came to, in one line; with the reason where nobody knows."""
    came_to = decide_verdict(run)
    title = _title(run, came_to)
    excused = [each for each in run.commands if each.is_excused and not each.cases]
    before = "; ".join(_describe_failure(each, " without the change, too") for each in excused[:_SAME])
    if came_to is SuiteVerdict.not_run:
        why = before or (run.not_run or explain_not_run(run)).rstrip(".")
        return why if before else f"{title}: {why}{_tell_remedy(run)}"
    return f"{title}; {before}" if before else title


def render_failed_before(run: TestRun) -> str:
    """The outcome of tests of a merge of which none passes on a side: what failed, why, and how many passed."""
    if not run.failures:
        return "; ".join(_describe_failure(each, ", on each side as well") for each in run.failed_commands[:_SAME])
    named = ", ".join(inline_code(each.id, 120) for each in run.failures[:_SAME])
    more = f" and {len(run.failures) - _SAME:,} more" if len(run.failures) > _SAME else ""
    passed = sum(case.outcome is CaseOutcome.passed for case in run.cases)
    cause = pick_telling_line(_message(run.failures[0], run))
    return (
        f"{name_count(len(run.failures), 'test')} failed, on each side as well: {named}{more} "
        f"(the first: {inline_code(cause, 200)}); {passed:,} passed"
    )


def _describe_failure(command: CommandResult, where: str) -> str:
    """Which command fails, where else, and what it says of that, as a clause."""
    said = pick_sum(_clean(command.output))
    ended = "it does not end" if command.exit_status is None else f"exit status {command.exit_status}"
    told = f", {inline_code(said, 200)}" if said else ""
    return f"{inline_code(command.line, 160)} fails{where}: {ended}{told}"


def _tell_remedy(run: TestRun) -> str:
    return f"; {_SETUP} can install it" if not run.not_run and run.is_only_excused and _find_lacking(run) else ""


def _title(run: TestRun, came_to: SuiteVerdict) -> str:
    match came_to:
        case SuiteVerdict.not_run:
            return "Forge could not run the tests"
        case SuiteVerdict.no_tests:
            return "No tests found"
        case SuiteVerdict.failed if run.failures:
            return f"{name_count(len(run.failures), 'test')} failed"
        case SuiteVerdict.failed:
            return f"{name_count(len(run.failed_commands), 'command')} failed"
        case SuiteVerdict.passed:
            return _success_title(run)


def _success_title(run: TestRun) -> str:
    if run.is_unconcerned:
        return "Passed: no test concerns this change"
    if not run.cases:
        return f"Tests passed (no report{f', {len(run.flaky)} flaky' if run.flaky else ''})"
    ran = [case for case in run.cases if case.id in run.flaky or case.outcome is CaseOutcome.passed]
    expected = sum(case.is_expected for case in run.cases)
    skipped = sum(case.outcome is CaseOutcome.skipped for case in run.cases) - expected
    parts = [
        name_count(len(ran), "test"),
        f"{len(run.flaky)} of them flaky" if run.flaky else "",
        f"{skipped:,} skipped" if skipped else "",
        f"{expected:,} failed as expected" if expected else "",
        f"{len(run.known):,} also {'fails' if len(run.known) == 1 else 'fail'} without this change"
        if run.known
        else "",
    ]
    return f"Passed: {', '.join(filter(None, parts))}"


def _describe_result(run: TestRun, came_to: SuiteVerdict) -> str:
    chosen = escape(run.selection, 800)
    if came_to is SuiteVerdict.not_run:
        return f"**What happened:** {escape(run.not_run, 800) or explain_not_run(run)}"
    if came_to is SuiteVerdict.no_tests:
        why = _explain_no_tests(run)
        return f"**What happened:** {why}, so nothing shows whether this change works. {chosen}".rstrip()
    if came_to is SuiteVerdict.failed and not run.failures:
        return f"**What happened:** {_describe_end(run.failed_commands[0])} {chosen}".rstrip()
    return chosen


def _explain_no_tests(run: TestRun) -> str:
    """Why nothing ran, as a clause: what stands there may still have tests that Forge does not know how to run."""
    if run.test_commands:
        return f"{inline_code(run.test_commands[0].line, 160)} found no tests"
    return "Forge found no tests for this change that it can run by itself"


def explain_not_run(run: TestRun) -> str:
    """Why nobody knows whether the tests pass."""
    if failed := _find_failed_setup(run):
        return _describe_end(failed)
    if unproven := next((each for each in run.test_commands if each.is_unproven), None):
        return (
            f"{inline_code(unproven.line, 160)} ended with success but left no readable "
            "report, so Forge does not "
            f"know what it tested. {escape(unproven.report_problem, 160)}"
        )
    if run.is_only_excused:
        if lacking := _find_lacking(run):
            return f"{inline_code(lacking, 80)} is missing here, so no test can be loaded, with or without this change."
        return "every test that concerns this change fails without it, too, so nothing shows whether it works."
    if run.is_all_skipped:
        return f"all tests were skipped ({len(run.cases):,}), so nothing shows whether this change works."
    return "Forge could not start the tests."


def _find_lacking(run: TestRun) -> str | None:
    """What all tests that fail with and without the change say is not installed."""
    failed = [case for case in run.cases if case.id in run.known]
    named = [_MISSING.search(f"{case.message}\n{case.details}") for case in failed]
    names = {next(filter(None, found.groups())) if found else "" for found in named}
    return names.pop() or None if len(names) == 1 else None


_MISSING = re.compile(
    r"No module named '([\w.]+)'|Cannot find (?:module|package) '([^'\n]{1,200})'"
    r"|cannot load such file -- ([^\s]{1,200})"
)


def _find_failed_setup(run: TestRun) -> CommandResult | None:
    return next((each for each in run.commands if each.kind == "setup" and not each.is_successful), None)


def _describe_end(command: CommandResult) -> str:
    """How a command ended, and what is odd about it."""
    name = inline_code(command.line, 160)
    if command.exit_status is None:
        return f"{name} did not finish: it took too long or was stopped."
    claims_success = bool(command.cases) and not any(case.outcome.is_bad for case in command.cases)
    told = ", although its report says that all tests passed" if claims_success else ""
    errors = list_errors(_clean(command.output))
    error = f" It says {inline_code(errors[-1], 200)}." if errors else ""
    return f"{name} ended with exit status {command.exit_status}{told}.{error}"


def _next(
    run: TestRun, came_to: SuiteVerdict, analyses: Sequence[Analysis], proposes: bool, coverage: CoverageReport
) -> str:
    match came_to:
        case SuiteVerdict.passed if coverage.needs_person and coverage.compared is None:
            return "let the tests leave a coverage report that can be read, as those of the base do, and push."
        case SuiteVerdict.passed if coverage.needs_person:
            return (
                "bring back the tests of the lines named below, or add others that run them, and push. Where the loss "
                "is right, a maintainer decides: nothing else stands in the way of a merge. `avoidance.coverage_lost: "
                "note` in `.github/forge.yml` on the default branch makes it a note."
            )
        case SuiteVerdict.not_run if run.is_all_skipped:
            return "make sure that tests for this change are not skipped, then write `/forge test`."
        case SuiteVerdict.not_run:
            return f"{_next_to_run(run)}, then write `/forge test`."
        case SuiteVerdict.no_tests if proposes:
            return (
                "Forge proposes tests. If the repository has tests, set their command in `commands.test` in "
                "`.github/forge.yml`."
            )
        case SuiteVerdict.no_tests:
            return (
                "add tests. If the repository has tests, set their command in `commands.test` in `.github/forge.yml`."
            )
        case SuiteVerdict.failed if _is_only_environment(run, analyses):
            return f"{_next_for_environment(analyses)}, then write `/forge test`."
        case SuiteVerdict.failed:
            return "fix the failures and push. The details show the output of the commands."
        case SuiteVerdict.passed if run.known:
            return "nothing for this change. The tests below already fail without it; fix them separately."
        case SuiteVerdict.passed if run.flaky:
            return "nothing for this change. The flaky ones below fail now and then."
        case SuiteVerdict.passed:
            has_uncovered = run.diff_coverage is not None and bool(run.diff_coverage.uncovered)
            return "nothing." if not has_uncovered else "nothing has to be done. No test runs the lines below."


_SETUP = "`commands.setup` in `.github/forge.yml` on the default branch"
_INSTALL = f"install what is missing with {_SETUP}"


def _next_for_environment(analyses: Sequence[Analysis]) -> str:
    """What lets tests run that lack something here: what was found out of them, where somebody looked."""
    fixes = {each.suggested_fix for each in analyses if each.suggested_fix}
    if len(fixes) == 1:
        return escape(fixes.pop(), 400).rstrip(".")
    return "do what is suggested below for each of them" if fixes else _INSTALL


def _next_to_run(run: TestRun) -> str:
    """What lets tests run that could not."""
    if run.not_run or not run.is_only_excused:
        is_of_setup = not run.not_run and _find_failed_setup(run) is not None
        return f"fix {_SETUP if is_of_setup else 'the problem named above'}"
    return _INSTALL if _find_lacking(run) else "see below why these tests fail, and fix that on the base branch"


def _is_only_environment(run: TestRun, analyses: Sequence[Analysis]) -> bool:
    lacking = {each.test_id for each in analyses if each.failure_class is FailureClass.environment}
    failed = [case.id for case in run.failures[:MAX_DETAILED]]
    failed = failed or [command.line[:LONGEST_ID] for command in run.failed_commands]
    return bool(failed) and all(each in lacking for each in failed)


# --- sections ----------------------------------------------------------------------------------------------


def _failures(run: TestRun) -> str:
    rows = [
        f"| {inline_code(case.id, 120)} | {inline_path(case.where, 120) if case.where else ''} | "
        f"{escape(_message(case, run), 160)} |"
        for case in run.failures[:_FAILURES]
    ]
    head = ["| test | where | what |", "| --- | --- | --- |"]
    return _section("### Failures", [*head, *rows] if rows else [], len(run.failures) - len(rows))


_SAYS_NOTHING = frozenset({"", "test failed", "collection failure"})
"""What Node and pytest report of a file that cannot be loaded, besides what they print."""


def _message(case: TestCase, run: TestRun) -> str:
    if case.message in _SAYS_NOTHING and (why := _find_load_error(case, run)):
        return why
    return case.message or strip_invisible(case.details).strip().partition("\n")[0] or "It gives no reason."


def _find_load_error(case: TestCase, run: TestRun) -> str:
    """Why a file of tests could not be loaded; empty if that is not known for sure."""
    if own := list_errors(strip_invisible(case.details)):
        return own[-1]
    mute = [each for each in run.failures if each.message in _SAYS_NOTHING]
    printed = [line for each in run.failed_commands for line in list_errors(_clean(each.output))]
    named = [line for line in printed if case.path and case.path in line]
    return named[0] if named else printed[0] if printed and len(mute) == 1 else ""


def _list_weakened(taken: Sequence[RequiredFix]) -> str:
    rows = [
        f"- {f'{inline_path(_where(each), 160)}: ' if each.path else ''}{escape(each.message, 400)}"
        for each in taken[:_FILES]
    ]
    return _section("### What hides a failure instead of mending it", rows, len(taken) - len(rows))


def _where(each: RequiredFix) -> str:
    return f"{each.path}:{each.line}" if each.line else each.path


_MEANS: Mapping[FailureClass, str] = {
    FailureClass.real_bug: "a bug in the code or in the test",
    FailureClass.flaky: "flaky",
    FailureClass.environment: "the environment lacks something",
}


def _analyses(analyses: Sequence[Analysis], unexplained: str) -> str:
    """One row per cause: failures with the same one stand together."""
    guessed = f"Only a first look, without a model. {escape(unexplained)}" if unexplained else ""
    causes: dict[tuple[FailureClass, str], list[Analysis]] = {}
    for each in sorted(analyses, key=lambda each: -each.confidence):
        causes.setdefault((each.failure_class, each.root_cause), []).append(each)
    rows = [
        f"- {_name_tests(same)}: {_MEANS[same[0].failure_class]}, confidence {same[0].confidence:.0%}. "
        f"{escape(same[0].root_cause, 300)}{_fix(same[0])}"
        for same in list(causes.values())[:_ANALYSES]
    ]
    shown = [*([guessed, ""] if guessed else []), *rows]
    return _section("### What it means", shown, len(causes) - len(rows))


def _name_tests(same: Sequence[Analysis]) -> str:
    """The tests that fail for one cause; the first few by name."""
    named = ", ".join(inline_code(each.test_id, 120) for each in same[:_SAME])
    more = len(same) - _SAME
    return f"{named} and {more} more" if more > 0 else named


def _fix(analysis: Analysis) -> str:
    return f" **Suggested:** {escape(analysis.suggested_fix, 300)}" if analysis.suggested_fix else ""


def _flaky(run: TestRun) -> str:
    rows = [f"- {inline_code(each, 160)}" for each in run.flaky[:_FLAKY]]
    intro = ["These failed, then passed on the same code.", ""]
    return _section("### Flaky", [*intro, *rows] if rows else [], len(run.flaky) - len(rows))


def _list_known(run: TestRun) -> str:
    rows = [f"- {inline_code(each, 160)}" for each in run.known[:_FLAKY]]
    intro = ["These fail on the base as well, so they do not count against this change.", ""]
    return _section("### Also fails without this change", [*intro, *rows] if rows else [], len(run.known) - len(rows))


def _describe_fall(coverage: CoverageReport) -> str:
    """For the title."""
    if coverage.compared is None or not coverage.needs_person:
        return ""
    return f"; coverage fell by {coverage.compared.fall:.1f} points"


def _coverage(run: TestRun, coverage: CoverageReport) -> str:
    rows: list[str] = []
    if run.coverage is not None:
        rows += [
            f"- {name}: {covered:,} of {total:,} ({covered / total:.0%})"
            for name, (covered, total) in (
                ("Lines of the files measured", run.coverage.lines),
                ("Branches", run.coverage.branches),
                ("Functions", run.coverage.functions),
            )
            if total
        ]
    if run.diff_coverage is not None:
        rows = [_diff(run.diff_coverage), *rows, *_list_uncovered(run.diff_coverage)]
    if coverage.compared is not None:
        rows = [*_list_compared(coverage.compared), *rows]
    elif coverage.obstacle is not None:
        rows = [f"- Not compared with the base: {_OBSTACLES[coverage.obstacle]}", *rows]
    return _section("### Coverage", rows)


_OBSTACLES: Mapping[Obstacle, str] = {
    Obstacle.selected: "only the tests that concern this change ran, and all of them would take too long.",
    Obstacle.unproven: "tests failed, or only passed when run again, and a failing test runs fewer lines than it will.",
    Obstacle.no_report: "the tests of the base left a coverage report, those of this head none.",
    Obstacle.unreadable: "the coverage report of this head cannot be read, or names no line.",
    Obstacle.no_base: "the tests of the base left no coverage report.",
    Obstacle.too_slow: "it has not been measured, and testing it as well would take too long.",
    Obstacle.other_commands: "other commands test it.",
}


def _list_compared(compared: CoverageComparison) -> list[str]:
    """Before and after, and what was lost where."""
    kept = [_show_change("Of the lines that stay", compared.kept_before, compared.kept_after)]
    lost = [
        f"- No longer run in {inline_code(each.path, 120)}: {format_ranges(each.lost)}"
        f"{', as the report does not name the file any more' if each.is_unnamed else ''}"
        for each in compared.losses
        if each.lost
    ]
    left_out = [f"- Run before and not measured any more: {name_count(compared.left_out, 'line')}"]
    unknown = [f"- Not compared, since their change was not read: {name_count(compared.unknown, 'file')}"]
    return [
        _show_change("Lines of the program", compared.before, compared.after),
        *(kept if compared.kept_before.total else []),
        *lost,
        *(left_out if compared.left_out else []),
        *(unknown if compared.unknown else []),
    ]


def _show_change(what: str, before: CoveredShare, after: CoveredShare) -> str:
    return (
        f"- {what}: {before.covered:,} of {before.total:,} ({before.percent:.1f} %) before, {after.covered:,} of "
        f"{after.total:,} ({after.percent:.1f} %) now: "
        f"{after.percent - before.percent:+.1f} points"
    )


def _diff(coverage: DiffCoverage) -> str:
    if coverage.share is None:
        return "- Lines this change adds: none was measured"
    return f"- Lines this change adds: {coverage.covered:,} of {coverage.total:,} ({coverage.share:.0%})"


def _list_uncovered(coverage: DiffCoverage) -> list[str]:
    files = list(coverage.uncovered.items())
    rows = [f"- Not run in {inline_code(path, 120)}: {format_ranges(lines)}" for path, lines in files[:_FILES]]
    rows += [f"- Not measured: {inline_code(path, 120)}" for path in coverage.unmeasured[:_FILES]]
    left = max(len(files) - _FILES, 0) + max(len(coverage.unmeasured) - _FILES, 0)
    return [*rows, f"- and {name_count(left, 'more file')}"] if left else rows


def format_ranges(lines: Sequence[int]) -> str:
    """Line numbers for people: ``3–5, 9``.

    :param lines: ascending.
    """
    spans: list[tuple[int, int]] = []
    for line in lines:
        if spans and line == spans[-1][1] + 1:
            spans[-1] = spans[-1][0], line
        else:
            spans.append((line, line))
    shown = [f"{first}" if first == last else f"{first}–{last}" for first, last in spans[:_RANGES]]
    more = [f"and {len(spans) - _RANGES} more places"] if len(spans) > _RANGES else []
    return ", ".join([*shown, *more])


def _commands(run: TestRun) -> str:
    rows = [
        f"| {command.kind} | {inline_code(command.line, 160)} | {_status(command)} | {command.seconds:.1f} s |"
        for command in run.commands[:_FLAKY]
    ]
    head = ["| | command | how it ended | time |", "| --- | --- | --- | --- |"]
    return _section("### What ran", [*head, *rows] if rows else [], len(run.commands) - len(rows))


def _status(command: CommandResult) -> str:
    ended = "did not finish" if command.exit_status is None else f"exit status {command.exit_status}"
    if command.is_excused:
        ended += (
            ", only because of tests that are flaky or fail without this change"
            if command.cases
            else ", as it does without this change"
        )
    if command.report_problem:
        return f"{ended}; {escape(command.report_problem, 160)}"
    if command.has_no_tests:
        return f"{ended}; no tests"
    if command.kind in {"test", "retry"}:
        return f"{ended}; {name_count(len(command.cases), 'test') if command.cases else 'no report'}"
    return ended


_LINE_TIMES = re.compile(r"\d+(?:\.\d+)? ?m?s\b")


def _outputs(run: TestRun) -> str:
    """What the commands printed that did not succeed: the lines that name failures, and the end."""
    first = {
        _LINE_TIMES.sub("", command.output): command for command in reversed(run.commands)
    }  # a retry says it again
    failed = [command for command in run.commands if not command.is_successful and command.output]
    failed = [command for command in failed if first[_LINE_TIMES.sub("", command.output)] is command]
    parts = [
        f"### {inline_code(each.line, 160)}\n\n{code_block(pick_failures(_clean(each.output), _OUTPUT))}"
        for each in failed[:8]
    ]
    return _join(parts)


def _clean(output: str) -> str:
    return redact_outgoing(strip_invisible(output))


def _section(heading: str, rows: Sequence[str], left: int = 0) -> str:
    """Rows under a heading, nothing where there are none; ``left`` are not shown."""
    more = ["", f"and {left:,} more"] if left > 0 else []
    return "\n".join([heading, "", *rows, *more]) if rows else ""


def _join(parts: Sequence[str]) -> str:
    """As many of the parts, from the first, as GitHub takes."""
    kept: list[str] = []
    for part in filter(None, parts):
        if sum(map(len, kept)) + len(part) + 2 * len(kept) > _LONGEST:
            kept.append("The rest is too long to show.")
            break
        kept.append(part)
    return "\n\n".join(kept)
