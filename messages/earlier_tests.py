"""Every text about how commands and tests ended before a change, and what the tests of then say after it."""

from collections.abc import Sequence

from domain.review.findings import Finding
from domain.runs.earlier_tests import (
    LONGEST_CELL,
    MOST_TOLD,
    Baseline,
    EarlierOutcome,
    EarlierTest,
    EarlierTests,
    Fate,
    list_gone_names,
)
from domain.runs.testing import Analysis, CommandResult, FailureClass, TestRun
from domain.text.escaping import code_block, escape, flatten_text, inline_code, inline_path, name_count, strip_invisible
from domain.text.redaction import redact_outgoing
from domain.verbs import Verb, find_role
from domain.verdicts import Reason

PROMPT = (
    "The tests of this repository show nothing where Forge runs them. Shall it go on all the same, with a draft whose "
    "tests did not run?"
)


HEADING = "### The tests of before, on the new code"
ACTIONS = (
    "This change touches tests. The repository's own workflows run tests here, and Forge does not "
    "(`testing.runner: actions`). So it cannot know what the tests of before say of the new code."
)
UNASKED_FORK = (
    "This change touches tests, or a file that may hold some or settings of theirs, and comes from a fork. Forge runs "
    f"nothing of a fork before somebody with the role {find_role(Verb.review, on_fork=True)} lets it. "
    "`/forge test` runs the tests of before on the new "
    "code, and `/forge review` lets the review do so."
)
_LOST, _CHANGED, _NAMES, _OUTPUT, _LINES = (
    10,
    40,
    12,
    1_500,
    6,
)  # tests, rows, names, characters and lines that are shown
_CHANGED_BEHAVIOUR = "**Behaviour that tests show to have changed**"
_OTHER_DEMANDS = (
    "**Tests that ask for something else.** As they stood, they fail on the new code; as they stand now, they pass on "
    "the code of before as well, so running does not tell why:"
)
_BECAME = {
    Fate.removed: "The change removes it",
    Fate.unreached: "The change leaves it where nothing runs it",
    Fate.hushed: "The change lets the run in which it fails end as if nothing had failed",
    Fate.skipped: "The change skips it",
    Fate.rewritten: "The change rewrites it",
    Fate.surroundings: "The change alters what it uses",
    Fate.noticed: "The change has the program ask whether a test runs it",
}


def explain_lost(test: EarlierTest) -> str:
    """What is wrong with a test that fails and that nothing stands in for, and what to do: a few sentences."""
    demanded = f" It demanded {'; '.join(map(_quote, test.demanded[:3]))}." if test.demanded else ""
    shared = "" if test.shared_path is None else f" ({_quote(test.shared_path)})"
    return (
        f"The test `{test.id}` {_explain_failure(test)}. {_BECAME[test.fate]}{shared}{_explain_blind(test)}.{demanded} "
        f"{_name_culprits(test)}"
        "Mend the code, or let a test say what holds now. If it was meant to go, a maintainer says so."
    )


def _name_culprits(test: EarlierTest) -> str:
    """Where the program would have to be as it was."""
    return f"It passes where {', '.join(map(inline_path, test.culprits))} is as before. " if test.culprits else ""


def _explain_failure(test: EarlierTest) -> str:
    if test.fate is Fate.noticed:
        return "failed before this change, and fails on its code wherever the program finds no test"
    return "passed before this change and fails on its code, and nothing in its place demands the same"


def _tell_before(test: EarlierTest) -> str:
    if test.fate is Fate.noticed:
        return "It failed before this change, and passes now only where the program finds a test."
    return "It passed before this change, and nothing in its place demands the same."


def render_lost_body(lost: Sequence[EarlierTest], marker: str) -> str:
    """The body of the pull-request review about tests that fail and that nothing stands in for."""
    if all(each.fate is Fate.noticed for each in lost):
        which = "1 test passes" if len(lost) == 1 else f"{len(lost):,} tests pass"
        return f"**{which} only because the program finds out that a test runs it.**\n\n{marker}"
    which = "1 test that passed" if len(lost) == 1 else f"{len(lost):,} tests that passed"
    fails = "fails" if len(lost) == 1 else "fail"
    return f"**{which} before this change {fails} on its code, and nothing in its place demands the same.**\n\n{marker}"


def render_section(earlier: EarlierTests | None, dismissed: Sequence[Finding] = ()) -> str:
    """The part of a check about them; empty where there is nothing to say.

    :param dismissed: findings that the check lists elsewhere.
    """
    if earlier is None:
        return ""
    said = {each.message for each in dismissed}
    lost = [each for each in earlier.lost if explain_lost(each) not in said]
    parts = [
        *(_render_lost(each) for each in lost[:_LOST]),
        *_count_rest(len(lost) - _LOST, "fails likewise", "fail likewise"),
        _render_table(_CHANGED_BEHAVIOUR, [each for each in earlier.changed if not _holds_before(each)]),
        _render_table(_OTHER_DEMANDS, [each for each in earlier.changed if _holds_before(each)]),
        "\n".join(f"- {line}" for line in _list_lines(earlier)),
    ]
    shown = [part for part in parts if part]
    return "\n\n".join([HEADING, *shown]) if shown else ""


def render_under_way(doing: str) -> str:
    """While they run.

    :param doing: a few words of Forge's own.
    """
    return (
        f"**Under way:** {doing}. This change touches tests, so Forge runs them as they were before it on its code. "
        "What follows is the verdict so far; this check ends with the whole one."
    )


def _render_lost(test: EarlierTest) -> str:
    """One test with what it demanded and the end of what it printed."""
    where = inline_path(test.path if test.line is None else f"{test.path}:{test.line}", 160)
    name, place = inline_code(test.id, 160), f"({where} before{_name_shared(test)})"
    became = f"{_BECAME[test.fate]} {place}{_explain_blind(test)}."
    head = f"**{name} fails.** {_tell_before(test)} {became}"
    if test.fate is Fate.removed:  # often meant
        head = f"**The change removes {name} {place}, which fails on its code.** {_tell_before(test)}"
    demanded = _show("It demanded:", "\n".join(test.demanded[:_LINES]))
    head = f"{head} {_name_culprits(test)}".strip()
    return "\n\n".join(filter(None, [head, demanded, _show("Now:", test.output[-_OUTPUT:])]))


def _name_shared(test: EarlierTest) -> str:
    """The file that says what it demands, where that is not its own: the name of a test may not tell."""
    return "" if test.shared_path is None else f", by {inline_path(test.shared_path, 160)}"


def _explain_blind(test: EarlierTest) -> str:
    """Why what stands in its place demands less, where running it on the code of before has shown that."""
    return ": what stands in its place passes on the code of before as well" if _holds_before(test) else ""


def _holds_before(test: EarlierTest) -> bool:
    """Whether running has shown that what is in its place cannot tell the new code from that of before."""
    return test.is_blind and test.fate is not Fate.removed


def _show(label: str, text: str) -> str:
    clean = redact_outgoing(strip_invisible(text)).strip("\n")
    return f"{label}\n\n{code_block(clean)}" if clean.strip() else ""


def _render_table(heading: str, changed: Sequence[EarlierTest]) -> str:
    if not changed:
        return ""
    folded: dict[object, list[EarlierTest]] = {}  # of one cause
    told: dict[object, str] = {}
    for each in changed:
        gone = "removed with its code" if each.culprits else "removed"
        is_gone = not each.now and bool(each.culprits or each.demanded or each.fate is Fate.removed)
        now = gone if is_gone else _cell(each, each.now, each.head_path, each.head_line)
        where = f"<br>for {', '.join(map(inline_path, each.culprits))}" if each.culprits else ""
        cells = f"{_name_shared(each)} | {_cell(each, each.demanded, each.path, each.line)} | {now}{where} |"
        cause = (each.culprits, each.now) if each.culprits else cells
        folded.setdefault(cause, []).append(each)
        told.setdefault(cause, cells)
    rows = [_render_row(alike, told[cause]) for cause, alike in folded.items()]
    more = _count_rest(len(changed) - sum(map(len, [*folded.values()][:_CHANGED])), "more", "more")
    return "\n".join([heading, "", "| test | before | now |", "| --- | --- | --- |", *rows[:_CHANGED], *more])


def _render_row(alike: Sequence[EarlierTest], cells: str) -> str:
    """One row for tests of which the same is to be said."""
    more = f" and {len(alike) - 1:,} more like it" if len(alike) > 1 else ""
    return f"| {inline_code(alike[0].id, 120)}{more}{cells}"


def _cell(test: EarlierTest, lines: Sequence[str], path: str | None, line: int | None) -> str:
    """Lines as a whole; where none can be shown, the place of what changed.

    :param path: of the file with them, if they are the test's own; :param line: of the test there.
    """
    flat = [flatten_text(redact_outgoing(each)) for each in lines]
    shown = [inline_code(each, LONGEST_CELL) for each in flat if len(each) <= LONGEST_CELL][:_LINES]
    if shown:
        return "<br>".join([*shown, *(["and more"] if len(shown) < len(lines) else [])])
    if (test.demanded or test.now) and not lines:
        return "-"
    place = test.shared_path or path
    is_own = place == path and test.fate is not Fate.surroundings
    return f"in {inline_path(f'{place}:{line}' if is_own else place, LONGEST_CELL)}" if place else "-"


def _list_lines(earlier: EarlierTests) -> list[str]:
    """What needs no more than a line each."""
    gone, failing = earlier.select(EarlierOutcome.gone), earlier.select(EarlierOutcome.open)
    unknown = len(earlier.select(EarlierOutcome.unknown))
    redone = [each for each in gone if each.fate is Fate.rewritten]
    went = [each for each in gone if each.fate is not Fate.rewritten]
    opened, broken = [each for each in failing if not each.names], [each for each in failing if each.names]
    missing = _name_gone(list_gone_names(broken, EarlierOutcome.open))
    held = "1 test of before passes" if earlier.holding == 1 else f"{earlier.holding:,} tests of before pass"
    left = name_count(earlier.left_out, "test was", "tests were")
    untold = name_count(earlier.untold, "more test that does not hold is", "more tests that do not hold are")
    lines = [
        f"{held} on the new code." if earlier.holding else "",
        *_list_gone(went, "went with the code"),
        *_list_gone(redone, f"{'was' if len(redone) == 1 else 'were'} rewritten with the code"),
        f"**{name_count(len(broken), 'test')} cannot be loaded**, and not as they stand at head, either: {missing}. "
        f"They are {_name(broken)}."
        if broken
        else "",
        f"{name_count(len(opened), 'test fails', 'tests fail')}, and so does what stands in its place: {_name(opened)}."
        if opened
        else "",
        f"{name_count(unknown, 'test tells', 'tests tell')} nothing: not passing before, or not to be loaded now."
        if unknown and not earlier.not_run
        else "",
        f"{left} left out, because their files are more than Forge runs for one change." if earlier.left_out else "",
        f"{untold} not told here, because they are more than {MOST_TOLD}." if earlier.untold else "",
    ]
    return [*filter(None, lines), *map(escape, earlier.not_run), *_list_removed(earlier)]


def _list_gone(tests: Sequence[EarlierTest], became: str) -> list[str]:
    """What became of tests that cannot be loaded any more, in one line."""
    names = _name_gone(list_gone_names(tests))
    return [f"{name_count(len(tests), 'test')} {became}{f': {names}' if names else ''}."] if tests else []


def _name_gone(names: Sequence[str]) -> str:
    named = ", ".join(inline_code(each, 80) for each in names[:_NAMES])
    more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
    return f"{named}{more} {'is' if len(names) == 1 else 'are'} gone" if names else ""


def _list_removed(earlier: EarlierTests) -> list[str]:
    """The tests that nobody ran and that are gone, in one line."""
    if not earlier.removed:
        return []
    named = ", ".join(f"{inline_code(each.name, 120)} ({inline_path(each.path, 160)})" for each in earlier.removed)
    rest = earlier.removed_count - len(earlier.removed)
    more = f" and {rest:,} more" if rest > 0 else ""
    count = name_count(earlier.removed_count, "test of before is", "tests of before are")
    them = ("it was", "it") if earlier.removed_count == 1 else ("they were", "them")
    return [f"{count} not where {them[0]}, and Forge did not run {them[1]}: {named}{more}."]


def _name(tests: Sequence[EarlierTest]) -> str:
    named = ", ".join(inline_code(each.id, 120) for each in tests[:_NAMES])
    return f"{named} and {len(tests) - _NAMES} more" if len(tests) > _NAMES else named


def _count_rest(left: int, one: str, many: str) -> list[str]:
    return [f"and {name_count(left, one, many)}"] if left > 0 else []


def _quote(line: str) -> str:
    """A line as code within a sentence that is escaped later."""
    return "`{}`".format(flatten_text(redact_outgoing(line)).replace("`", "'"))


_LINE, _SAID = 160, 300  # characters that are shown
_NAMED = 5  # failed tests that are named
_SETUP = (
    "To have them run: name in `commands.setup` in .github/forge.yml on the default branch what installs what they "
    "need. With `commands.network: true` it reaches the registry that the operator of Forge names, if any. Then write "
    "/forge run."
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
