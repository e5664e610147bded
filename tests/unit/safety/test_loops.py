"""Loop detection finds agents that go in circles and leaves alone those that only look like it."""

from collections.abc import Sequence
from dataclasses import asdict
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safety import guards
from safety.guards import Iteration, Loop, normalise, to_step
from tests.unit.safety.histories import FALSE_ALARMS, LOOPS, NO_LOOPS, UNSEEN_LOOPS, build_log, steps


def detect(history: Sequence[Iteration]) -> Loop | None:
    return guards.find_loop([to_step(each) for each in history])


PERIODS = {"a change made and taken back": 2, "two files read in turns": 2, "look, search, list, and again": 3}


@pytest.mark.parametrize("name", LOOPS)
def test_a_loop_is_found_and_not_before_it_is_one(name: str) -> None:
    assert detect(LOOPS[name]) == Loop(PERIODS.get(name, 1))
    assert detect(LOOPS[name][:-1]) is None


@pytest.mark.parametrize("name", NO_LOOPS)
def test_what_only_looks_like_a_loop_is_left_alone(name: str) -> None:
    history = NO_LOOPS[name]
    assert [detect(history[: turn + 1]) for turn in range(len(history))] == [None] * len(history)


def test_both_rates() -> None:
    """The hard cases count, too; those it gets wrong are named, so that a change of the rates is seen."""
    circling, others = LOOPS | UNSEEN_LOOPS, NO_LOOPS | FALSE_ALARMS
    missed = {name for name, history in circling.items() if detect(history) is None}
    alarms = {name for name, history in others.items() if detect(history) is not None}
    assert (missed, alarms) == (set(UNSEEN_LOOPS), set(FALSE_ALARMS))
    assert 1 - len(missed) / len(circling) >= 0.88
    assert len(alarms) / len(others) <= 0.07


def test_a_loop_that_was_left_is_none_any_more() -> None:
    for history in LOOPS.values():
        assert detect([*history, Iteration(action="ask", output="What is the total of an empty cart?")]) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("at 2026-03-01T12:00:00.123Z", "at 2025-11-30T07:59:01Z"),
        ("2026-03-01 12:00:00,123 INFO start", "2026-03-02 02:03:04,001 INFO start"),
        ("Mar  1 12:00:01 host run", "Nov 30 02:00:59 host run"),
        ("Sun, 01 Mar 2026 12:00:00 GMT", "Mon, 02 Mar 2026 14:10:20 GMT"),
        ("[12:00:01] done", "[23:59:59.5] done"),
        ("time=1767225600", "time=1767225999.25"),
        ("took 1.25s", "took 900 ms"),
        ("built in 1m 30s", "built in 2 minutes 4 seconds"),
        ("HEAD is at 1f2e3d4", "HEAD is at 9a8b7c6d5e4f"),
        ("object at 0x7f3a10", "object at 0x55ffee01"),
        ("9f1c2d3e-1111-4111-8111-abcdefabcdef", "00000000-2222-4222-9222-123456abcdef"),
        ("01JNB3Z5V8Q0W2E4R6T8Y0V2J4", "01JNB3Z5V8Q0W2E4R6T8Y0A1B2"),
        ("/tmp/tmpab12cd/x.py", "/tmp/tmpzz99_q/x.py"),
        ("/private/var/folders/ab/c0ffee/T/tmpab12/x", "/private/var/folders/zz/1234/T/tmpqq77/x"),
        ("run 17654321098 failed", "run 17654329999 failed"),
        ("attempt 1 of 5", "attempt 4 of 5"),
        ("\x1b[31mFAILED\x1b[0m", "FAILED"),
        ("[40213] started\napp[77]: ready", "[40377] started\napp[9001]: ready"),
        ("a\nb", "b\r\na\n\n"),
        ("a  b", "a\tb"),
    ],
)
def test_what_differs_every_time_is_left_out(one: str, other: str) -> None:
    assert normalise(one) == normalise(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3 failed, 8 passed", "2 failed, 9 passed"),
        ("5/14 jobs", "6/14 jobs"),
        ("job 3 of 14", "job 4 of 14"),
        ("job 1003 of 2000", "job 1004 of 2000"),
        ("45 %", "46 %"),
        ("src/cart.py:12:34", "src/cart.py:13:35"),
        ("12 minutes remaining", "8 minutes remaining"),
        ("ETA: 40s", "ETA: 20s"),
        ("epoch 3, iteration 100", "epoch 3, iteration 200"),
        ("due 2026-03-01", "due 2026-03-02"),
        ("exit code 1", "exit code 2"),
        ("version 1.2.3", "version 1.2.4"),
        ("/work/a/cart.py", "/work/b/cart.py"),
        ("/tmp/a.txt", "/tmp/b.txt"),
        ("decade", "facade"),
        ("coverage 81.5%", "coverage 81.6%"),
        ("got [1003]", "got [1004]"),
        ("got [1, 2]", "got [2, 1]"),
    ],
)
def test_what_means_something_stays(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


WORDS = st.text("ab1 /:.-", max_size=12)
TURNS = st.builds(Iteration, thought=WORDS, action=WORDS, output=WORDS)


@given(st.lists(TURNS, max_size=6), st.lists(TURNS, min_size=1, max_size=3))
def test_three_rounds_of_anything_are_a_loop(before: list[Iteration], unit: list[Iteration]) -> None:
    assert detect([*before, *unit * 3]) is not None


@given(st.lists(TURNS, max_size=2))
def test_less_than_three_turns_are_none(history: list[Iteration]) -> None:
    assert detect(history) is None


@given(st.lists(TURNS, max_size=8), TURNS)
def test_a_new_result_ends_every_loop(history: list[Iteration], turn: Iteration) -> None:
    fresh = Iteration(turn.thought, "look", f"{turn.output} and something quite new")
    assert detect([*history, fresh]) is None


@given(st.text(max_size=300))
def test_normalising_never_fails(text: str) -> None:
    normalise(text)


@pytest.mark.parametrize(
    "output",
    [
        build_log(11),
        "1" * 1_000_000,
        "a" * 1_000_000,
        "/tmp/" * 200_000,
        "1 s " * 250_000,
        "id " + " " * 1_000_000,
        "0x" * 500_000,
        "12:" * 330_000,
        "\n" * 1_000_000,
        "remaining " * 100_000,
        "1.1," * 250_000,
    ],
    ids=lambda output: repr(output[:8]),
)
def test_a_megabyte_is_quick(output: str) -> None:
    history = [Iteration(output, output, output + str(number)) for number in range(9)]
    began = perf_counter()
    detect(history)
    assert perf_counter() - began < 5  # seconds; about 0.1 where nothing else runs


def test_all_of_a_long_action_counts() -> None:
    def action(middle: str) -> str:
        return f"write_file a.py {'x = 1 ' * 10_000}{middle}{'y = 2 ' * 10_000}"

    assert detect(steps(*((action(middle), "ok") for middle in "abc"))) is None
    assert detect(steps(*((action(middle), "ok") for middle in "aaa"))) == Loop(1)


def test_an_action_with_much_more_to_it_is_another_one() -> None:
    result = "error: nothing to be done here\n" + "see the manual\n" * 10
    assert detect(steps(*((action, result) for action in ("make", "make", "make clean")))) == Loop(1)
    assert detect(steps(*((action, result) for action in ("make", "make", "make clean install test")))) is None


def test_only_the_ends_of_a_long_output_are_looked_at() -> None:
    ends = "x\n" * 10_000
    assert normalise(f"{ends}one{ends}") == normalise(f"{ends}other{ends}")
    assert normalise(f"{ends}{ends}one") != normalise(f"{ends}{ends}other")
    assert len(normalise("x" * 1_000_000)) < 40_000


@pytest.mark.parametrize("action", ["", "read_file a.py\n" * 10_000])
def test_a_step_is_small_whatever_a_tool_printed(action: str) -> None:
    seen = to_step(Iteration("I look. " * 10_000, action, build_log(5) * 1_000, "failed " * 10_000))
    assert sum(len(str(part)) for part in asdict(seen).values()) < 2_600


def test_a_long_action_is_the_same_apart_from_what_differs_every_time() -> None:
    result = "error: patch failed"
    assert detect(steps(*((f"apply /tmp/tmpab{n}cd {'x ' * 2_000}", result) for n in range(3)))) == Loop(1)


def test_what_was_done_is_told_apart_by_every_space() -> None:
    indented = [to_step(Iteration(action=f"edit if x:\n{' ' * by}y()")) for by in (2, 4)]
    assert indented[0].action == indented[1].action
    assert indented[0].did != indented[1].did
