"""How long `forge --help` and `forge review` of a small change take, against Python that loads our parsers."""

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

ROUNDS = 9
_PARSERS = [sys.executable, "-c", "from agents import worker_jobs; worker_jobs.prepare()"]
"""What a review has to wait for."""
_FORGE = [sys.executable, "-m", "bot"]
_GIT = ["git", "-c", "user.name=a", "-c", "user.email=a@example.com"]


def test_commands_without_a_server(tmp_path: Path) -> None:
    """In turn; the change is two lines of one file."""
    (tmp_path / "app.py").write_text("def double(x):\n    return x * 2\n")
    for arguments in (["init", "--quiet", "--initial-branch=main"], ["add", "."], ["commit", "--quiet", "-m", "one"]):
        subprocess.run([*_GIT, *arguments], cwd=tmp_path, check=True)
    (tmp_path / "app.py").write_text("def double(x):\n    y = eval(x)\n    return y * 2\n")
    commands = {"parsers": _PARSERS, "help": [*_FORGE, "--help"], "review": [*_FORGE, "review", str(tmp_path)]}
    times = {name: [0.0] * ROUNDS for name in commands}
    for turn in range(ROUNDS):
        for name, command in commands.items():
            times[name][turn] = _seconds(command)
    taken = {name: statistics.median(each) for name, each in times.items()}
    print(f"\n\nMedians of {ROUNDS}, and how many times what the parsers take to load")
    for name, seconds in taken.items():
        print(f"{name:8}{seconds:6.2f} s{seconds / taken['parsers']:6.2f}")


def _seconds(command: Sequence[str]) -> float:
    began = time.perf_counter()
    done = subprocess.run(command, check=False, capture_output=True)
    assert done.returncode in (0, 1), done.stderr
    return time.perf_counter() - began
