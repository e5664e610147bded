"""Kills Forge at one point after the other and compares what is left on GitHub with an undisturbed run."""

import random
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.chaos.deployments import Deployed, RolledBack
from tests.chaos.driver import ChaosStage, Chooser, Point, never
from tests.chaos.instructions import Instructed, LeftToChance, Mended, Updated
from tests.chaos.issues import Carried, Planned
from tests.chaos.scenes import Asked, Closed, Expired, Interrupted, Pushed, Scene, Superseded
from tests.chaos.shadows import Commanded, Delegated, TakenBack
from tests.invariants import find_violations

SCENES: dict[str, type[Scene]] = {
    "reviewed": Scene,
    "pushed": Pushed,
    "superseded": Superseded,
    "closed": Closed,
    "asked": Asked,
    "expired": Expired,
    "issue": Carried,
    "planned": Planned,
    "commanded": Commanded,
    "delegated": Delegated,
    "taken back": TakenBack,
    "deployed": Deployed,
    "rolled back": RolledBack,
    "instructed": Instructed,
    "mended": Mended,
    "left to chance": LeftToChance,
    "updated": Updated,
}

ATTEMPTS = 3  # to reach a point
_FINDING = re.compile(r"F-[A-Z2-7]{6}")


@dataclass
class Result:
    """What a sweep found.

    :param played: how often the scene was played.
    :param kills: how often a process was killed.
    :param missed: points that were not reached, although they were tried again.
    :param wrong: what was not as it should be, and where.
    """

    played: int = 0
    kills: int = 0
    missed: list[str] = field(default_factory=list[str])
    wrong: list[str] = field(default_factory=list[str])


class Sweep:
    """One scene, played on a stage without a kill and then with one, or two, at chosen points.

    :param scene: the name of one of the scenes.
    """

    def __init__(self, stage: ChaosStage, scene: str) -> None:
        self._stage = stage
        self._scene = SCENES[scene]
        self.result = Result()
        self.points: Sequence[Point] = ()
        self._expected: dict[str, Any] = {}

    async def rehearse(self) -> Sequence[Point]:
        """Play it undisturbed; the points it passes."""
        self._expected = await self._play("undisturbed", self._new(self._scene))
        self.points = list(self._stage.passed)
        return self.points

    async def kill_at(self, points: Collection[Point]) -> Result:
        """Play it once for each point and die there: in the end nothing may differ from the undisturbed run.

        Which of two workflows is quicker decides whether some points come up, so these are tried again.
        """
        for point in points:
            for _ in range(ATTEMPTS):
                found = await self._play(str(point), self._new(self._scene), at(point))
                self._compare(str(point), found)
                if self._stage.kills:
                    break
            else:
                self.result.missed.append(str(point))
        return self.result

    async def kill_twice(self, seed: int) -> Result:
        """Play it and die at a random point, and at another one soon after the new start."""
        random_ = random.Random(seed)
        first, more = random_.choice(self.points), random_.randint(1, len(self.points) // 2)
        where = f"seed {seed}: {first}, and {more} points later"
        after = 0

        def dies(point: Point) -> bool:
            nonlocal after
            after += bool(after or point == first)
            return after in {1, 1 + more}

        self._compare(where, await self._play(where, self._new(self._scene), dies))
        return self.result

    async def kill_while(self, is_due: Callable[[Scene], bool], points: Collection[int]) -> Result:
        """Play it once for each number, and die at the point with this number of those where something holds."""
        for number in points:
            scene, where = self._new(self._scene), f"point {number}"
            self._compare(where, await self._play(where, scene, _at_number(number, partial(is_due, scene))))
            if not self._stage.kills:
                self.result.missed.append(where)
        return self.result

    async def interrupt_at(self, points: Collection[Point], *, kill: bool) -> Result:
        """Have a push, or the closing, happen and be dealt with while the process is at a point.

        :param kill: and then it dies there.
        """
        assert issubclass(self._scene, Interrupted)
        for point in points:
            scene = self._new(self._scene)
            assert isinstance(scene, Interrupted)
            scene.at = point
            where = f"{type(scene).__name__.lower()} at {point}{', then killed' if kill else ''}"
            found = await self._play(where, scene, at(point) if kill else never)
            self.result.wrong += [f"{where}: {each}" for each in _unsaid(found, type(scene))]
        return self.result

    async def _play(self, where: str, scene: Scene, dies: Chooser = never) -> dict[str, Any]:
        try:
            return await scene.play(dies)
        except AssertionError as error:
            self.result.wrong.append(f"{where}: {error}")
            return {}
        finally:
            self.result.played += 1
            self.result.kills += self._stage.kills
            await self._check(where)

    def _compare(self, where: str, found: dict[str, Any]) -> None:
        for part, expected in self._expected.items():
            if found.get(part) != expected:
                self.result.wrong.append(f"{where}: {part} are {found.get(part)}, expected {expected}")

    async def _check(self, where: str) -> None:
        for each in await find_violations(self._stage.github, self._stage.database):
            if not any(each in known for known in self.result.wrong):
                self.result.wrong.append(f"{where}: {each}")

    def _new(self, kind: type[Scene]) -> Scene:
        return kind(self._stage, self._stage.scenes)


def at(victim: Point) -> Chooser:
    """Die at this point, once; ``run *`` stands for whichever workflow comes there first."""
    alive = True
    anywhere, _, step = victim.where.partition("run *: ")

    def dies(point: Point) -> bool:
        nonlocal alive
        is_there = point.where.partition(": ")[2] == step if step and not anywhere else point.where == victim.where
        due = alive and is_there and point.moment == victim.moment
        alive = alive and not due
        return due

    return dies


def _at_number(number: int, is_due: Callable[[], bool]) -> Chooser:
    left = number

    def dies(_: Point) -> bool:
        nonlocal left
        counts = is_due()
        left -= counts
        return counts and left == 0

    return dies


def _unsaid(found: dict[str, Any], kind: type[Scene]) -> list[str]:
    """What is missing or wrong on the last head, whenever it was that the scene was interrupted."""
    checks = found.get("checks", [[]])[-1]
    if kind is Closed:
        return [f"its check says {check[2]}" for check in checks if check[2] not in {"cancelled", "failure"}]
    assert kind is Superseded
    if [check[2] for check in checks] != ["failure"]:
        return [f"the checks of the newest head are {checks}"]
    said = [name for *_, body in found["comments"] for name in _FINDING.findall(body)]
    shown = [name for annotation in checks[0][5:] for name in _FINDING.findall(annotation[2])]
    return [f"finding {name} was commented {said.count(name)} times" for name in shown if said.count(name) != 1]
