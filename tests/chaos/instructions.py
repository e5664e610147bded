"""The scenes of what people ask for on a pull request: carried out, mended, left to chance, and the base taken in."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from tests.chaos.driver import Chooser, never
from tests.chaos.model import SHOP
from tests.chaos.scenes import Scene, normalize

_UP_TO = re.compile(r"up to [0-9a-f]{10}")


@dataclass(eq=False)
class Instructed(Scene):
    """Alice asks for a change on a pull request that is open: a plan of two tasks, a commit, an answer."""

    path: ClassVar[str] = "NOTES.md"
    first: ClassVar[str] = "Discounts come next.\n"
    files: ClassVar[Mapping[str, str]] = SHOP
    risk: ClassVar[str] = "low"
    words: ClassVar[str] = "do give the cart a discount"

    async def play(self, dies: Chooser = never) -> dict[str, Any]:
        self.stage.begin(None, never)
        await self.push(self.first)
        pull = await self.alice.open_pull_request(self.repository, self._branch)
        await self.set_up()
        await self.stage.settle()
        self.stage.begin(self.on_point, dies)
        await self.alice.comment(pull, f"/forge {self.words}")
        await self.stage.settle()
        await self.go_on()
        return self.collect_results()

    async def set_up(self) -> None:
        """What else there is before anybody asks."""

    def collect_results(self) -> dict[str, Any]:
        """The answers, the commits of the branch, and what else Forge left."""
        git, [first] = self.repository.git, self.heads
        self.heads = [self.pull.head_sha]
        made = git.commits_between(first, self.pull.head_sha)
        attempts = [each.run_attempt for each in self.repository.workflow_runs if each.head_sha == first]
        found = super().collect_results()
        return {
            **found,
            "answers": [self._forget(each) for each in found["answers"]],
            "commits": [(each.tree, len(each.parents), each.author_name, self._forget(each.message)) for each in made],
            "attempts": attempts,
            "branches": [ref for ref in git.refs() if ref.startswith("refs/heads/forge/")],
        }

    def _forget(self, text: str) -> str:
        """A text without what differs from one scene to the next."""
        return normalize(_UP_TO.sub("up to BASE", text).replace(self._branch, "feature"))


@dataclass(eq=False)
class Mended(Instructed):
    """A check of another App is red, and a change mends it."""

    words: ClassVar[str] = "mend"
    job: ClassVar[str] = "test"

    async def set_up(self) -> None:
        log = "E   assert 200 == 180\n"
        self.stage.github.run_workflow(self.repository, self.heads[-1], "CI", {self.job: ("failure", log)})


@dataclass(eq=False)
class LeftToChance(Mended):
    """Nothing can be changed about what is red: its job runs once more."""

    job: ClassVar[str] = "flaky"


@dataclass(eq=False)
class Updated(Instructed):
    """The base, which changed the same lines, is taken in."""

    path: ClassVar[str] = "shop/cart.py"
    first: ClassVar[str] = "def total(prices):\n    return sum(map(abs, prices))\n"
    words: ClassVar[str] = "update"

    async def play(self, dies: Chooser = never) -> dict[str, Any]:
        listed = self.repository.git.run("rev-list", "--max-parents=0", "main").stdout.decode()
        await self.alice.reset_branch(self.repository, "main", listed.strip())  # as before the scenes before this one
        return await super().play(dies)

    async def set_up(self) -> None:
        theirs = "def total(prices, tax=0):\n    return sum(prices) + tax\n"
        await self.alice.push(self.repository, "main", {self.path: theirs})
