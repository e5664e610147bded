"""Plays branches of public repositories push by push through the checks, and lists findings that are not kept.

    python -m tests.bench.pushes.play MIRRORS seen|unseen [--each 10] [--draw] [--only OWNER/NAME]

``MIRRORS`` holds a git directory ``owner+name/repo`` for each repository of ``sample.toml``. ``--draw`` writes the
drawn branches into ``drawn.txt``: those that a merge brought and that have several commits, each of them a push. Each
line that is printed is a JSON object: what came ``again`` although something alike was told before, what ``changed in
place`` and is the same all the same, what ``ended`` although its line is still there, and at the end the sums. Whether
that is wrong takes a look at the code.
"""

import argparse
import asyncio
import json
import random
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agents.review import reviewer
from agents.review.layers import ModelPart
from agents.toolbox import Toolbox
from domain.config.configuration import Configuration
from domain.errors import ForgeError
from domain.review.findings import Finding, Layer
from domain.review.identity import follow
from domain.review.review import LayerReport, Review
from pipeline.publishing.reviews import choose_inline
from safety.risk import PullRequestAuthor
from safety.suppression import is_gone
from tests.bench.wild.play import LocalMirror
from workspace.sandbox.worker_pool import WorkerLimits, WorkerPool

_HERE = Path(__file__).parent
_SAMPLE = tomllib.loads((_HERE / "sample.toml").read_text())
_DRAWN = _HERE / "drawn.txt"
_RECENT = 1_500  # merges of the default branch that are drawn from
_LEAST, _MOST = 3, 12  # commits of a branch
_FEWEST = 8  # characters of a line that say enough to be looked for
_PATIENCE = 120.0  # seconds for one push, as others may use the machine
_NO_MODEL = ModelPart(report=LayerReport(layer=Layer.model))


def draw(mirror: Path, seed: str, number: int) -> list[str]:
    """Merges into the default branch that brought several commits, in the order of chance."""
    listed = _git(mirror, "rev-list", "--first-parent", "--min-parents=2", f"--max-count={_RECENT}", "HEAD").split()
    random.Random(seed).shuffle(listed)
    drawn: list[str] = []
    for merge in listed:
        if len(drawn) == number:
            break
        if _LEAST <= len(list_pushes(mirror, merge)) <= _MOST:
            drawn.append(merge)
    return drawn


def list_pushes(mirror: Path, merge: str) -> list[str]:
    """The commits of the branch that a merge brought, the oldest first."""
    return _git(mirror, "rev-list", "--reverse", "--first-parent", f"{merge}^1..{merge}^2").split()


@dataclass
class Told:
    """What a pull request was told so far.

    :param known: fingerprint → each finding as it was found last.
    :param posted: fingerprints of those that have a comment.
    :param over: of those whose comment says that they no longer apply.
    :param texts: fingerprint → the line it was found at last.
    """

    known: dict[str, Finding] = field(default_factory=dict[str, Finding])
    posted: set[str] = field(default_factory=set[str])
    over: set[str] = field(default_factory=set[str])
    texts: dict[str, str] = field(default_factory=dict[str, str])
    counted: Counter[str] = field(default_factory=Counter[str])


class Player:
    """Plays the branches of one repository.

    :param name: owner/name.
    """

    def __init__(self, name: str, git_dir: Path, toolbox: Toolbox) -> None:
        self._name = name
        self._git_dir = git_dir
        self._mirror = LocalMirror(git_dir)
        self._toolbox = toolbox

    async def play(self, merge: str, counted: Counter[str]) -> None:
        """Push the branch of a merge, commit by commit, and print what does not keep itself."""
        told = Told(counted=counted)
        base = _git(self._git_dir, "merge-base", f"{merge}^1", f"{merge}^2").strip()
        for head in list_pushes(self._git_dir, merge):
            counted["heads"] += 1
            try:
                async with asyncio.timeout(_PATIENCE):
                    await self._push(told, base, head)
            except (ForgeError, TimeoutError) as error:
                counted["failed"] += 1
                print(json.dumps({"failed": f"{self._name} {head[:10]}", "why": repr(error)}), flush=True)

    async def _push(self, told: Told, base: str, head: str) -> None:
        change = await self._mirror.change(await self._mirror.merge_base(base, head), head)
        checked = await reviewer.check(
            change, self._mirror, self._toolbox, Configuration(), PullRequestAuthor(), _compare_nothing
        )
        renamed = {each.path: each.old_path for each in change.touched if each.old_path is not None}
        followed = follow(checked.findings, [*told.known.values()], renamed)
        review = reviewer.build_review(checked.model_copy(update={"findings": followed}), _NO_MODEL)
        files = {each.path for each in (*review.findings, *told.known.values())}
        contents = await self._mirror.read(head, [*files], 2_000_000)
        lines = {path: text.decode(errors="replace").split("\n") for path, text in contents.items()}
        there = {each.fingerprint for each in review.findings}
        for finding in review.findings:
            if finding.fingerprint not in told.known:
                told.counted["findings"] += 1
                self._tell_again(told, finding, there, renamed, head, lines)
            else:
                self._tell_changed(told, finding, head, lines)
        self._end(told, review, head, lines)
        for finding in review.findings:
            told.known[finding.fingerprint] = finding
            told.texts[finding.fingerprint] = _read_line(lines.get(finding.path, []), finding.line)
        new = choose_inline(review, told.posted, 25)
        told.posted |= {each.fingerprint for remark in new for each in remark}
        told.over -= there

    def _tell_again(
        self,
        told: Told,
        finding: Finding,
        there: set[str],
        renamed: dict[str, str],
        head: str,
        lines: dict[str, list[str]],
    ) -> None:
        names = {finding.path, renamed.get(finding.path, finding.path)}
        text = _read_line(lines.get(finding.path, []), finding.line)
        for mark, before in told.known.items():
            is_alike = before.path in names or (len(text) >= _FEWEST and told.texts[mark] == text)
            if mark not in there and before.rule == finding.rule and is_alike:
                told.counted["again"] += 1
                self._print("again", head, finding, text, before, told.texts[mark], posted=mark in told.posted)

    def _tell_changed(self, told: Told, finding: Finding, head: str, lines: dict[str, list[str]]) -> None:
        before = told.known[finding.fingerprint]
        told.counted["kept"] += 1
        if before.statement != finding.statement:
            told.counted["changed in place"] += 1
            text = _read_line(lines.get(finding.path, []), finding.line)
            was = told.texts[finding.fingerprint]
            self._print("changed in place", head, finding, text, before, was)

    def _end(self, told: Told, review: Review, head: str, lines: dict[str, list[str]]) -> None:
        for mark in told.posted - told.over:
            finding = told.known[mark]
            if not is_gone(finding, review, told.posted, called_gone=False):
                continue
            told.over.add(mark)
            told.counted["ended"] += 1
            text = told.texts[mark]
            if len(text) >= _FEWEST and text in {" ".join(each.split()) for each in lines.get(finding.path, [])}:
                told.counted["ended, line there"] += 1
                self._print("ended", head, finding, text)

    def _print(
        self,
        what: str,
        head: str,
        finding: Finding,
        text: str,
        before: Finding | None = None,
        was: str = "",
        *,
        posted: bool = True,
    ) -> None:
        row = {
            "what": what,
            "where": f"{self._name} {head[:10]} {finding.path}:{finding.line}",
            "rule": finding.rule,
            "says": finding.message[:120],
            "line": text[:160],
        }
        if before is not None:
            row |= {"before": f"{before.path}:{before.line}", "said": before.message[:120], "was": was[:160]}
            row |= {"posted": str(posted)}
        print(json.dumps(row), flush=True)


async def _compare_nothing() -> None:
    return None


def _read_line(lines: Sequence[str], line: int | None) -> str:
    return " ".join(lines[line - 1].split()) if line is not None and line <= len(lines) else ""


def _git(mirror: Path, *arguments: str) -> str:
    done = subprocess.run(["git", f"--git-dir={mirror}", *arguments], capture_output=True, check=False)
    return done.stdout.decode(errors="replace")


def _list_drawn(mirrors: Path, names: Sequence[str], each: int, *, anew: bool) -> Iterator[tuple[str, str]]:
    if not anew:
        pairs = (line.split() for line in _DRAWN.read_text().splitlines())
        yield from ((name, merge) for name, merge in pairs if name in names)
        return
    for name in names:
        for merge in draw(_find(mirrors, name), f"{_SAMPLE['seed']} {name}", each):
            yield name, merge


def _find(mirrors: Path, name: str) -> Path:
    return mirrors / name.replace("/", "+") / "repo"


async def _play_all(mirrors: Path, drawn: Sequence[tuple[str, str]]) -> None:
    counted = Counter[str]()
    pool = WorkerPool("agents.worker_jobs", size=1, limits=WorkerLimits(start=_PATIENCE), rest=3600.0)
    async with pool, Toolbox.start(pool=pool) as toolbox:
        for name, merge in drawn:
            counted["branches"] += 1
            await Player(name, _find(mirrors, name), toolbox).play(merge, counted)
            print(f"{name} {merge[:10]}: {json.dumps(counted)} of {len(drawn)}", file=sys.stderr, flush=True)
    print(json.dumps(counted))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mirrors", type=Path)
    parser.add_argument("half", choices=["seen", "unseen"])
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--only")
    parser.add_argument("--draw", action="store_true")
    given = parser.parse_args()
    names = [name for name in _SAMPLE[given.half] if given.only in {None, name}]
    drawn = list(_list_drawn(given.mirrors, names, given.each, anew=given.draw))
    if given.draw:
        kept = [line for line in _DRAWN.read_text().splitlines() if line.split()[0] not in names]
        _DRAWN.write_text("\n".join([*kept, *(f"{name} {merge}" for name, merge in drawn)]) + "\n")
        return
    asyncio.run(_play_all(given.mirrors, drawn))


if __name__ == "__main__":
    main()
