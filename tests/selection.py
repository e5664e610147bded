"""Chooses the slow tests that `make test` leaves out: others reach nearly every line that they reach.

`make selection` plays all of them under coverage, in an hour or two, and writes ``tests/left_out.txt``. A test that
is not in that file is played, so a new one always is. `make test-all` plays every one. Of which tests people left
out some variants, these stay left out.
"""

import heapq
import os
import sys
import time
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Set
from pathlib import Path

import pytest
from coverage import Coverage, CoverageData

from tests.left_out import FILE, load_left_out, strip_parameters

PACKAGES = ["agents", "bot", "domain", "github", "handlers", "memory", "messages", "pipeline", "safety", "workspace"]
SHARE = 0.965
"""Of the lines that all tests reach in their own process, what is to be reached. The last ones cost most."""
SHORT = 1 / 5000
"""A test that takes less of the time of all, its variants together, is always played."""
UNMEASURED = (
    "tests/stories/test_command_line.py",
    "tests/stories/test_demo.py",
    "tests/stories/test_learning_killed.py",
    "tests/stories/test_worker.py",
    "tests/threats/test_budget.py",
    "tests/threats/test_canaries.py",
    "tests/threats/test_checkout.py",
    "tests/threats/test_durability.py",
    "tests/threats/test_sandbox.py",
    "tests/threats/test_storage.py",
    "tests/migrations/",
)
"""Here Forge or an attacker runs in processes of its own, whose lines nobody counts, or what counts is no line: always
played, but for those below."""
LONGEST = frozenset(
    {
        "tests/stories/test_command_line.py::test_the_hook_reads_what_is_about_to_be_committed",
        "tests/stories/test_learning_killed.py::test_a_night_that_is_cut_short_ends_the_same",
        "tests/threats/test_canaries.py::test_t_x1_planted_secrets_are_nowhere",
        "tests/threats/test_durability.py::test_d1_killed_while_a_write_of_a_run_that_was_ended_is_on_its_way",
        "tests/threats/test_durability.py::test_d3_a_lapsed_lease_is_recovered_by_the_other",
        "tests/threats/test_durability.py::test_d3_two_executors_share_the_work",
        "tests/threats/test_durability.py::test_d4_a_run_that_waits_is_finished_by_changed_code",
        "tests/threats/test_storage.py::test_t_d3_a_process_whose_work_was_taken_over_ends",
    }
)
"""Of these, what takes long by itself, and is left out; `make security` and `make test-all` play them."""

Line = tuple[str, int]  # file and number


# --- as a plugin of pytest: `-p tests.selection`, with a folder for the data in TEST_SELECTION ---


class _Recorder:
    """Records which lines each test reaches, and how long it takes."""

    def __init__(self, folder: Path) -> None:
        file = folder / f"lines.{os.getpid()}"
        self._seconds = folder / f"seconds.{os.getpid()}"
        self._coverage = Coverage(
            data_file=file, branch=False, source=PACKAGES, concurrency=["greenlet", "thread"], config_file=False
        )
        self._coverage.start()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        self._coverage.switch_context(item.nodeid)
        began = time.monotonic()
        played = yield
        self._coverage.switch_context("")
        with self._seconds.open("a") as file:
            file.write(f"{time.monotonic() - began:.3f}\t{item.nodeid!r}\n")
        return played

    def pytest_unconfigure(self) -> None:
        self._coverage.stop()
        self._coverage.save()


def pytest_configure(config: pytest.Config) -> None:
    """Record in each process that plays tests."""
    is_controller = not hasattr(config, "workerinput") and config.getoption("numprocesses", None)
    if not is_controller:
        config.pluginmanager.register(_Recorder(Path(os.environ["TEST_SELECTION"])))


# --- as a command: `python -m tests.selection FOLDER` ---


def load_lines(folder: Path) -> Mapping[str, Set[Line]]:
    """The lines that each test reached, variants together."""
    reached: defaultdict[str, set[Line]] = defaultdict(set)
    for file in folder.glob("lines.*"):
        data = CoverageData(str(file))
        data.read()
        for path in data.measured_files():
            for line, tests in data.contexts_by_lineno(path).items():
                for test in filter(None, tests):
                    reached[strip_parameters(test)].add((path, line))
    return reached


def load_seconds(folder: Path) -> Mapping[str, float]:
    """How long each test took, variants together."""
    seconds: defaultdict[str, float] = defaultdict(float)
    for file in folder.glob("seconds.*"):
        for line in file.read_text().splitlines():
            duration, _, nodeid = line.partition("\t")
            seconds[strip_parameters(nodeid.strip("'\""))] += float(duration)
    return seconds


def choose(
    reached: Mapping[str, Set[Line]], seconds: Mapping[str, float], always: Iterable[str] = ()
) -> frozenset[str]:
    """A cheap choice of tests that together reach the :data:`SHARE` of all lines.

    :param reached: the lines of each test.
    :param seconds: how long each takes.
    :param always: tests that are chosen in any case.
    """
    chosen = set(always)
    lines = set[Line]().union(*reached.values())
    left = lines.difference(*(reached[each] for each in chosen))

    def rank(test: str) -> float:
        return -len(reached[test] & left) / max(seconds[test], 0.05)

    heap = [(rank(test), test) for test in reached.keys() - chosen]
    heapq.heapify(heap)
    while heap and len(left) > (1 - SHARE) * len(lines):
        _, test = heapq.heappop(heap)
        gain = rank(test)
        if heap and gain > heap[0][0]:  # others reached some of its lines meanwhile
            heapq.heappush(heap, (gain, test))
        elif gain:
            chosen.add(test)
            left -= reached[test]
    return frozenset(chosen)


def main(folder: Path) -> None:
    """Write which tests are left out."""
    reached, seconds = load_lines(folder), load_seconds(folder)
    spent = sum(seconds.values())
    always = {test for test, own in seconds.items() if own < SHORT * spent or _is_uncounted(test)}
    left_out = reached.keys() - choose(reached, seconds, always & reached.keys())
    by_people = {test for test in load_left_out() if strip_parameters(test) != test}
    FILE.write_text("".join(f"{test}\n" for test in sorted(left_out | by_people)))
    saved = sum(seconds[test] for test in left_out)
    sys.stdout.write(f"Left out: {len(left_out)} of {len(seconds)} tests, {saved:.0f} of {spent:.0f} s.\n")


def _is_uncounted(test: str) -> bool:
    return test.startswith(UNMEASURED) and test not in LONGEST


if __name__ == "__main__":
    main(Path(sys.argv[1]))
