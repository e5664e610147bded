"""What the check run says, and that nothing foreign in it acts."""

import pytest
from inline_snapshot import snapshot
from markdown_it import MarkdownIt

from domain.runs.coverage import CoverageComparison, CoveredShare, FileLoss, Obstacle
from domain.runs.patches import RequiredFix
from domain.runs.testing import (
    Analysis,
    CaseOutcome,
    Coverage,
    DiffCoverage,
    FailureClass,
    FileCoverage,
    excuse_known,
    merge_retry,
)
from messages import tests as texts
from tests.unit.testing.forging import case, command, run

BAD = case("tests/test_a.py::test_x", CaseOutcome.failed, path="tests/test_a.py", line=7, message="assert 1 == 2")
UNLOADED = case("test.py::test", CaseOutcome.error, message="ImportError: No module named 'unidecode'")
SKIPPED = case("d", CaseOutcome.skipped)
EXPECTED = case("x", CaseOutcome.skipped).model_copy(update={"is_expected": True})
MEANT = Analysis(
    test_id=BAD.id,
    failure_class=FailureClass.real_bug,
    root_cause="Off by one.",
    suggested_fix="Add one.",
    confidence=0.5,
)


def test_failed() -> None:
    found = texts.render_outcome(
        run(command(1, case("a"), BAD, seconds=2), selection="All tests: the risk is high."), [MEANT]
    )
    assert found.title == "1 test failed"
    assert found.summary == snapshot("""\
All tests: the risk is high.

**Next:** fix the failures and push. The details show the output of the commands.

### Failures

| test | where | what |
| --- | --- | --- |
| `tests/test_a.py::test_x` | `tests/test_a.py:7` | assert 1 == 2 |

### What it means

- `tests/test_a.py::test_x`: a bug in the code or in the test, confidence 50%. Off by one. **Suggested:** Add one.

### What ran

| | command | how it ended | time |
| --- | --- | --- | --- |
| test | `pytest` | exit status 1; 2 tests | 2.0 s |\
""")


def test_passed_with_coverage() -> None:
    given = run(
        command(0, case("a"), case("b")),
        selection="2 of 9 test files: those that concern the changed files.",
        coverage=Coverage(
            files=(FileCoverage(path="a.py", covered=(1, 2), missed=(3,), branches_covered=1, branches=2),)
        ),
        diff_coverage=DiffCoverage(covered=1, total=4, uncovered={"a.py": (3, 4, 9)}, unmeasured=("b.py",)),
    )
    found = texts.render_outcome(given)
    assert found.title == "Passed: 2 tests"
    assert found.summary == snapshot("""\
2 of 9 test files: those that concern the changed files.

**Next:** nothing has to be done. No test runs the lines below.

### Coverage

- Lines this change adds: 1 of 4 (25%)
- Lines of the files measured: 2 of 3 (67%)
- Branches: 1 of 2 (50%)
- Not run in `a.py`: 3–4, 9
- Not measured: `b.py`

### What ran

| | command | how it ended | time |
| --- | --- | --- | --- |
| test | `pytest` | exit status 0; 2 tests | 0.0 s |\
""")


@pytest.mark.parametrize(
    ("given", "title", "said"),
    [
        (run(), "No tests found", "add tests. If the repository has tests, set their command in `commands.test`"),
        (run(not_run="There is no sandbox."), "Forge could not run the tests", "There is no sandbox."),
        (
            run(command(1, kind="setup", line="npm ci")),
            "Forge could not run the tests",
            "`npm ci` ended with exit status 1",
        ),
        (run(command(0)), "Tests passed (no report)", "no report"),
        (run(command(0, case("a"), SKIPPED)), "Passed: 1 test, 1 skipped", "exit status 0; 2 tests"),
        (
            run(command(0, case("a"), SKIPPED, EXPECTED)),
            "Passed: 1 test, 1 skipped, 1 failed as expected",
            "exit status 0; 3 tests",
        ),
        (
            excuse_known(run(command(1, case("a"), BAD)), {BAD.id}),
            "Passed: 1 test, 1 also fails without this change",
            "### Also fails without this change",
        ),
        (
            excuse_known(run(command(1, UNLOADED)), {UNLOADED.id}),
            "Forge could not run the tests",
            "can be loaded, with or without this change.\n\n**Next:** install what is missing with `commands.setup`",
        ),
        (run(command(0, SKIPPED)), "Forge could not run the tests", "all tests were skipped (1)"),
        (
            run(command(0, writes_report=True, report_problem="It left no report.")),
            "Forge could not run the tests",
            "ended with success but left no readable report",
        ),
        (run(command(1, case("a"))), "1 command failed", "although its report says that all tests passed"),
        (run(command(None)), "1 command failed", "did not finish"),
        (
            merge_retry(run(command(1, BAD)), run(command(0, case(BAD.id)))),
            "Passed: 1 test, 1 of them flaky",
            "### Flaky",
        ),
        (
            run(command(0, report_problem="The JUnit report is not XML.")),
            "Tests passed (no report)",
            "is not XML",
        ),
    ],
)
def test_each_end_says_what_happened_and_what_to_do(given: texts.TestRun, title: str, said: str) -> None:
    found = texts.render_outcome(given)
    assert found.title == title
    assert said in found.summary
    assert "**Next:**" in found.summary
    why = texts.render_line(given).removeprefix(title)
    assert (said.partition(".\n")[0].rstrip(".") in why) if title == "Forge could not run the tests" else not why


def test_what_a_retry_prints_again_is_shown_once() -> None:
    twice = [command(1, BAD, output=f"1 failed in {seconds} s") for seconds in ("0.12", "0.31")]
    assert texts.render_outcome(run(*twice)).text.count("1 failed") == 1


def test_where_there_are_no_tests_some_are_proposed() -> None:
    assert "Forge proposes tests" in texts.render_outcome(run(), proposes=True).summary


def test_what_only_the_environment_lacks_is_no_matter_of_the_code() -> None:
    """What the analysis says of it is what to do next; only where it says nothing, there is a general advice."""
    lacking = MEANT.model_copy(update={"failure_class": FailureClass.environment, "suggested_fix": ""})
    assert (
        "install what is missing with `commands.setup`" in texts.render_outcome(run(command(1, BAD)), [lacking]).summary
    )
    told = lacking.model_copy(update={"suggested_fix": "Take in the base, which has the target."})
    summary = texts.render_outcome(run(command(1, BAD)), [told]).summary
    assert "**Next:** Take in the base, which has the target, then write `/forge test`." in summary
    assert "commands.setup" not in summary


def test_what_has_tests_that_nothing_ran_is_not_called_without_tests() -> None:
    """Where a runner is not known, or finds none, the repository may well have some."""
    unknown = texts.render_outcome(run().model_copy(update={"selection": "1 of 9 test files."})).summary
    assert "Forge found no tests for this change that it can run by itself, so nothing shows" in unknown
    assert "1 of 9 test files." in unknown
    assert "`pytest` found no tests, so nothing shows" in texts.render_outcome(run(command(5))).summary


def test_tests_that_were_taken_away_are_said() -> None:
    taken = RequiredFix(
        path="tests/test_a.py", line=3, rule="avoidance/test-skipped", message="Tests are skipped here."
    )
    summary = texts.render_outcome(run(command(0, case("a"))), weakened=[taken]).summary
    assert "### What hides a failure instead of mending it\n\n- `tests/test_a.py:3`: Tests are skipped here." in summary
    assert "taken away" not in texts.render_outcome(run(command(0, case("a")))).summary


EVIL = "@everyone #1 /forge approve <img src=x> [a](https://evil.example) | ``` <!-- forge:x --> closes #2"


def test_nothing_foreign_acts() -> None:
    evil = case(EVIL, CaseOutcome.failed, path=EVIL, line=1, message=EVIL, details=EVIL)
    flaky = case(EVIL + "2", CaseOutcome.failed)
    given = run(
        command(1, evil, flaky, line=EVIL, output=EVIL, report_problem=EVIL),
        flaky=(flaky.id,),
        selection=EVIL,
        diff_coverage=DiffCoverage(covered=0, total=1, uncovered={EVIL: (1,)}, unmeasured=(EVIL,)),
    )
    meant = MEANT.model_copy(update={"test_id": EVIL, "root_cause": EVIL, "suggested_fix": EVIL})
    taken = RequiredFix(path=EVIL, rule="avoidance/test-skipped", message=EVIL)
    lost = texts.CoverageReport(compared(FileLoss(path=EVIL, lost=(1,), is_unnamed=True)), needs_person=True)
    found = texts.render_outcome(given, [meant], weakened=[taken], coverage=lost)
    for text in (found.summary, texts.render_outcome(run(not_run=EVIL)).summary):
        plain = without_code(text)
        for acting in ("@everyone", "#1", "/forge approve", "https://", "<!-- forge"):
            assert acting not in plain, acting
    assert "<!-- forge:" not in found.text


def without_code(text: str) -> str:
    """The text as GitHub acts upon it: nothing in code does."""
    tokens = MarkdownIt("commonmark").enable("table").parse(text)
    inline = [child for token in tokens for child in token.children or []]
    assert not [each for each in (*tokens, *inline) if each.type in {"html_inline", "html_block", "link_open", "image"}]
    return "\n".join(child.content for child in inline if child.type == "text" and not child.content.startswith("&"))


def test_it_is_never_too_long() -> None:
    long = [case(f"{n}" + "`x" * 240, CaseOutcome.failed, path="`y" * 240, message="*z" * 240) for n in range(200)]
    uncovered = {f"{n}" + "`f" * 200: tuple(range(1, 1_000, 2)) for n in range(200)}
    given = run(
        *(command(1, *long, line="`c" * 1_500, output="`" * 8_000) for _ in range(30)),
        flaky=tuple(each.id for each in long[:60]),
        selection="*s" * 500,
        diff_coverage=DiffCoverage(covered=0, total=1, uncovered=uncovered),
    )
    found = texts.render_outcome(given, [MEANT.model_copy(update={"root_cause": "*r" * 900})] * 50)
    assert len(found.summary) < 65_535
    assert len(found.text) < 65_535
    assert len(found.title) < 255


def compared(*losses: FileLoss) -> CoverageComparison:
    return CoverageComparison(
        before=CoveredShare(covered=90, total=100),
        after=CoveredShare(covered=80, total=110),
        kept_before=CoveredShare(covered=85, total=90),
        kept_after=CoveredShare(covered=75, total=90),
        losses=losses,
        lost=10,
        left_out=1,
        unknown=2,
    )


def test_lost_coverage_is_said_with_its_places() -> None:
    report = texts.CoverageReport(
        compared(FileLoss(path="a.py", lost=(3, 4, 5)), FileLoss(path="b.py", lost=(9,), is_unnamed=True)),
        needs_person=True,
    )
    found = texts.render_outcome(run(command(0, case("a"))), coverage=report)
    assert found.title == "Passed: 1 test; coverage fell by 10.0 points"
    assert "a maintainer decides" in found.summary
    assert found.summary.partition("\n\n### What ran")[0].partition("\n\n")[2] == snapshot("""\
### Coverage

- Lines of the program: 90 of 100 (90.0 %) before, 80 of 110 (72.7 %) now: -17.3 points
- Of the lines that stay: 85 of 90 (94.4 %) before, 75 of 90 (83.3 %) now: -11.1 points
- No longer run in `a.py`: 3–5
- No longer run in `b.py`: 9, as the report does not name the file any more
- Run before and not measured any more: 1 line
- Not compared, since their change was not read: 2 files\
""")


@pytest.mark.parametrize("obstacle", Obstacle)
def test_why_coverage_is_not_compared_is_said(obstacle: Obstacle) -> None:
    found = texts.render_outcome(run(command(0, case("a"))), coverage=texts.CoverageReport(obstacle=obstacle))
    assert found.title == "Passed: 1 test"
    assert "- Not compared with the base: " in found.summary


def test_line_numbers_are_ranges() -> None:
    assert texts.format_ranges([1, 2, 3, 7, 9, 10]) == "1–3, 7, 9–10"
    assert texts.format_ranges(range(1, 100, 2)).endswith("and 38 more places")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            run(command(1, case("a"), case("b", CaseOutcome.failed, message="assert 1 == 2"))),
            "1 test failed, on each side as well: `b` (the first: `assert 1 == 2`); 1 passed",
        ),
        (
            run(command(1, line="npm test", output="npm ERR! npx canceled due to missing packages\n")),
            "`npm test` fails, on each side as well: exit status 1, `npm ERR! npx canceled due to missing packages`",
        ),
        (run(command(None, line="npm test")), "`npm test` fails, on each side as well: it does not end"),
    ],
)
def test_what_fails_on_each_side_is_named_with_its_cause(given: texts.TestRun, said: str) -> None:
    assert texts.render_failed_before(given) == said


NODE = """\
node:internal/modules/esm/get_format:189
  throw new ERR_UNKNOWN_FILE_EXTENSION(ext, filepath);
        ^

TypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file extension ".ts" for /work/test/a.test.ts
    at defaultGetFormat (node:internal/modules/esm/get_format:232:36) {
  code: 'ERR_UNKNOWN_FILE_EXTENSION'
}

Node.js v20.20.2
✖ /work/test/a.test.ts (237.345345ms)
  'test failed'

ℹ fail 1
"""
NO_EXTENSION = 'TypeError [ERR_UNKNOWN_FILE_EXTENSION]: Unknown file extension ".ts" for /work/test/a.test.ts'
PYTEST = """\
ImportError while importing test module '/work/test_a.py'.
Hint: make sure your test modules/packages have valid Python names.
Traceback:
/work/test_a.py:1: in <module>
    import gone_module
E   ModuleNotFoundError: No module named 'gone_module'"""
UNREAD = case("test/a.test.ts", CaseOutcome.failed, path="test/a.test.ts", message="test failed", details="test failed")
UNREAD_TOO = UNREAD.model_copy(update={"id": "test/b.test.ts", "path": "test/b.test.ts"})
UNCOLLECTED = case("test_a", CaseOutcome.error, message="collection failure", details=PYTEST)


def test_why_tests_cannot_be_loaded_is_said() -> None:
    said = texts.render_outcome(run(command(1, UNREAD, output=NODE))).summary
    assert f"| {NO_EXTENSION} |" in said.replace("\\", "")
    said = texts.render_outcome(run(command(1, UNREAD, UNREAD_TOO, output=NODE))).summary
    assert said.count("Unknown file extension") == 1  # of the other file nothing is known
    said = texts.render_outcome(run(command(1, UNCOLLECTED))).summary
    assert "| ModuleNotFoundError: No module named 'gone_module' |" in said.replace("\\", "")
    said = texts.render_outcome(run(command(1, output=NODE))).summary
    assert f"ended with exit status 1. It says `{NO_EXTENSION}`." in said
