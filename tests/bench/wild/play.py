"""Plays changes of public packages through what runs the earlier tests, and counts what they say.

    python -m tests.bench.wild.play PLACES CLONES CHANGES [--half 0|1]
    python -m tests.bench.wild.play PLACES CLONES CHANGES --draw 40 [--any] [--seed 39] [--recent 600] --of OWNER/NAME …

``PLACES`` is the folder of :mod:`tests.bench.wild.places`; ``CLONES`` holds a bare clone ``owner+name.git`` of each
package; both are readable for every account. ``CHANGES`` has a JSON object on each line: ``package`` (owner/name),
``base`` and ``head`` (commits), and for changes that somebody made up ``kind`` (``trick`` or ``honest``) and
``failing_test``, of which any part of a test's id may be named. ``--draw`` writes it: changes that the default branch
took, drawn by chance from the recent commits, others with another seed: those that touch tests, or ``--any``. Each line
that is printed is one change with what was said of it; of those that are merged, the rules are asked as well.
"""

import argparse
import asyncio
import json
import random
import statistics
import subprocess
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from itertools import groupby
from pathlib import Path

from pydantic import BaseModel

from agents.testing.earlier_tests.choice import is_of_tests
from agents.testing.earlier_tests.run import run_earlier_tests
from agents.testing.tester import Tester
from agents.toolbox import Toolbox
from domain.config.configuration import Commands
from domain.review.avoidance import Avoidance
from domain.runs.earlier_tests import EarlierTests
from tests.bench.wild.places import find_place
from tests.bench.wild.run import judge
from workspace.git import Git
from workspace.mirror import Mirror
from workspace.objects import Objects

_FIRST_PARENTS = ("--first-parent", "--diff-merges=first-parent", "--name-only", "--format=%x00%H %P")


class LocalMirror(Mirror):
    """A repository on this machine in place of a mirror: everything is there, and nothing is fetched."""

    def __init__(self, git_dir: Path) -> None:
        Objects.__init__(self, Git(git_dir))
        self.path = git_dir
        self.repository_id = 1

    async def fetch_default(self) -> str | None:
        return None


class WildChange(BaseModel):
    """A change, and what somebody who made it up says of it."""

    package: str
    base: str
    head: str
    kind: str = "merged"
    failing_test: str | None = None


class Played(BaseModel):
    """What was said of a change, and the seconds until then.

    :param touches_tests: or something that only tests need.
    :param remarks: of the rules.
    """

    change: WildChange
    said: EarlierTests
    seconds: float
    touches_tests: bool
    remarks: list[Avoidance]

    @property
    def has_run(self) -> bool:
        """Whether any test of before was run on the new code."""
        return bool(self.said.holding or self.said.tests)

    @property
    def told(self) -> list[str]:
        """The tests that are lost or have changed, as people read them."""
        return [f"{each.outcome.value} {each.id}" for each in (*self.said.lost, *self.said.changed)]

    @property
    def is_named(self) -> bool:
        """Whether the failing test is among them, by its name or by the file that says what it demands."""
        wanted = _simplify(self.change.failing_test or "")
        return any(
            _simplify(each.id) in wanted or wanted in _simplify(each.id) or wanted in _simplify(each.shared_path or "")
            for each in (*self.said.lost, *self.said.changed)
        )


def _simplify(name: str) -> str:
    return "".join(letter for letter in name.partition("[")[0].rpartition("::")[2].lower() if letter.isalnum())


@asynccontextmanager
async def playing(places: Path, clones: Path, name: str) -> AsyncGenerator[Callable[[WildChange], Awaitable[Played]]]:
    """What plays changes of one package."""
    place, mirror = find_place(places, name), LocalMirror(clones / f"{name.replace('/', '+')}.git")
    async with Toolbox.start(workers=1, reads=place.reads) as toolbox:

        async def play(change: WildChange) -> Played:
            since = time.monotonic()
            tester = Tester(mirror, toolbox, Commands(setup=place.setup))
            made = await mirror.change(change.base, change.head)
            said = await run_earlier_tests(tester, made)
            seconds = time.monotonic() - since
            touches_tests = any(map(is_of_tests, made.paths))
            remarks = [each for _, found in judge(mirror.path, [change.head]) for each in found]
            return Played(change=change, said=said, seconds=seconds, touches_tests=touches_tests, remarks=remarks)

        yield play


async def _play_all(places: Path, clones: Path, changes: Sequence[WildChange]) -> list[Played]:
    played: list[Played] = []
    for name, part in groupby(changes, key=lambda each: each.package):
        async with playing(places, clones, name) as play:
            for change in part:
                one = await play(change)
                played.append(one)
                print(one.model_dump_json(), flush=True)
    return played


def _draw(clones: Path, name: str, most: int, seed: str, recent: int, *, of_any: bool) -> Iterator[WildChange]:
    listed = subprocess.run(
        ["git", f"--git-dir={clones / name.replace('/', '+')}.git", "log", *_FIRST_PARENTS, f"--max-count={recent}"],
        check=True,
        capture_output=True,
        text=True,
    )
    commits = [part.split("\n") for part in listed.stdout.split("\0")[1:-1]]
    random.Random(f"{seed} {name}").shuffle(commits)
    taken = [heads.split() for heads, *named in commits if of_any or any(map(is_of_tests, filter(None, named)))]
    yield from (WildChange(package=name, base=base, head=head) for head, base, *_ in taken[:most])


def sum_up(played: Sequence[Played]) -> Iterator[str]:
    """What was said of all, in lines for people."""
    for kind in sorted({each.change.kind for each in played}):
        some = [each for each in played if each.change.kind == kind]
        touching, ran = sum(each.touches_tests for each in some), sum(each.has_run for each in some)
        asked, changed = sum(bool(each.said.lost) for each in some), sum(bool(each.said.changed) for each in some)
        named = sum(each.is_named for each in some if each.change.failing_test)
        yield f"{kind}: {len(some)} changes, {touching} touch tests, {ran} ran"
        yield f"{kind}: {asked} ask, {changed} with a table, {named} name the failing test"
        ruled = sum(bool(each.remarks) for each in some)
        either = sum(bool(each.remarks or each.said.lost) for each in some)
        yield f"{kind}: {ruled} with a remark of the rules, {either} with a remark of either kind"
    running = [each for each in played if each.has_run]
    outcomes = Counter(each.outcome.value for one in running for each in one.said.tests)
    yield f"{sum(each.said.holding for each in running)} tests hold, others: {dict(outcomes)}"
    if running:
        seconds, sandbox = (
            sorted(times) for times in zip(*((each.seconds, each.said.seconds) for each in running), strict=True)
        )
        late = int(0.95 * (len(running) - 1))
        yield f"seconds: median {statistics.median(seconds):.1f}, 95 % within {seconds[late]:.1f}"
        yield f"of the sandbox: median {statistics.median(sandbox):.1f}, 95 % within {sandbox[late]:.1f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for argument in ("places", "clones", "changes"):
        parser.add_argument(argument, type=Path)
    parser.add_argument("--half", type=int, choices=[0, 1])
    parser.add_argument("--draw", type=int)
    parser.add_argument("--any", action="store_true")
    parser.add_argument("--seed", default="39")
    parser.add_argument("--recent", type=int, default=600)
    parser.add_argument("--of", nargs="*", default=[])
    given = parser.parse_args()
    if given.draw:
        drawn = [
            change
            for name in given.of
            for change in _draw(given.clones, name, given.draw, given.seed, given.recent, of_any=given.any)
        ]
        given.changes.write_text("".join(f"{each.model_dump_json(exclude_defaults=True)}\n" for each in drawn))
        return
    lines = given.changes.read_text().splitlines()
    changes = [WildChange.model_validate(json.loads(line)) for line in lines]
    chosen = changes if given.half is None else changes[given.half :: 2]
    for line in sum_up(asyncio.run(_play_all(given.places, given.clones, chosen))):
        print("#", line)


if __name__ == "__main__":
    main()
