"""What it costs to give a job its copy of a home of 5,000 files and 200 MB, against a plain ``cp -a`` of the same."""

import asyncio
import os
import statistics
import subprocess
import time
from pathlib import Path

from workspace.dependency_cache import MOST, DependencyCache
from workspace.safe_copy import remove_tree
from workspace.sandbox.accounts import find_account

ROUNDS, FOLDERS, EACH, SIZE = 3, 50, 100, 40_000


async def test_a_copy_against_cp(tmp_path: Path) -> None:
    """Median of 3, in turn; what is measured is a copy that is given to the account of the sandbox."""
    home = tmp_path / "home"
    for folder in range(FOLDERS):
        place = home / ".cache" / str(folder)
        place.mkdir(parents=True)
        for number in range(EACH):
            (place / str(number)).write_bytes(os.urandom(SIZE))
    cache = DependencyCache(tmp_path / "dependencies", most_bytes=MOST.bytes)
    assert cache.may_fill(1, "key")
    started = time.perf_counter()
    await cache.keep(1, "key", home, os.geteuid())
    filled = time.perf_counter() - started
    kept = cache.find(1, "key")
    assert kept is not None
    ours: list[float] = []
    theirs: list[float] = []
    for number in range(ROUNDS):
        copy = tmp_path / f"copy-{number}"
        copy.mkdir()
        started = time.perf_counter()
        await kept.copy_to(copy, find_account("nobody"))
        ours.append(time.perf_counter() - started)
        remove_tree(copy)
        started = time.perf_counter()
        await asyncio.to_thread(subprocess.run, ["cp", "-a", str(kept.path / "home"), str(copy)], check=True)
        theirs.append(time.perf_counter() - started)
        remove_tree(copy)
    mine, cp = statistics.median(ours), statistics.median(theirs)
    print(f"\n\nA home of {FOLDERS * EACH:,} files, {FOLDERS * EACH * SIZE / 1e6:.0f} MB; median of {ROUNDS}")
    print(f"copied in {mine:.2f} s   cp -a in {cp:.2f} s   {mine / cp:.2f}   kept in {filled:.2f} s")
    assert mine < 5 * cp
