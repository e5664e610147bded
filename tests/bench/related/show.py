"""Prints the related code of merged changes, by symbols and by words as it was before, to be judged.

    python -m tests.bench.related.show MIRRORS seen|unseen [--draw] [--key KEY] > PASSAGES

``MIRRORS`` holds a git directory ``owner+name/repo`` for each repository of ``sample.toml``. ``--draw`` draws the
commits by chance and writes them into ``drawn.txt``; without it those that stand there are used. Both ways' passages
stand below each diff, shuffled, each once; ``KEY`` is the file that says which way found which, and what it took.
"""

import argparse
import asyncio
import json
import random
import subprocess
import time
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from agents.llm.prices import estimate
from agents.review.model.related import RelatedCode, render_related
from agents.syntax.languages import find_language
from agents.syntax.symbols.grammars import GRAMMARS
from domain.review.changes import Change
from tests.bench.related.symbols import find_by_symbols
from tests.bench.related.words import find_by_words
from workspace.diff import DiffLimits
from workspace.git import Git
from workspace.objects import Objects

_HERE = Path(__file__).parent
_SAMPLE = tomllib.loads((_HERE / "sample.toml").read_text(encoding="utf-8"))
_DRAWN = _HERE / "drawn.txt"
_LEAST, _MOST = 6, 250  # changed lines of source
_RECENT = 1_500  # commits of the default branch that are drawn from
_LONGEST_DIFF = 260  # lines that are printed


@dataclass(frozen=True)
class Way:
    """One way to find related code, and what it took.

    :param seconds: for all of it, with reading the repository.
    """

    name: str
    found: tuple[RelatedCode, ...]
    seconds: float

    @property
    def tokens(self) -> int:
        return sum(map(estimate, render_related(self.found, str)))


def draw(mirror: Path, seed: str, number: int) -> list[str]:
    """Changes of source that the default branch took, in the order of chance."""
    commits = _git(mirror, "rev-list", "--first-parent", "--min-parents=1", f"--max-count={_RECENT}", "HEAD").split()
    random.Random(seed).shuffle(commits)
    fitting = (commit for commit in commits if _LEAST <= _count_lines(mirror, commit) <= _MOST)
    return list(islice(fitting, number))


def _count_lines(mirror: Path, commit: str) -> int:
    """The changed lines of source; 0 where the mirror lacks a file."""
    rows = [line.split("\t") for line in _git(mirror, "diff", "--numstat", f"{commit}^1", commit).splitlines()]
    return sum(int(row[0]) + int(row[1]) for row in rows if row[0].isdigit() and find_language(row[2]) in GRAMMARS)


def _git(mirror: Path, *arguments: str) -> str:
    command = ["git", f"--git-dir={mirror}", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True, errors="replace").stdout


async def compare(mirror: Path, commit: str) -> tuple[Change, list[Way]]:
    """The related code of a change, found both ways."""
    objects = Objects(Git(mirror))
    base = _git(mirror, "rev-parse", f"{commit}^1").strip()
    change = await objects.change(base, commit, DiffLimits())
    versions = await objects.versions(change.files)
    ways: list[Way] = []
    for name, search in (("symbols", find_by_symbols), ("words", find_by_words)):
        started = time.perf_counter()
        found = await search(objects, commit, change, versions)
        ways.append(Way(name, found, time.perf_counter() - started))
    return change, ways


def shuffle(ways: Sequence[Way], seed: str) -> Iterator[tuple[RelatedCode, list[str]]]:
    """The passages of all ways in the order of chance, each once, and which ways found it."""
    found: dict[tuple[str, int], tuple[RelatedCode, list[str]]] = {}
    for way in ways:
        for each in way.found:
            found.setdefault((each.path, each.start), (each, []))[1].append(way.name)
    passages = list(found.values())
    random.Random(seed).shuffle(passages)
    yield from passages


async def show(mirrors: Path, drawn: Sequence[tuple[str, str]], key: Path) -> None:
    """Print the diff of each change and its passages, and write the key."""
    with key.open("w", encoding="utf-8") as out:
        for number, (repository, commit) in enumerate(drawn, 1):
            mirror = mirrors / repository.replace("/", "+") / "repo"
            change, ways = await compare(mirror, commit)
            print(
                f"##### {number} {repository} {commit[:12]}: {_git(mirror, 'log', '-1', '--format=%s', commit).strip()}"
            )
            paths = [file.path for file in change.files if find_language(file.path) in GRAMMARS]
            diff = _git(mirror, "diff", f"{commit}^1", commit, "--", *paths).splitlines()
            print("\n".join(diff[:_LONGEST_DIFF]))
            passages: dict[str, list[str]] = {}
            for place, (passage, names) in enumerate(shuffle(ways, commit)):
                label = f"{number}{chr(ord('a') + place)}"
                passages[label] = names
                print(f"---- {label}", *render_related([passage], str), sep="\n")
            took = {way.name: {"tokens": way.tokens, "ms": round(way.seconds * 1000)} for way in ways}
            row = {"change": number, "repository": repository, "commit": commit, "passages": passages, "took": took}
            out.write(json.dumps(row) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("part", choices=["seen", "unseen"])
    parser.add_argument("--draw", action="store_true")
    parser.add_argument("--key", type=Path, default=Path("key.jsonl"))
    arguments = parser.parse_args()
    rows = [line.split() for line in _DRAWN.read_text(encoding="utf-8").splitlines()]
    if arguments.draw:
        rows = [row for row in rows if row[0] != arguments.part]
        for name in _SAMPLE[arguments.part]:
            drawn = draw(arguments.mirrors / name.replace("/", "+") / "repo", _SAMPLE["seed"], _SAMPLE["each"])
            rows += [[arguments.part, name, commit] for commit in drawn]
        _DRAWN.write_text("\n".join(map(" ".join, rows)) + "\n", encoding="utf-8")
    chosen = [(name, commit) for part, name, commit in rows if part == arguments.part]
    asyncio.run(show(arguments.mirrors, chosen, arguments.key))


if __name__ == "__main__":
    main()
