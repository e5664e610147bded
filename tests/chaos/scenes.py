"""The scenes that are played again and again, and what is left of each on GitHub."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

from messages import review as review_texts
from simulator import User
from simulator.state import PullRequest, Repository
from tests.chaos.driver import ChaosStage, Chooser, Point, never
from tests.chaos.model import Delegate, hang

APP = """\
import os


def main():
    return os.name
"""
FIRST = APP.replace("import os\n", "import os\nimport sys\n").replace("os.name", "os.name + missing")
WORKFLOW = ".github/workflows/ci.yml"
SECOND = FIRST.replace("missing", "absent")

PINNED = "version: 1\nladder:\n  pinned: 1\n"  # many scenes in one repository would raise its level
_VOLATILE = [
    (re.compile(r"\b[0-9A-HJKMNP-TV-Z]{26}\b"), "RUN"),
    (re.compile(r"forge:review:RUN:\w+"), "forge:review:RUN"),
    (re.compile(r"\b[0-9a-f]{7}…[0-9a-f]{7}\b"), "BASE…HEAD"),
    (re.compile(r"\b\d+(\.\d+)? s\b"), "SECONDS"),
    (re.compile(r"\b\d{4}-\d\d-\d\d \d\d:\d\d UTC"), "WHEN"),
    (re.compile(r"\b(SECONDS|\d+ (minute|hour|day)s?) after it was asked"), "LATER"),
    (re.compile(r"\bG-[0-9A-HJKMNP-TV-Z]{6}\b"), "GATE"),
    (re.compile(r"\bC-[0-9A-HJKMNP-TV-Z]{6}\b"), "CHECKPOINT"),
    (re.compile(r"\b\d\d:\d\d:\d\d\b"), "TIME"),
    (re.compile(r"\b[0-9a-f]{40}\b"), "SHA"),
    (re.compile(r"\bforge/\d+-"), "forge/N-"),
    (re.compile(r"#\d+\b"), "#N"),
    (re.compile(r"\b\d+\.\d+ USD"), "COST"),
    (re.compile(r"`[0-9a-f]{7}`"), "HEAD"),
    (re.compile(r"<!-- forge:\w+:.*?-->"), "MARKER"),
    (re.compile(r"`/forge approve [0-9a-f]{7}[^`]*`"), "WRITTEN"),
]


@dataclass(eq=False)
class Scene:
    """A pull request is opened and reviewed.

    :param serial: tells the scenes on one stage apart.
    """

    stage: ChaosStage
    serial: int
    heads: list[str] = field(default_factory=list[str])

    path: ClassVar[str] = "app.py"
    first: ClassVar[str] = FIRST
    files: ClassVar[Mapping[str, str]] = {"app.py": APP}
    risk: ClassVar[str] = ""  # of the plans a model makes; none: no model is needed
    runs: ClassVar[str] = ""  # the command line that its agent runs
    delegate: ClassVar[Delegate] = staticmethod(hang)  # what an agent of another make does

    @property
    def repository(self) -> Repository:
        return next(iter(self.stage.github.world.repositories.values()))

    @property
    def alice(self) -> User:
        return self.stage.github.user("alice")

    @property
    def pull(self) -> PullRequest:
        found = max(self.repository.issues.values(), key=lambda issue: issue.number)
        assert isinstance(found, PullRequest)
        return found

    async def play(self, dies: Chooser = never) -> dict[str, Any]:
        """Play it until all is at rest; what is left on GitHub.

        :param dies: whether the process dies at a point.
        """
        self.stage.begin(self.on_point, dies)
        await self.push(self.first)
        await self.alice.open_pull_request(self.repository, self._branch)
        await self.stage.settle()
        await self.go_on()
        return self.collect_results()

    async def go_on(self) -> None:
        """What happens once the first head was reviewed."""

    async def on_point(self, point: Point) -> None:
        """What happens at a point, before it is passed."""

    async def push(self, content: str) -> None:
        message = f"Change {len(self.heads) + 1} of scene {self.serial}"
        head = await self.alice.push(self.repository, self._branch, {self.path: content}, message, base="main")
        self.heads.append(head)

    def collect_results(self) -> dict[str, Any]:
        """Checks and reviews on GitHub, without what differs from time to time."""
        github, bot = self.stage.github, self.stage.github.app.bot
        checks = [
            [
                (
                    *(check.name, check.status, check.conclusion, normalize(check.title), normalize(check.summary)),
                    *((one["path"], one["start_line"], one["title"], one["message"]) for one in check.annotations),
                )
                for check in github.check_runs(self.repository, head, review_texts.CHECK_NAME)
            ]
            for head in self.heads
        ]
        reviews = [
            (self.heads.index(review.commit_id), normalize(review.body))
            for review in github.reviews(self.pull)
            if review.user is bot
        ]
        asked = [
            (check.name, check.conclusion, len(check.actions), normalize(check.title))
            for head in self.heads
            for check in github.check_runs(self.repository, head)
            if check.name.startswith("Forge / gate")
        ]
        answers = sorted(normalize(each.body) for each in github.comments(self.pull) if each.user is bot)
        comments = [
            (one.path, one.original_line, one.thread.resolved, normalize(one.body))
            for one in github.review_comments(self.pull)
            if one.user is bot
        ]
        return {"checks": checks, "reviews": reviews, "comments": comments, "gates": asked, "answers": answers}

    @property
    def _branch(self) -> str:
        return f"feature-{self.serial}"


class Pushed(Scene):
    """A second head is pushed afterwards, in which one finding is gone and one is new."""

    async def go_on(self) -> None:
        await self.push(SECOND)
        await self.stage.settle()


@dataclass(eq=False)
class Asked(Scene):
    """It changes a protected path, so that its run waits for a maintainer, who approves on a condition."""

    path: ClassVar[str] = WORKFLOW
    first: ClassVar[str] = "name: ci\non: push\npermissions: {}\njobs: {}\n"

    async def go_on(self) -> None:
        carol = self.stage.github.user("carol")
        self.stage.github.grant(self.repository, carol, "maintain")
        await carol.comment(self.pull, f"/forge approve {self.heads[-1][:7]} with: tell operations")
        await self.stage.settle()


@dataclass(eq=False)
class Expired(Asked):
    """Nobody answers; the time is over when Forge is started the next time."""

    async def go_on(self) -> None:
        self.stage.clock.move(hours=25)
        self.stage.forge.kill()
        await self.stage.forge.wait_until_dead()
        await self.stage.settle()


@dataclass(eq=False)
class Interrupted(Scene):
    """While the first head is under review something happens, which is dealt with before that review goes on.

    :param at: the point at which it happens.
    """

    at: Point = field(default_factory=lambda: Point("run 1: run the checks", "took effect"))
    _happened: bool = False

    async def happen(self) -> None:
        raise NotImplementedError

    async def on_point(self, point: Point) -> None:
        if point == self.at and not self._happened:
            self._happened = True
            await self.happen()
        if point == self.at and "on GitHub" in point.where:  # no other write overtakes one that is on its way
            await self.stage.wait_for_run("run 1")
        elif point == self.at or (self._happened and point.where.startswith("run 1: ")):
            await self.stage.wait_for_deliveries(besides="delivery 1")


class Superseded(Interrupted):
    """A newer head is pushed in the middle."""

    async def happen(self) -> None:
        await self.push(SECOND)


class Closed(Interrupted):
    """The pull request is closed in the middle."""

    async def happen(self) -> None:
        await self.alice.close(self.pull)


async def prepare(stage: ChaosStage, kind: type[Scene] = Scene) -> None:
    """A repository with Forge installed and alice, who may write to it; Forge with the model that a scene needs."""
    stage.repository({".github/forge.yml": PINNED, **kind.files})
    stage.forge.part = replace(stage.forge.part, risk=kind.risk, runs=kind.runs, delegate=kind.delegate)
    await stage.start()


def normalize(text: str | None) -> str:
    """A text without what differs from time to time."""
    text = text or ""
    for pattern, instead in _VOLATILE:
        text = pattern.sub(instead, text)
    return text
