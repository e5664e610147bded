"""How long the validator takes for one file and for a diff of 1,000 files, against ``git apply --check``."""

import statistics
import time
from collections.abc import Callable
from pathlib import Path

from domain.config.limits import PathRule
from domain.runs.patches import Areas, ChangeSet
from tests.unit.patches.building import Git, tree
from workspace.patches.tree import FileTree
from workspace.patches.validation import judge, validate

ROUNDS, FILES, OTHERS, LINES = 7, 1_000, 20_000, 400
AREAS = Areas(
    role="implementer",
    allowed=tuple(f"src/package_{number}/**" for number in range(100)),
    forbidden=("secrets/**", "**/*.pem", "infra"),
    protected=("deploy/**", "**/Dockerfile*"),
    rules=(PathRule(paths=("tests/**", "**/*_test.py"), roles=("tester",)),),
)


def test_validator_against_git_apply(tmp_path: Path) -> None:
    """Files of 400 lines, three hunks each, among 20,000 others; the change as a patch and as a whole before a push."""
    text = "".join(f"    value_{line} = compute({line}, seed=7)\n" for line in range(LINES))
    before = {f"src/package_{i % 100}/module_{i}.py": text.encode() for i in range(FILES)}
    after = {path: _edit(text, i).encode() for i, path in enumerate(before)}
    git = Git(tmp_path)
    diff = git.diff(before, after)
    git.run("read-tree", git.tree(before))
    first = diff[: diff.index(b"diff --git", 1)]
    base = tree(before | {f"other/folder_{i % 500}/file_{i}.py": b"" for i in range(OTHERS)})
    cold = _seconds(lambda: base.index)
    print(f"\n\nValidator, median of {ROUNDS}; {OTHERS:,} other files, looked through once in {cold * 1000:.0f} ms")
    _compare("1 file", first, base, git, budget=0.050, most=0.2)
    _compare(f"{FILES:,} files", diff, base, git, budget=1.0, most=5.0)


def _compare(name: str, diff: bytes, base: FileTree, git: Git, budget: float, most: float) -> None:
    """Print the times.

    :param budget: seconds a patch should take; :param most: that it may take on any machine.
    """
    made: list[ChangeSet] = []

    def patch() -> None:
        judged = judge(diff, base, AREAS)
        assert judged.change is not None, judged.violations[:3]
        made.append(judged.change)

    def whole() -> None:
        assert validate(made[-1], AREAS, base) == ()

    def check() -> None:
        done = git.run("apply", "--cached", "--check", "-", stdin=diff)
        assert done.returncode == 0, done.stderr

    times = [[_seconds(each) for each in (patch, whole, check)] for _ in range(ROUNDS)]
    ours, again, theirs = (statistics.median(column) for column in zip(*times, strict=True))
    print(
        f"{name:12} {len(diff) / 1000:7.0f} kB   patch {ours * 1000:7.1f} ms   whole change {again * 1000:7.1f} ms"
        f"   git {theirs * 1000:7.1f} ms   {ours / theirs:5.2f} of git   {ours / budget:5.2f} of the budget"
    )
    assert ours < most


def _edit(text: str, seed: int) -> str:
    lines = text.splitlines(keepends=True)
    for place in (20, 150, 390):
        lines[place] = f"    changed = {seed}\n    added = {place}\n"
    return "".join(lines)


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started
