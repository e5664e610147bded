"""What the run of an issue costs beyond the model's own time, where that goes, and how many tokens it sends.

Each answer of the model really takes five seconds. The baselines are of the same run: the model's own time, the same
tests started by hand, and the tokens of the issue, the files and the diffs themselves. GitHub is the simulator on this
machine, so its own time is next to nothing; the second column keeps a second between two writes, as GitHub asks for.
"""

import re
import subprocess
import time
from collections import Counter
from pathlib import Path

from simulator import RequestInfo
from simulator.state import PullRequest
from tests.bench.measured_runs import MODEL, open_measured, print_tokens
from tests.chaos.model import SHOP, build_planner, shop
from tests.toolchain import toolchain

ANSWER = 5.0  # seconds a model takes
BAR = 0.05  # of a run, beyond the model
LOOKS = 6  # for each task; with what it needs beside them it stays within the guards


async def test_time_beyond_the_model_of_a_run_that_reads(tmp_path: Path) -> None:
    """The same as below, but for each of its tasks the model reads some files first, a turn for each."""
    spent = await _carry_out(tmp_path / "reads", LOOKS, write_interval=1.0)
    whole, beyond = sum(spent.values()), sum(spent.values()) - spent[MODEL]
    print(f"\n\nThe run of an issue whose model reads {LOOKS} files for each task, {ANSWER:.0f} s for each answer")
    print(f"{spent[MODEL] / ANSWER:.0f} answers; {beyond:.1f} s beyond them, {beyond / whole:.1%}; bar {BAR:.0%}")


async def test_time_beyond_the_model(tmp_path: Path) -> None:
    """Two tasks, a review, a test that fails, its analysis, what mends it, and all that once more."""
    print(f"\n\nThe run of an issue, {ANSWER:.0f} s for each answer of the model; SQLite, GitHub on this machine")
    unpaced = await _carry_out(tmp_path / "unpaced", write_interval=0)
    paced = await _carry_out(tmp_path / "paced", write_interval=1.0, tells=True)
    by_hand = _by_hand(tmp_path / "by hand")
    print(f"{'seconds of':36}{'writes unpaced':>16}{'as deployed':>16}")
    for what in sorted(paced, key=lambda what: -paced[what]):
        print(f"{what:36}{unpaced[what]:16.2f}{paced[what]:16.2f}")
    beyond = [sum(spent.values()) - spent[MODEL] for spent in (unpaced, paced)]
    for name, spent, seconds in zip(("writes unpaced", "as deployed"), (unpaced, paced), beyond, strict=True):
        print(
            f"{name}: {seconds:.1f} s beyond the model, {seconds / sum(spent.values()):.1%} of the run; bar {BAR:.0%}"
        )
    print(f"waiting for the second between two writes: {beyond[1] - beyond[0]:.1f} s")
    print(f"the same tests started three times by hand: {3 * by_hand:.2f} s")


async def _carry_out(folder: Path, looks: int = 0, *, tells: bool = False, **settings: object) -> dict[str, float]:
    """Have the issue carried out until its pull request is ready; what the time went to.

    :param looks: files that the model reads first for whatever it does.
    :param tells: whether writes and tokens are printed.
    """
    model = build_planner("low", looks)
    async with open_measured(folder, model, ANSWER, queue_polling=0.2, **settings) as (told, watched):
        repository, alice = told.repository(shop(looks))
        issue = await alice.open_issue(repository, "Discounts", "Customers want a discount.")
        await told.settle()
        before, began = len(told.github.requests), time.perf_counter()
        await alice.label(issue, "forge")
        await told.settle()
        [pull] = [each for each in repository.issues.values() if isinstance(each, PullRequest)]
        told.answers(issue)
        told.comments(pull)
        assert not pull.draft
        writes = Counter(_kind(each) for each in told.github.requests[before:] if each.write and each.applied)
        if tells:
            print(f"{writes.total()} writes to GitHub: {dict(writes.most_common())}")
            print_tokens(watched.calls, repository, issue, pull)
        return watched.sum_seconds(await told.runs(), began)


def _kind(request: RequestInfo) -> str:
    """Which kind of write it was."""
    return f"{request.method} {re.sub(r'[0-9]+', 'N', request.path)}"


def _by_hand(folder: Path) -> float:
    """Seconds that the tests take when nothing contains them."""
    for path, text in SHOP.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    began = time.perf_counter()
    command = [toolchain() / "bin" / "python3", "-m", "unittest"]
    subprocess.run(command, cwd=folder, capture_output=True, check=True)
    return time.perf_counter() - began
