"""What failed before a change does not count against it, and nothing else is excused."""

import pytest

from agents.coding.baseline import render_baseline
from domain.runs.baseline import Baseline, build_baseline, excuse_commands, excuse_failures
from domain.runs.output_lines import count_lines, count_passes, pick_failures, pick_telling_line
from domain.runs.testing import (
    CHECKS,
    CaseOutcome,
    CommandResult,
    Framework,
    SuiteVerdict,
    TestRun,
    decide_verdict,
    shows_nothing,
)
from domain.text.redaction import redact_outgoing
from messages.baseline import explain_lack, render_note
from tests.unit.testing.forging import case, command, run

GOOD, BAD, BROKEN = case("a"), case("b", CaseOutcome.failed), case("c", CaseOutcome.error)
MAKE = {"framework": Framework.other, "line": "make test"}


def lint(status: int, output: str = "", kind: str = "lint") -> CommandResult:
    lines = count_lines(output, is_check=kind in CHECKS) if status else None
    passes = count_passes(output) if status and kind not in CHECKS else None
    return command(
        status,
        kind=kind,
        line="ruff check .",
        framework=Framework.other,
        output=output[:500],
        lines=lines,
        passes=passes,
    )


def suite(output: str) -> CommandResult:
    return lint(1, output, kind="test")


def base_of(*commands: CommandResult) -> Baseline:
    return build_baseline("base", run(*commands), "")


def test_a_test_that_failed_before_is_excused() -> None:
    after = excuse_failures(run(command(1, GOOD, BAD)), base_of(command(1, GOOD, BAD)))
    assert after.known == ("b",)
    assert decide_verdict(after) is SuiteVerdict.passed


def test_another_test_that_fails_is_not() -> None:
    after = excuse_failures(run(command(1, GOOD, BAD, BROKEN)), base_of(command(1, GOOD, BAD)))
    assert [each.id for each in after.failures] == ["c"]
    assert decide_verdict(after) is SuiteVerdict.failed


def test_where_all_that_ran_failed_before_nothing_is_proven() -> None:
    after = excuse_failures(run(command(1, BAD)), base_of(command(1, GOOD, BAD)))
    assert decide_verdict(after) is SuiteVerdict.not_run


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
        (lint(2, "make: *** broken", kind="test"), lint(2, "make: *** broken", kind="test"), True),
        (lint(1), lint(1), True),  # it says nothing at all
        (suite(""), suite(""), False),  # so nobody knows what its tests say
        (suite("not ok 1 - old (a.js:3)"), suite("not ok 1 - old (a.js:3)\nnot ok 2 - new"), False),
        (suite("not ok 1 - old\nok 2 - login"), suite("ok 1 - added\nnot ok 2 - old\nok 3 - login"), True),
        (
            suite("ok 1 - added\nnot ok 2 - old\n# fail 1"),
            suite("not ok 1 - old\nok 2 - added\n# fail 1"),
            True,
        ),  # it moved
        (suite("not ok 1\nok 2\nok 3"), suite("ok 1\nok 2\nnot ok 3"), False),  # it has no name but its number
        (suite("not ok 1 # old.js\nok 2"), suite("ok 1\nnot ok 2 # old.js"), False),
        (suite("not ok 1\nok 2"), suite("not ok 1\nok 2\nok 3"), True),
        *(
            (suite(f"FAILED old\n{old}"), suite(f"FAILED old\n{new}"), True)
            for old, new in (
                ("PASS a", "PASS a\nPASS b"),
                ("ok 1 - a\n1..11", "ok 1 - a\nok 12 - x\n1..12"),
                ("3 passed", "4 passed"),
                ("1 failed, 3 passed in 0.2s", "1 failed, 4 passed in 0.3s"),
                ("collected 10 items", "collected 11 items"),
                ("Random seed: 12", "Random seed: 977"),
                ("Listening on port 4411", "Listening on port 4412"),
                ("coverage: 71.2%", "coverage: 70.9%"),
                ("  ✓ adds", "  ✓ adds\n  ✓ adds more"),
                ("a.py::x PASSED [ 50%]", "a.py::x PASSED [ 33%]\na.py::z PASSED [ 66%]"),
                ("PASS: a", "PASS: a\nPASS: tests/b.sh\nPASS: b.test 3 - no price is false\nPASS: a/c.c (no errors)"),
                ("PASS src/a.test.js", "PASS src/a.test.js (2.1 s)\nPASS src/b.test.js (5 s)"),
                ("--- PASS: TestA (0.00s)", "--- PASS: TestA (0.00s)\n--- PASS: TestB/no_price (0.02s)\nPASS"),
                ("ok 1 - a", "ok 1 - a\nok 2 - fails without a price"),
                ("  Passed Shop.A [1 ms]", "  Passed Shop.A [2 ms]\n  Passed Shop.B(price: 3) [< 1 ms]"),
                ("test a::b ... ok", "test a::b ... ok\ntest a::fails ... ok"),
                ("5 passed", "6 passed"),
            )
        ),
        *(
            (suite("FAILED old"), suite(f"FAILED old\n{new}"), False)
            for new in (
                "1 passed, 1 failed",
                "ok no: cannot connect",
                "PASS: false",
                "PASS: false, the price is 3",
                "pass: false",
                "passed: no",
                "PASS = 0",
                "PASS 0",
                "passed the wrong price to total",
                "PASS rate is too low",
                "none passed",
                "nothing ok",
                "--- PASS: false",
                "passwords differ",
                "a.py::z FAILED [ 66%]",
                "port 80 is taken",
                "✗ adds",
                "--- FAIL: TestB",
            )
        ),
        (
            lint(1, "a.c:3: warning: x\nerror: linking", kind="build"),
            lint(1, "a.c:3: warning: x\nerror: linking\n  undefined reference to `total'", kind="build"),
            False,
        ),
        (suite("FAILED cart::total"), suite("FAILED cart::total\nFAILED cart::rates"), False),
        (suite("12 failed in 3.2s"), suite("13 failed in 3.1s"), False),
        (suite("FAILED old\n3 of 3 passed"), suite("FAILED old\n0 of 3 passed"), False),
        (suite("FAILED old\npassed: 3"), suite("FAILED old\npassed: 2"), False),
        (suite("12 failed in 3.2s at 12:01:07"), suite("11 failed in 9 s at 12:03:11"), True),
        (suite("Tests:  1 failed, 2 total"), suite("Tests:  2 failed, 2 total"), False),
        (suite("0x7f3a /tmp/x1/a broken"), suite("0x7f3b /tmp/y2/a broken"), True),
        (suite("Expected: 3, was: 4"), suite("Expected: 3, was: 5"), False),
        (suite("not ok 1 - parse(3)\nok 2 - parse(4)"), suite("ok 1 - parse(3)\nnot ok 2 - parse(4)"), False),
        (suite("FAIL: waits 5 s then"), suite("FAIL: waits 9 s then"), False),
        (suite("--- FAIL: TestA (0.00s)"), suite("--- FAIL: TestA (0.31s)"), True),
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


def test_where_the_tests_showed_nothing_a_failure_says_nothing_and_a_success_counts() -> None:
    base = build_baseline("base", run(lint(0), command(1, BAD)), "The module x is not installed.")
    failed = excuse_failures(run(lint(0), command(1, BAD, BROKEN)), base)
    assert decide_verdict(failed) is SuiteVerdict.not_run
    assert failed.not_run == "As before the change, the tests show nothing here: The module x is not installed."
    assert decide_verdict(excuse_failures(run(command(0, case("b"))), base)) is (SuiteVerdict.passed)


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
    assert [*render_baseline(base, redact_outgoing, says_words=True)] == [
        "== before any change",
        "- lint: `ruff check .` fails already after 0 s",
        "- test: `pytest` fails already after 12 s",
        "Tests that pass: 1. Tests that fail already: 1.",
        "Leave these as they are, unless the task is about them:",
        "- b",
    ]
    assert "- b" not in [*render_baseline(base, redact_outgoing, says_words=False)]


def test_agents_are_told_that_nothing_can_be_run() -> None:
    base = build_baseline("base", run(not_run="It fails."), "The set-up `x` fails.\nReally")
    assert [*render_baseline(base, redact_outgoing, says_words=True)] == [
        "== before any change",
        "The tests show nothing where they run: The set-up `x` fails. Really",
        "Nobody can run them for you.",
    ]
    told = [*render_baseline(base, redact_outgoing, says_words=False)]
    assert told[1] == "The tests show nothing where they run."
    assert not [*render_baseline(None, redact_outgoing, says_words=True)]
    assert not [*render_baseline(base_of(), redact_outgoing, says_words=True)]


def test_where_the_tests_showed_nothing_a_check_that_is_broken_now_still_counts() -> None:
    base = build_baseline("base", run(lint(0), command(1, BAD)), "All tests fail.")
    assert decide_verdict(excuse_failures(run(lint(1, "E1"), command(1, BAD)), base)) is SuiteVerdict.failed


def test_where_a_test_passes_now_the_others_count_again() -> None:
    base = build_baseline("base", run(command(1, BAD)), "The only test fails.")
    after = excuse_failures(run(command(1, case("b"), BROKEN)), base)
    assert [each.id for each in after.failures] == ["c"]
    assert decide_verdict(after) is SuiteVerdict.failed
    assert decide_verdict(excuse_failures(run(command(0, case("b"))), base)) is SuiteVerdict.passed


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
        assert all(each.lines is None for each in after.commands)  # nobody needs them any more


def test_where_nobody_knows_all_that_was_said_nothing_is_excused() -> None:
    known, unknown = lint(1, "a.py:3: E1 x"), lint(1, "a.py:3: E1 x").model_copy(update={"lines": None})
    assert count_lines("\n".join(f"a{each}.py:1: x" for each in range(20_001)), is_check=True) is None
    for before, after in ((known, unknown), (unknown, known)):
        head = excuse_failures(run(after, command(0, GOOD)), base_of(before, command(0, GOOD)))
        assert decide_verdict(head) is SuiteVerdict.failed


@pytest.mark.parametrize(
    ("before", "after", "is_excused"),
    [
        ("ok 3 - login", "", False),
        ("PASS login", "", False),
        ("--- PASS: TestLogin (0.00s)", "--- PASS: TestOther (0.00s)", False),
        ("  ✓ login (3 ms)\n  ✓ adds", "  ✓ adds", False),
        ("a.py::login PASSED [ 50%]", "a.py::login SKIPPED [ 50%]", False),
        ("test login ... ok", "test adds ... ok", False),
        ("ok 3 - login", "ok 2 - login", True),  # it moved
        ("--- PASS: TestLogin (0.00s)", "--- PASS: TestLogin (0.31s)", True),
        ("  ✓ login (3 ms)", "  ✓ adds\n  ✓ login (9 ms)", True),
        ("a.py::login PASSED [ 50%]", "a.py::login PASSED [ 33%]", True),
        ("test_login (t.T.test_login) ... ok", "test_login (t.T.test_login) ... skipped", False),
        ("ok  \ta.io/b\t0.3s", "ok  \ta.io/c\t0.3s", False),
        ("ok  \ta.io/b\t0.3s", "ok  \ta.io/b\t(cached)", True),
        ("3 passed", "2 passed", False),  # it names none, but counts
        ("3 of 3 passed", "0 of 3 passed", False),
    ],
)
def test_where_a_command_failed_before_what_passed_must_still_be_said_to_pass(
    before: str, after: str, is_excused: bool
) -> None:
    """Its status would be the same, whatever becomes of the tests that passed."""
    old, new = suite(f"FAILED old\n{before}"), suite(f"FAILED old\n{after}")
    assert excuse_failures(run(new), base_of(old)).commands[0].is_excused is is_excused
    [compared] = excuse_commands(run(new), [old]).commands
    assert compared.is_excused is is_excused


def test_where_every_command_is_merely_excused_nothing_is_proved() -> None:
    after = excuse_failures(run(suite("not ok 1 - old")), base_of(suite("not ok 1 - old")))
    assert after.commands[0].is_excused
    assert decide_verdict(after) is SuiteVerdict.not_run


@pytest.mark.parametrize(
    ("before", "after", "is_excused"),
    [
        (suite("F..\n 1) A\n 2) B\n9 runs, 2 failures"), suite(".F.\n 1) B\n 2) A\n10 runs, 2 failures"), False),
        (suite("9 runs, 2 failures, 0 errors"), suite("9 runs, 2 failures, 1 errors"), False),
        (suite("Tests: 3 failed"), suite("Tests: 1 failed, 3 passed"), False),
        (suite("warning: a"), suite("warning: b"), False),  # it counts nothing
        (suite("✗ old"), suite("✗ old\n✗ login lets anybody in"), False),
        (suite("✗ old\n1 failed"), suite("✗ login lets anybody in\n1 failed"), False),
        (suite("not ok 1 - parse(3)\n1 failed in 3 s"), suite("not ok 2 - parse(4)\n1 failed in 4 s"), False),
        (
            suite("not ok 1 - parse(3) (2 ms)\nseen 8\n1 failed"),
            suite("not ok 2 - parse(3) (9 ms)\nhm 9\n1 failed"),
            False,
        ),
        (suite("x"), lint(2, "x", kind="test"), False),
        (lint(0), suite("x"), False),
        (lint(1, "a.py:3: E1"), lint(1, "a.py:3: E1\nb.py:1: E1"), False),  # a check names what it found
    ],
)
def test_a_command_without_a_report_may_say_nothing_new(
    before: CommandResult, after: CommandResult, is_excused: bool
) -> None:
    [compared] = excuse_commands(run(after), [before]).commands
    assert compared.is_excused is is_excused


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
