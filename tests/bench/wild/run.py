"""Draws merged changes of local git directories by chance, runs the rules over them, and prints what they say.

    python -m tests.bench.wild.run MIRRORS half [--each 60] [--draw]

``MIRRORS`` holds a git directory ``owner+name/repo`` for each repository of ``sample.toml``; ``half`` is ``seen`` (the
rules were written with it), ``unseen``, ``last`` or ``all``. ``--draw`` writes the drawn commits into ``drawn.txt``;
without it those that stand there are used.
"""

import argparse
import random
import re
import subprocess
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from agents.review.avoidance import find_avoidance
from agents.review.checks.inputs import is_machine_made
from domain.paths import is_source
from domain.review.avoidance import Avoidance

_HERE = Path(__file__).parent
_SAMPLE = tomllib.loads((_HERE / "sample.toml").read_text())
_DRAWN = _HERE / "drawn.txt"
_LEAST, _MOST = 8, 500  # changed lines of source
_LARGEST = 500_000  # bytes
_RECENT = 3_000  # commits of the default branch that are drawn from
_RAW = re.compile(r"^:\d+ \d+ ([0-9a-f]+) ([0-9a-f]+) ([AMDRT])\d*\t([^\t]+)(?:\t([^\t]+))?$")


def draw(mirror: Path, seed: str, number: int) -> list[str]:
    """Changes that the default branch took, in the order of chance."""
    commits = _git(mirror, "rev-list", "--first-parent", f"--max-count={_RECENT}", "HEAD").split()[:-1]
    random.Random(seed).shuffle(commits)
    drawn: list[str] = []
    for commit in commits:
        if len(drawn) == number:
            break
        if _LEAST <= _count_lines(mirror, commit) <= _MOST:
            drawn.append(commit)
    return drawn


def judge(mirror: Path, commits: Sequence[str]) -> Iterator[tuple[str, list[Avoidance]]]:
    """What the rules say of each of some changes of one repository."""
    told = _git(
        mirror,
        *("log", "--no-walk=unsorted", "--diff-merges=first-parent", "--raw", "--no-abbrev", "-M", "--format=%H"),
        *commits,
    )
    command = ["git", f"--git-dir={mirror}", "cat-file", "--batch"]
    found: dict[str, list[Avoidance]] = {commit: [] for commit in commits}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as blobs:
        commit = ""
        for line in told.splitlines():
            commit = line if line in found else commit
            parts = _RAW.match(line)
            if parts is None or parts[3] == "D" or is_machine_made(parts[5] or parts[4]):
                continue
            before, after = (_read(blobs, blob) for blob in (parts[1], parts[2]))
            if after is not None and len(after) <= _LARGEST:
                found[commit] += find_avoidance(parts[5] or parts[4], parts[4], before, after)
    yield from found.items()


def _count_lines(mirror: Path, commit: str) -> int:
    rows = (row.split("\t") for row in _git(mirror, "diff", "--numstat", f"{commit}^1", commit).splitlines())
    return sum(int(added) + int(removed) for added, removed, path in rows if added != "-" and is_source(path))


def _read(blobs: "subprocess.Popen[bytes]", blob: str) -> str | None:
    if set(blob) == {"0"}:
        return None
    assert blobs.stdin is not None
    assert blobs.stdout is not None
    blobs.stdin.write(f"{blob}\n".encode())
    blobs.stdin.flush()
    head = blobs.stdout.readline().split()
    if len(head) != 3:
        return None
    return blobs.stdout.read(int(head[2]) + 1)[:-1].decode(errors="replace")


def _git(mirror: Path, *arguments: str) -> str:
    done = subprocess.run(["git", f"--git-dir={mirror}", *arguments], capture_output=True, check=False)
    return done.stdout.decode(errors="replace")


def _list_drawn(mirrors: Path, repositories: Sequence[str], each: int, *, anew: bool) -> Iterator[tuple[str, str]]:
    if not anew:
        pairs = (line.split() for line in _DRAWN.read_text().splitlines())
        yield from ((name, commit) for name, commit in pairs if name in repositories)
        return
    for name in repositories:
        for commit in draw(_find(mirrors, name), f"{_SAMPLE['seed']} {name}", each):
            yield name, commit


def _find(mirrors: Path, name: str) -> Path:
    return mirrors / name.replace("/", "+") / "repo"


def _judge_one(task: tuple[Path, str, list[str]]) -> list[tuple[str, str, list[Avoidance]]]:
    mirrors, name, commits = task
    return [(name, commit, found) for commit, found in judge(_find(mirrors, name), commits)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("half", choices=["seen", "unseen", "last", "all"])
    parser.add_argument("--each", type=int, default=60)
    parser.add_argument("--draw", action="store_true")
    given = parser.parse_args()
    halves = ["seen", "unseen", "last"] if given.half == "all" else [given.half]
    names = [name for half in halves for name in _SAMPLE[half]]
    drawn = list(_list_drawn(given.mirrors, names, given.each, anew=given.draw))
    if given.draw:
        kept = [line for line in _DRAWN.read_text().splitlines() if line.split()[0] not in names]
        _DRAWN.write_text("\n".join([*kept, *(f"{name} {commit}" for name, commit in drawn)]) + "\n")
    tasks = [(given.mirrors, name, [commit for other, commit in drawn if other == name]) for name in names]
    kinds, changes = Counter[str](), 0
    with ProcessPoolExecutor(2) as pool:
        for name, commit, found in (each for answer in pool.map(_judge_one, tasks) for each in answer):
            changes += bool(found)
            kinds.update(each.kind.value for each in found)
            for each in found:
                print(f"{name} {commit[:12]} {each.kind} {each.path}:{each.line} {each.what}", flush=True)
    print(f"{len(drawn)} changes of {len(names)} repositories, {changes} with a remark; {dict(kinds)}")


if __name__ == "__main__":
    main()
