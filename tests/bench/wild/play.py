"""Plays changes of public packages through what runs the earlier tests, and prints what they say of each.

    python -m tests.bench.wild.play PLACES NAME REPOSITORY BASE HEAD

``PLACES`` is the folder of :mod:`tests.bench.wild.places`; ``REPOSITORY`` a git directory or a clone, readable for
every account; ``BASE`` the merge base and ``HEAD`` the head of the change, commits or trees.
"""

import argparse
import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from agents.testing.earlier_tests.run import BOUNDS, EarlierBounds, run_earlier_tests
from agents.testing.tester import Tester
from agents.toolbox import Toolbox
from domain.config.configuration import Commands
from domain.runs.earlier_tests import EarlierTests
from tests.bench.wild.places import find_place
from workspace.git import Git
from workspace.mirror import Mirror
from workspace.objects import Objects


class LocalMirror(Mirror):
    """A repository on this machine in place of a mirror: everything is there, and nothing is fetched."""

    def __init__(self, git_dir: Path) -> None:
        Objects.__init__(self, Git(git_dir))
        self.path = git_dir
        self.repository_id = 1

    async def fetch_default(self) -> str | None:
        return None

    async def resolve(self, name: str) -> str:
        """The SHA of a commit or tree, however it is named."""
        return (await self.git.run("rev-parse", "--verify", "--end-of-options", name)).stdout.decode().strip()


Play = Callable[[str, str], Awaitable[EarlierTests]]


@asynccontextmanager
async def playing(places: Path, name: str, repository: Path, bounds: EarlierBounds = BOUNDS) -> AsyncGenerator[Play]:
    """What plays a change of one package, from its merge base to its head."""
    git_dir = repository / ".git" if (repository / ".git").is_dir() else repository
    place, mirror = find_place(places, name), LocalMirror(git_dir)
    async with Toolbox.start(workers=1, reads=place.reads) as toolbox:

        async def play(base: str, head: str) -> EarlierTests:
            change = await mirror.change(await mirror.resolve(base), await mirror.resolve(head))
            return await run_earlier_tests(Tester(mirror, toolbox, Commands(setup=place.setup)), change, bounds)

        yield play


async def _play_one(places: Path, name: str, repository: Path, base: str, head: str) -> EarlierTests:
    async with playing(places, name, repository) as play:
        return await play(base, head)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for argument in ("places", "name", "repository", "base", "head"):
        parser.add_argument(argument, type=Path if argument in {"places", "repository"} else str)
    print(asyncio.run(_play_one(**vars(parser.parse_args()))).model_dump_json(indent=2))


if __name__ == "__main__":
    main()
