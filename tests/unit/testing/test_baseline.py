"""What failed before a change does not count against it, and nothing else is excused."""

import pytest

from agents.coding.recovery import render_baseline
from domain.runs.earlier_tests import Baseline, build_baseline, excuse_commands, excuse_failures
from domain.runs.output_lines import count_mistakes, digest_output, pick_failures, pick_telling_line
from domain.runs.testing import (
    CHECKS,
    CaseOutcome,
    CommandResult,
    Framework,
    SuiteVerdict,
    TestCase,
    TestRun,
    decide_verdict,
    shows_nothing,
)
from messages.earlier_tests import explain_lack, render_note
from tests.unit.testing.forging import case, command, run

GOOD, BAD, BROKEN = case("a"), case("b", CaseOutcome.failed), case("c", CaseOutcome.error)
MAKE = {"framework": Framework.other, "line": "make test"}


def lint(status: int, output: str = "", kind: str = "lint") -> CommandResult:
    is_check = kind in CHECKS
    return command(
        status,
        kind=kind,
        line="ruff check .",
        framework=Framework.other,
        output=output[:500],
        mistakes=count_mistakes(output) if status and is_check else None,
        digest=digest_output(output) if status and not is_check else "",
    )


def suite(output: str) -> CommandResult:
    return lint(1, output, kind="test")


def base_of(*commands: CommandResult) -> Baseline:
    return build_baseline("base", run(*commands), "")


@pytest.mark.parametrize(
    ("cases", "failures", "verdict"),
    [
        ((GOOD, BAD), [], SuiteVerdict.passed),
        ((GOOD, BAD, BROKEN), ["c"], SuiteVerdict.failed),
        ((BAD,), [], SuiteVerdict.not_run),  # nothing is proven where all that ran failed before
    ],
    ids=["it failed before", "another one", "no other ran"],
)
def test_a_test_that_failed_before_is_excused(
    cases: tuple[TestCase, ...], failures: list[str], verdict: SuiteVerdict
) -> None:
    after = excuse_failures(run(command(1, *cases)), base_of(command(1, GOOD, BAD)))
    assert (after.known, [each.id for each in after.failures]) == (("b",), failures)
    assert decide_verdict(after) is verdict


@pytest.mark.parametrize(
    ("before", "after", "is_excused"),
    [
        (lint(1, "a.py:3: E1 x\nFound 1 error."), lint(1, "a.py:7: E1 x\nFound 1 error."), True),  # it moved
        (lint(1, "a.py:3: E1 x"), lint(1, "a.py:3: E1 x\na.py:9: E1 x"), False),  # a second one
        (lint(1, "a.py:3: E1 x"), lint(1, "b.py:3: E1 x"), False),
        (lint(1, "a.py:3: E1 x\nb.py:1: E2 y"), lint(1, "a.py:3: E1 x"), True),  # one less
        (lint(1, "a.py:3: E1 x"), lint(2, "a.py:3: E1 x"), False),
        (lint(1, "a.py:3: E1 x"), lint(1, "a.py:3: E1 x", kind="typecheck"), False),
        (lint(0), lint(1, "a.py:3: E1 x"), False),
        (lint(1, "a.py:3: E1 x1"), lint(1, "a.py:3: E1 x2"), False),
        (lint(1, "a.py:3: E1 x\na.py:4: E2\nFound 2 errors"), lint(1, "a.py:9: E1 x\nFound 1 error"), True),
        (lint(1), lint(1), True),  # it says nothing at all
        (
            lint(1, "a.c:3: warning: x\nerror: linking", kind="build"),
            lint(1, "a.c:3: warning: x\nerror: linking\n  undefined reference to `total'", kind="build"),
            False,
        ),
        (lint(1, "a.py:3: E1 waits 5 s"), lint(1, "a.py:3: E1 waits 9 s"), False),
        (
            lint(1, "a.ts(3,5): error TS1: x\nFound 2 errors in 2 files."),
            lint(1, "a.ts(9,5): error TS1: x\nFound 1 error in 1 file."),
            True,
        ),
        (lint(1, "a.py:3: E1 x\n  3 | old code"), lint(1, "a.py:3: E1 x\n  2 | new beside it\n  3 | old code"), True),
        (lint(1, "a.py:3: E1 x (83 > 79)"), lint(1, "a.py:3: E1 x (91 > 79)"), False),  # another text
        (lint(1, "a.py:3: E1 x"), lint(1, "a.py:3: E1 x\nerror: linking failed"), False),
        *(
            (lint(1, old.format(*before)), lint(1, old.format(*after)), is_excused)
            for old in ("{0} x ({1} > 79)\n --> {2}:{3}:80\n", "/w/{2}\n  {3}:80  error  x ({1} > 79)  {0}\n")
            for before, after, is_excused in (
                (("E1", 83, "a.py", 3), ("E1", 83, "a.py", 7), True),
                (("E1", 83, "a.py", 3), ("E1", 91, "a.py", 3), False),
                (("E1", 83, "a.py", 3), ("E2", 83, "a.py", 3), False),
                (("E1", 83, "a.py", 3), ("E1", 83, "b.py", 3), False),
            )
        ),
        (
            lint(1, "error[E1]: bad\n --> src/a.rs:3:1\nerror: aborting due to 2 previous errors; 1 warning emitted"),
            lint(1, "error[E1]: bad\n --> src/a.rs:7:1\nerror: aborting due to 1 previous error"),
            True,
        ),
    ],
)
def test_a_check_that_failed_before_is_excused_if_it_says_nothing_new(
    before: CommandResult, after: CommandResult, is_excused: bool
) -> None:
    head = excuse_failures(run(after, command(0, GOOD)), base_of(before, command(0, GOOD)))
    assert decide_verdict(head) is (SuiteVerdict.passed if is_excused else SuiteVerdict.failed)


FIRST = "a.py:3:1: E1 x\n"
FRAME = "E1 x\n  --> {}:{}:1\n  |\n{} | {}\n{} | {}\n  | ^^ {}\n"
GITLEAKS = "Finding: REDACTED\nRuleID: {}\nFile: {}\nLine: {}\n12:0{}PM WRN leaks found: {}\n"
BANDIT = ">> Issue: [{}] {}\n   Severity: High\n   Location: ./shop/cart.py:{}:4\n{}\ttotal(cart)\n"
TOTALS = (
    "Run started:2026-01-02 10:00:{}.57+00:00\nTotal lines of code: {}\n\tLow: {}\n"
    "Found 3 errors in {} files (checked {} source files)\nrated at 7.{}/10\n"
)


@pytest.mark.parametrize(
    ("old", "new", "is_excused"),
    [
        (FIRST, f"{FIRST}Cannot find module 'auth'\n", False),
        (FIRST, f"{FIRST}Segmentation fault\n", False),
        (FIRST, f"{FIRST}would reformat carts.py\n", False),
        ("would reformat cart.py\n", "would reformat carts.py\n", False),
        (FIRST, f"{FIRST}lodash  <4.17.21\nSeverity: high\n", False),
        (FIRST, f"{FIRST}\timports shop/auth: import cycle not allowed\n", False),
        ("Error: x\n\n  on main.tf line 3:\n", "Error: x\n\n  on other.tf line 3:\n", False),
        ("ERROR in ./src/a.js 3:5\nold\n", "ERROR in ./src/a.js 3:5\nnew\n", False),
        ("Error -- src/a.js:3:5\n\nold\n\n   3| f()\n", "Error -- src/a.js:3:5\n\nnew\n\n   3| f()\n", False),
        (GITLEAKS.format("key", "a.py", 3, 3, 2), GITLEAKS.format("key", "a.py", 9, 4, 1), True),
        (GITLEAKS.format("key", "a.py", 3, 3, 1), GITLEAKS.format("key", "a.py", 3, 4, 1) * 2, False),
        (GITLEAKS.format("key", "a.py", 3, 3, 1), GITLEAKS.format("key", "b.py", 3, 4, 1), False),
        (BANDIT.format("B101", "assert", 3, 3), BANDIT.format("B101", "assert", 7, 7), True),
        (BANDIT.format("B101", "assert", 3, 3), BANDIT.format("B602", "shell=True", 3, 3), False),
        (FRAME.format("a.rs", 3, 2, "old", 3, "f()", "i32"), FRAME.format("a.rs", 7, 6, "new", 7, "f()", "i32"), True),
        (FRAME.format("a.rs", 3, 2, "old", 3, "f()", "i32"), FRAME.format("a.rs", 3, 2, "old", 3, "g()", "i32"), False),
        (FRAME.format("a.rs", 3, 2, "old", 3, "f()", "i32"), FRAME.format("a.rs", 3, 2, "old", 3, "f()", "u8"), False),
        ("a.js\n  3:80  error  x  r\n", "a.js\n  10:80   error   x   r\n", True),  # columns grow wider
        ("src/a.ts\n 3:1 error TS(2304)\n", "src/a.ts\n 3:1 error TS(2551)\n", False),
        (TOTALS.format(11, 40, 3, 2, 9, 5), TOTALS.format(12, 52, 2, 3, 10, 6), True),
        (TOTALS.format(11, 40, 3, 2, 9, 5), TOTALS.format(12, 40, 4, 2, 9, 5), False),
        ("Total coverage: 85.00%\n", "Total coverage: 70.00%\n", False),
        ("12 | rows\n", "12 | other rows\n", False),  # around no place
        (f"{FIRST} 12 | ERROR | Missing comment\n", f"{FIRST} 14 | ERROR | eval() is a risk\n", False),
        ("requests CVE-2024-35195\n", "requests CVE-2018-18074\n", False),
        ("os.chmod(p, 777)\n", "os.chmod(p, 755)\n", False),
    ],
)
def test_whatever_a_check_did_not_say_before_is_new(old: str, new: str, is_excused: bool) -> None:
    [compared] = excuse_commands(run(lint(1, new)), [lint(1, old)]).commands
    assert compared.is_excused is is_excused


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        (run(lint(0), command(1, BAD, BROKEN)), SuiteVerdict.not_run),
        (run(lint(1, "E1"), command(1, BAD)), SuiteVerdict.failed),
        (run(command(0, case("b"))), SuiteVerdict.passed),
        (run(command(1, case("b"), BROKEN)), SuiteVerdict.failed),
    ],
    ids=["a failure says nothing", "a broken check counts", "a success counts", "and with it the others again"],
)
def test_where_the_tests_showed_nothing(after: TestRun, verdict: SuiteVerdict) -> None:
    base = build_baseline("base", run(lint(0), command(1, BAD)), "The module x is not installed.")
    found = excuse_failures(after, base)
    assert decide_verdict(found) is verdict
    if verdict is SuiteVerdict.not_run:
        assert found.not_run == "As before the change, the tests show nothing here: The module x is not installed."


@pytest.mark.parametrize(
    ("given_run", "expected", "why"),
    [
        (run(command(0, GOOD)), False, ""),
        (run(command(1, GOOD, BAD)), False, ""),
        (run(command(0, **MAKE)), False, ""),
        (run(), False, ""),
        (run(lint(1, "E1")), False, ""),  # it has no tests
        (run(lint(1, "E1"), command(0, GOOD)), False, ""),
        (run(command(1, BAD), flaky=["b"]), False, ""),
        (run(not_run="There is no sandbox."), True, "There is no sandbox."),
        (
            run(command(1, kind="setup", line="pip install .", output="...\nNo route to host\n")),
            True,
            "The set-up `pip install .` ends with exit status 1. It says: No route to host",
        ),
        (
            run(command(None, kind="setup", line="pip install .")),
            True,
            "The set-up `pip install .` does not end: it takes too long or is stopped.",
        ),
        (run(command(1, BAD, BROKEN)), True, "All 2 tests fail already, before anything is changed."),
        (run(command(1, BAD)), True, "The only test fails already, before anything is changed."),
        (run(command(0, case("d", CaseOutcome.skipped))), True, "All tests are skipped."),
        (
            run(command(0, writes_report=True, report_problem="It left no report.")),
            True,
            "`pytest` left no report that can be read.",
        ),
        (
            run(command(2, output="make: *** No rule", **MAKE)),
            True,
            "The command for tests `make test` ends with exit status 2. It says: make: *** No rule",
        ),
    ],
)
def test_when_tests_show_nothing_and_why(given_run: TestRun, expected: bool, why: str) -> None:
    assert shows_nothing(given_run) is expected
    if expected:
        assert explain_lack(given_run, ()) == why


def test_a_note_names_what_failed_before() -> None:
    base = base_of(lint(1, "E1"), command(1, GOOD, BAD, BROKEN))
    assert render_note(base) == (
        "**Before any change** 2 tests fail already: `b`, `c`; `ruff check .` fails already. This does not count "
        "against the work on the issue."
    )
    assert not render_note(base_of(command(0, GOOD)))
    assert not render_note(base_of())


def test_agents_are_told_what_works() -> None:
    base = base_of(lint(1, "E1"), command(1, GOOD, BAD, seconds=12.4))
    assert [*render_baseline(base, says_words=True)] == [
        "== before any change",
        "- lint: `ruff check .` fails already after 0 s",
        "- test: `pytest` fails already after 12 s",
        "Tests that pass: 1. Tests that fail already: 1.",
        "Leave these as they are, unless the task is about them:",
        "- b",
    ]
    assert "- b" not in [*render_baseline(base, says_words=False)]


def test_agents_are_told_that_nothing_can_be_run() -> None:
    base = build_baseline("base", run(not_run="It fails."), "The set-up `x` fails.\nReally")
    assert [*render_baseline(base, says_words=True)] == [
        "== before any change",
        "The tests show nothing where they run: The set-up `x` fails. Really",
        "Nobody can run them for you.",
    ]
    told = [*render_baseline(base, says_words=False)]
    assert told[1] == "The tests show nothing where they run."
    assert not [*render_baseline(None, says_words=True)]
    assert not [*render_baseline(base_of(), says_words=True)]


def test_old_mistakes_are_excused_however_many_there_are_and_one_more_is_not() -> None:
    old = "\n".join(f"app/m{number}.py:{number}: error: Incompatible types in assignment" for number in range(500))
    moved = old.replace(":", ":1", 1)
    assert len(old) > 8_000
    base = base_of(lint(1, f"{old}\nFound 500 errors", kind="typecheck"), command(0, GOOD))
    for said, expected in (
        (f"{moved}\nFound 500 errors", SuiteVerdict.passed),
        (f"app/new.py:2: error: eval\n{moved}\nFound 501 errors", SuiteVerdict.failed),
    ):
        after = excuse_failures(run(lint(1, said, kind="typecheck"), command(0, GOOD)), base)
        assert decide_verdict(after) is expected
        assert all(each.mistakes is None for each in after.commands)  # nobody needs them any more


def test_where_nobody_knows_all_that_was_said_nothing_is_excused() -> None:
    known, unknown = lint(1, "a.py:3: E1 x"), lint(1, "a.py:3: E1 x").model_copy(update={"mistakes": None})
    assert count_mistakes("\n".join(f"a{each}.py:1: x" for each in range(20_001))) is None
    for before, after in ((known, unknown), (unknown, known)):
        head = excuse_failures(run(after, command(0, GOOD)), base_of(before, command(0, GOOD)))
        assert decide_verdict(head) is SuiteVerdict.failed


_SAID = """\
2026-01-02T10:00:00Z starting
=== RUN   TestRates
--- FAIL: TestRates (0.31s)
not ok 1 - parses 10:30:00
  ✗ waits 5 s
  ✓ login
{}FAIL\tshop/rates\t0.104s
<rates.Table object at 0x7f3a5c00> is not in /tmp/tmpa1b2c3d4/table
Time:        0.512 s
============ 2 failed, 3 passed in 0.21s ============"""


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("T10:00:00Z starting", "T23:12:01+02:00 starting"),
        ("(0.31s)", "(12.4s)"),
        ("\t0.104s", "\t1.2s"),
        ("0x7f3a5c00", "0x7f4b6d11"),
        ("tmpa1b2c3d4", "tmpz9y8x7w6"),
        ("0.512 s", "1.5 s"),
        ("in 0.21s", "in 3.02s"),
    ],
)
def test_tests_that_say_the_same_but_for_times_fail_as_before(was: str, now: str) -> None:
    assert was in _SAID
    assert _is_excused(_SAID, _SAID.replace(was, now))


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ("{}", "✔ login FAILED\n"),  # not all that has a tick passed
        ("{}", "ok 4 - login # and then it broke\n"),
        ("{}", "--- FAIL: TestRates (0.31s)\n"),  # twice now
        ("{}", "anything\n"),
        ("  ✓ login\n", ""),  # it is not run any more
        ("✓ login", "✗ login"),
        ("=== RUN   TestRates\n--- FAIL: TestRates", "--- FAIL: TestRates\n=== RUN   TestRates"),
        ("parses 10:30:00", "parses 11:30:00"),  # another test
        ("waits 5 s", "waits 9 s"),
        ("not ok 1", "not ok 2"),
        ("2 failed, 3 passed", "2 failed, 2 passed"),
        ("2 failed, 3 passed", "1 failed, 4 passed"),
        (_SAID, ""),
    ],
)
def test_whatever_else_tests_say_may_be_a_new_failure(was: str, now: str) -> None:
    """Another command passes, so that an excuse would let the change pass."""
    assert was in _SAID
    assert not _is_excused(_SAID, _SAID.replace(was, now))


def test_tests_that_say_nothing_or_end_otherwise_are_not_excused() -> None:
    assert not _is_excused("", "")
    for before, after in ((suite("x"), lint(2, "x", kind="test")), (lint(0), suite("x"))):
        assert not excuse_commands(run(after), [before]).commands[0].is_excused


def _is_excused(before: str, after: str) -> bool:
    head = excuse_failures(run(suite(after), command(0, GOOD)), base_of(suite(before), command(0, GOOD)))
    [compared] = excuse_commands(run(suite(after)), [suite(before)]).commands
    assert compared.is_excused is head.commands[0].is_excused is (decide_verdict(head) is SuiteVerdict.passed)
    return compared.is_excused


def test_where_every_command_is_merely_excused_nothing_is_proved() -> None:
    after = excuse_failures(run(suite("not ok 1 - old")), base_of(suite("not ok 1 - old")))
    assert after.commands[0].is_excused
    assert decide_verdict(after) is SuiteVerdict.not_run


def test_a_check_that_is_run_again_without_the_change_may_name_nothing_new() -> None:
    found = lint(1, "a.py:3: E1")
    for after, is_excused in ((found, True), (lint(1, "a.py:3: E1\nb.py:1: E1"), False)):
        assert excuse_commands(run(after), [found]).commands[0].is_excused is is_excused


def test_the_failures_of_a_long_output_come_first() -> None:
    printed = "  1) Failure:\nTestCart#test_total [t.rb:3]:\n\n9 runs, 1 failures\n" + "t.rb:1: warning: w\n" * 99
    shown = pick_failures(printed, 500)
    assert len(shown) == 500
    assert shown.startswith("1) Failure: TestCart#test_total [t.rb:3]:\n9 runs, 1 failures\n…\n")
    assert shown.endswith(printed[-400:])
    assert pick_failures("short", 500) == "short"


@pytest.mark.parametrize(
    ("said", "line"),
    [
        ("E   assert 1 == 2\nTests: 1 failed\nProcess completed with exit code 1.", "E   assert 1 == 2"),
        ("26 bytes\nThe printer refused a line\nProcess completed with exit code 1.", "The printer refused a line"),
        ("1 failed, 2 passed", "1 failed, 2 passed"),
        ("Process completed with exit code 1.", "Process completed with exit code 1."),
        ("", ""),
    ],
)
def test_one_line_says_what_went_wrong(said: str, line: str) -> None:
    assert pick_telling_line(said) == line
