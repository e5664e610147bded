"""What the run of an issue costs beyond its model, by who carries it out.

The baseline is of the same run, and what nobody can leave out: a clone, a commit and a push by git, and the tests in
the sandbox before and after the change; where an agent works in the sandbox, too, what it starts there. GitHub is on
this machine, and each answer of the model takes a second, which does not count.
"""

import statistics
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from agents.llm.scripted import ScriptedModel, Uses
from simulator.state import PullRequest
from tests.bench.measured_runs import MODEL, open_measured
from tests.toolchain import toolchain
from tests.unit.sandbox.machine import has_bubblewrap
from tests.world import command_line_agent
from tests.world.cart import DIFF
from tests.world.command_line_agent import DISCOUNT, REPORT, says
from tests.world.issues import DONE, SHOP, TASK, TEST, patches, plan
from workspace.sandbox import probing
from workspace.sandbox.bubblewrap import build_path
from workspace.sandbox.sandbox import BUBBLEWRAP, Sandbox, SandboxCommand

pytestmark = pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")

ANSWER = 1.0  # seconds a model takes
USUAL = 5.0  # seconds it takes elsewhere, for the share of a run
TIMES = 3
BAR = 6.0  # times the baseline
CHECK = "python3 tools/check.py"


@dataclass(frozen=True)
class Kind:
    """Who carries the task out.

    :param files: that ask for it.
    :param prepare: tells the model what to do.
    :param starts: what the agent starts in the sandbox.
    """

    files: Mapping[str, str]
    prepare: Callable[[ScriptedModel], object]
    starts: tuple[str, ...] = ()


KINDS = {
    "deterministic": Kind({}, lambda model: model.when(TASK, patches(DIFF, TEST), DONE)),
    "interactive, run_command": Kind(
        {
            ".github/forge.yml": "execution: {mode: interactive, commands: ['python3 *']}\n",
            "tools/check.py": "print('fine')\n",
        },
        lambda model: model.when(TASK, patches(DIFF, TEST), Uses([("run_command", {"command": CHECK})]), DONE),
        (CHECK,),
    ),
    "interactive, external agent": Kind(
        command_line_agent.FILES,
        lambda model: model.when(TASK, says(files=DISCOUNT, report=REPORT)),
        ("python3 -c 'import json, urllib.request'",),
    ),
}


async def test_time_beyond_the_model_in_each_mode(tmp_path: Path) -> None:
    sandbox = await probing.make_sandbox()
    print(
        f"\n\nThe run of an issue of one task, median of {TIMES}; SQLite, GitHub on this machine; bar {BAR:.0f} times"
    )
    print(f"{'seconds':32}{'beyond the model':>18}{'baseline':>10}{'ratio':>8}{f'at {USUAL:.0f} s an answer':>20}")
    ratios: dict[str, float] = {}
    parts: dict[str, Mapping[str, float]] = {}
    for name, kind in KINDS.items():
        beyond, alone, shares = list[float](), list[float](), list[float]()
        for number in range(TIMES):
            place = tmp_path / f"{len(parts)}-{number}"
            spent = await _carry_out(place, kind)
            parts[name] = spent
            beyond.append(sum(spent.values()) - spent[MODEL])
            alone.append(await _measure_alone(place / "alone", kind, sandbox))
            whole = beyond[-1] + spent[MODEL] * USUAL / ANSWER
            shares.append(beyond[-1] / whole)
        seconds, baseline = statistics.median(beyond), statistics.median(alone)
        ratios[name] = seconds / baseline
        share = statistics.median(shares)
        print(f"{name:32}{seconds:18.2f}{baseline:10.2f}{ratios[name]:8.1f}{share:20.1%}")
    _print_parts(parts)
    for name, ratio in ratios.items():
        assert ratio < BAR, name


def _print_parts(parts: Mapping[str, Mapping[str, float]]) -> None:
    print(f"{'seconds of the last run of each':32}" + "".join(f"{name.rpartition(', ')[2]:>18}" for name in parts))
    for what in next(iter(parts.values())):
        print(f"{what:32}" + "".join(f"{spent[what]:18.2f}" for spent in parts.values()))


async def _carry_out(folder: Path, kind: Kind) -> dict[str, float]:
    """Have an issue carried out until its pull request is ready; what the time went to."""
    model = ScriptedModel()
    model.when("Title: Discounts", plan())
    kind.prepare(model)
    async with open_measured(folder, model, ANSWER, queue_polling=0.2, write_interval=0) as (told, watched):
        repository, alice = told.repository({**SHOP, **kind.files})
        issue = await alice.open_issue(repository, "Discounts", "Customers want a discount.")
        await told.settle()
        began = time.perf_counter()
        await alice.comment(issue, "/forge run")
        await told.settle()
        [pull] = [each for each in repository.issues.values() if isinstance(each, PullRequest)]
        assert not pull.draft
        told.pass_over(issue)
        told.pass_over(pull)
        return watched.sum_seconds(await told.runs(), began)


async def _measure_alone(folder: Path, kind: Kind, sandbox: Sandbox) -> float:
    """Seconds that git and the sandbox take for the same, with nothing around them."""
    origin, tree = folder / "origin", folder / "tree"
    for path, text in {**SHOP, **kind.files}.items():
        file = origin / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    _git(origin, "init", "--quiet", "--initial-branch=main")
    _commit(origin)
    began = time.perf_counter()
    _git(folder, "clone", "--quiet", str(origin), str(tree))
    await _start(sandbox, tree, "python3 -m pytest -q -p no:cacheprovider")
    for command in kind.starts:
        await _start(sandbox, tree, command)
    for path, text in DISCOUNT.items():
        (tree / path).write_text(str(text))
    _git(tree, "switch", "--quiet", "--create", "forge/issue")
    _commit(tree)
    _git(tree, "push", "--quiet", "origin", "forge/issue")
    await _start(sandbox, tree, "python3 -m pytest -q -p no:cacheprovider")
    return time.perf_counter() - began


async def _start(sandbox: Sandbox, tree: Path, line: str) -> None:
    reads = (toolchain(),)
    with sandbox.folder() as folder:
        for path in [*tree.glob("*.toml"), *tree.glob("*/*.py")]:
            copy = folder / path.relative_to(tree)
            copy.parent.mkdir(exist_ok=True)
            copy.write_bytes(path.read_bytes())
        environment = {"PATH": build_path(reads), "PYTHONDONTWRITEBYTECODE": "1"}
        command = SandboxCommand(("/bin/sh", "-c", line), folder, reads=reads, environment=environment)
        done = await sandbox.run(command, BUBBLEWRAP)
    assert done.status == 0, done.stderr.data


def _commit(tree: Path) -> None:
    _git(tree, "add", "--all")
    _git(tree, "-c", "user.name=a", "-c", "user.email=a@localhost", "commit", "--quiet", "--message", "All")


def _git(folder: Path, *words: str) -> None:
    subprocess.run(["git", "-C", str(folder), *words], check=True, capture_output=True)
