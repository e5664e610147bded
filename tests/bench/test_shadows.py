"""What a shadow costs beside git doing the same: to start one, and to read back what was changed in it."""

import subprocess
import time
from pathlib import Path

import pytest

from tests.bench.repositories import make_repository
from tests.unit.sandbox.machine import has_bubblewrap
from workspace.git import Git
from workspace.objects import Objects
from workspace.sandbox import probing
from workspace.shadow import open_shadow

pytestmark = pytest.mark.skipif(not has_bubblewrap(), reason="no bwrap here")

_CHANGED = 20  # files
_TIMES = 3


@pytest.mark.parametrize("count", [5_000, 49_000])
async def test_a_shadow_beside_git(tmp_path: Path, count: int) -> None:
    """git writes the files once and looks for changes; a shadow gives them to another account, too."""
    tree = tmp_path / "tree"
    commit = make_repository(tree, count)
    objects, sandbox = Objects(Git(tree / ".git")), await probing.make_sandbox()
    started, read, added, asked = (list[float]() for _ in range(4))
    for number in range(_TIMES):
        place = tmp_path / f"worktree{number}"
        added.append(_measure("git", "-C", str(tree), "worktree", "add", "--quiet", "--detach", str(place), commit))
        _change(place)
        asked.append(_measure("git", "-C", str(place), "status", "--porcelain"))
        began = time.perf_counter()
        async with open_shadow(objects, commit, sandbox) as shadow:
            started.append(time.perf_counter() - began)
            _change(shadow.checkout.code)
            began = time.perf_counter()
            changed = await shadow.read_changes()
            read.append(time.perf_counter() - began)
        assert len(changed.change.files) == _CHANGED
    start, look = min(started) / min(added), min(read) / min(asked)
    print(
        f"\n{count:,} files: a shadow starts in {1000 * min(started):.0f} ms, {start:.1f} times `git worktree add`; "
        f"{_CHANGED} changes are read in {1000 * min(read):.0f} ms, {look:.1f} times `git status`"
    )
    assert start < 5
    assert look < 8


def _change(place: Path) -> None:
    for number in range(_CHANGED):
        (place / f"src/part{number}/file1.py").write_text("VALUE = 0\n")


def _measure(*command: str) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, capture_output=True)
    return time.perf_counter() - began
