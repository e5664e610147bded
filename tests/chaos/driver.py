"""Plays scenes against a Forge that is killed with SIGKILL at chosen points and started again until all is at rest."""

import asyncio
import json
import multiprocessing
import os
import re
import signal
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from domain.gates import CHECK_ID_PREFIX
from memory.db.engine import Database
from simulator import Simulator, User
from simulator.errors import Dropped, Moment, RequestInfo
from simulator.gitstore import FileContent
from simulator.state import IssueComment, PullRequest, Repository
from simulator.webhooks import Delivery
from tests.chaos.process import Part, main
from tests.clock import MovableClock
from tests.databases import Backend, create_database, drop_database
from tests.resting import find_unfinished
from tests.stories.driver import SECRET, settings

PATIENCE = 240.0  # seconds a scene may take to come to rest
POLLING = 0.06  # seconds between two looks into a queue: most of what a scene costs is looking

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.chaos.process"])  # so that a start costs no imports
_EXTERNAL = re.compile(r"forge:review:(\w+):")
_MUTATION = re.compile(r"(\w+)\(input:")


@dataclass(frozen=True)
class Point:
    """A place where a process can die.

    :param where: the workflow and its step, or what is written on GitHub, e.g. ``run 1: look``.
    :param moment: before it, after it took effect, or after that was journaled.
    :param nth: counts repetitions.
    """

    where: str
    moment: str
    nth: int = 1

    def __str__(self) -> str:
        again = f" ({self.nth})" if self.nth > 1 else ""
        return f"{self.where}, {self.moment}{again}"


Passing = Callable[[Point], Awaitable[None]]
Chooser = Callable[[Point], bool]
"""Whether the process dies at this point."""


def never(_point: Point) -> bool:
    return False


@dataclass(eq=False)
class ProcessSlot:
    """One process slot: started, killed and started again on the same database."""

    part: Part
    process: ForkServerProcess | None = None

    async def start(self, ahead: float) -> None:
        self.process = _FORKS.Process(target=main, args=(self.part, ahead))
        await asyncio.to_thread(self.process.start)

    @property
    def pid(self) -> int:
        assert self.process is not None
        assert self.process.pid is not None
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        return self.process is not None and self.process.is_alive()

    def kill(self) -> None:
        """SIGKILL: nothing is tidied up."""
        os.kill(self.pid, signal.SIGKILL)

    async def wait_until_dead(self) -> None:
        """Wait until the killed process is gone for good."""
        if self.process is not None:
            await asyncio.to_thread(self.process.join)
            self.process.close()
            self.process = None


@dataclass(eq=False)
class ChaosStage:
    """A simulated GitHub and one Forge on one database; several scenes are played on it, one after the other.

    :param forge: what webhooks go to; the process that is killed.
    :param colleague: a worker beside it, if there is one.
    """

    github: Simulator
    forge: ProcessSlot
    database: Database
    clock: MovableClock
    colleague: ProcessSlot | None = None
    passing: Passing | None = None  # what the scene does at a point, before it is passed
    dies: Chooser = never
    passed: list[Point] = field(default_factory=list[Point])
    kills: int = 0
    scenes: int = 0
    _names: dict[str, str] = field(default_factory=dict[str, str])
    _times: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    _ready: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    def begin(self, passing: Passing | None, dies: Chooser) -> None:
        """A new scene: its workflows are counted from 1."""
        self.scenes += 1
        self.passing, self.dies = passing, dies
        self.passed, self.kills = [], 0
        self._names, self._times = {}, Counter()

    def die_at(self, where: str, moment: str, nth: int = 1) -> None:
        """A new scene, in which the process dies once: at the nth point of any workflow whose name has this pattern."""
        seen: list[Point] = []

        def choose(point: Point) -> bool:
            if self.kills or point.moment != moment or not re.search(where, point.where):
                return False
            seen.append(point)
            return len(seen) == nth

        self.begin(None, choose)

    def count_passed(self, part: str) -> int:
        """How often points of this scene whose name has this part began."""
        return sum(part in point.where and point.moment == "before" for point in self.passed)

    def repository(self, files: Mapping[str, FileContent]) -> tuple[Repository, User]:
        """A repository with Forge installed, and alice, who may write to it."""
        repository = self.github.create_repository("octo-org/shop", files=files)
        self.github.install(repository)
        alice = self.github.user("alice")
        self.github.grant(repository, alice, "write")
        return repository, alice

    async def propose(self, repository: Repository, by: User, files: Mapping[str, FileContent]) -> PullRequest:
        """Somebody opens a pull request, and all came to rest."""
        await by.push(repository, "feature", files, base="main")
        pull = await by.open_pull_request(repository, "feature")
        await self.settle()
        return pull

    def answers(self, pull: PullRequest) -> list[IssueComment]:
        """What Forge said below a pull request."""
        return [each for each in self.github.comments(pull) if each.user is self.github.app.bot]

    async def start(self) -> None:
        """Start Forge, and have GitHub deliver to it again what it missed."""
        await self.forge.wait_until_dead()
        await self._begin(self.forge)
        await self.github.settle()
        for lost in self._find_unanswered():
            self.github.hooks.redeliver(lost)

    async def join(self, executor_id: str) -> None:
        """Start a worker on the same database."""
        settings = self.forge.part.settings.model_copy(update={"executor_id": executor_id})
        self.colleague = ProcessSlot(replace(self.forge.part, settings=settings, door=False))
        await self._begin(self.colleague)

    async def settle(self) -> None:
        """Wait until all that was delivered came to its end; start Forge again whenever it was killed."""
        end = time.monotonic() + PATIENCE
        busy: object = "it never was at rest"
        while time.monotonic() < end:
            if not self.forge.is_alive:
                await self.start()
            await self.github.settle()
            busy = await self.find_unfinished() or [
                each.guid for each in self._find_unanswered()
            ]  # what a run sends as it ends, too
            if not busy and self.forge.is_alive:
                return
            await asyncio.sleep(0.01)
        raise AssertionError(f"Forge did not come to rest: {busy}")

    async def wait_for_deliveries(self, besides: str = "") -> None:
        """Wait until all that was delivered so far was received and done.

        :param besides: the name of a delivery that is not waited for.
        """
        while True:
            left = [each for kind, each in await self.find_unfinished() if kind == "delivery"]
            if not self._find_unanswered() and all(self._names.get(each) == besides for each in left):
                return
            await asyncio.sleep(0.01)

    async def wait_for_run(self, name: str) -> None:
        """Wait until a run came to its end in the ledger, whatever its process is doing."""
        while True:
            ids = [workflow for workflow, known in self._names.items() if known == name]
            if not {("run", each) for each in ids} & set(await self.find_unfinished()):
                return
            await asyncio.sleep(0.01)

    async def find_unfinished(self) -> list[tuple[str, str]]:
        return await find_unfinished(self.database, self.clock.now())

    async def _begin(self, forge: ProcessSlot) -> None:
        """Start a process and wait until it says that it is ready."""
        self._ready.clear()
        await forge.start(self.clock.offset.total_seconds())
        end = time.monotonic() + PATIENCE
        while not self._ready.is_set():
            if not forge.is_alive or time.monotonic() > end:
                raise AssertionError(f"Forge did not start:\n{forge.part.log.read_text()[-2000:]}")
            await asyncio.sleep(0.01)

    async def end(self) -> None:
        for each in (self.forge, self.colleague):
            if each is not None and each.is_alive:
                each.kill()
            if each is not None:
                await each.wait_until_dead()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _find_unanswered(self) -> list[Delivery]:
        """The last attempt of each delivery that was not answered with 2xx."""
        answered = {each.guid for each in self.github.deliveries if 200 <= each.status_code < 300}
        last = {each.guid: each for each in self.github.deliveries if each.url or each.status == "pending"}
        return [each for guid, each in last.items() if guid not in answered]

    async def converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Hear a process out: let it pass its points, or kill it there."""
        while line := await _line(reader):
            told: dict[str, Any] = json.loads(line)
            if "port" in told:
                if told["port"]:
                    self.github.webhook_url = f"http://127.0.0.1:{told['port']}/webhook"
                self._ready.set()
                continue
            task = asyncio.create_task(self._answer(told, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        writer.close()

    async def _answer(self, told: dict[str, Any], writer: asyncio.StreamWriter) -> None:
        await self._pass(f"{self._name(told['workflow'])}: {told['step']}", told["moment"])
        if not writer.is_closing():
            writer.write(f"{told['number']}\n".encode())

    async def on_write(self, request: RequestInfo, moment: Moment) -> None:
        """A write on GitHub is a point, too: before it has an effect, and when nobody has heard of the effect yet."""
        before = self.kills
        await self._pass(self._describe_write(request), "before" if moment == "before" else "took effect")
        if moment == "before" and self.kills > before:
            raise Dropped

    async def _pass(self, where: str, moment: str) -> None:
        self._times[where, moment] += 1
        point = Point(where, moment, self._times[where, moment])
        self.passed.append(point)
        if self.passing is not None:
            await self.passing(point)
        if self.dies(point):
            self.kills += 1
            self.forge.kill()

    def _name(self, workflow: str) -> str:
        if workflow not in self._names:
            kind = "delivery" if any(each.guid == workflow for each in self.github.deliveries) else "run"
            number = sum(name.startswith(kind) for name in self._names.values()) + 1
            self._names[workflow] = f"{kind} {number}"
        return self._names[workflow]

    def _describe_write(self, request: RequestInfo) -> str:
        body: dict[str, Any] = request.body or {}  # a push has none
        if str(body.get("external_id", "")).startswith(CHECK_ID_PREFIX):
            return f"on GitHub: gate {body['conclusion']}"
        if "external_id" in body:
            return f"{self._name(body['external_id'])} on GitHub: check {body.get('conclusion') or body['status']}"
        found = _EXTERNAL.search(body.get("body", ""))
        if found is not None:
            return f"{self._name(found[1])} on GitHub: review"
        mutation = _MUTATION.search(body.get("query", ""))
        if mutation is not None:
            return f"on GitHub: {mutation[1]}"
        named = [part for part in request.path.split("/") if not part.isdigit()]
        return f"on GitHub: {request.method} {named[-1]}"


async def _line(reader: asyncio.StreamReader) -> bytes:
    """The next line of a process, or nothing once it is dead."""
    try:
        return await reader.readline()
    except ConnectionResetError:
        return b""


def stage(backend: Backend, folder: Path) -> AbstractAsyncContextManager[ChaosStage]:
    """A stage on an empty database, with Forge not started yet."""
    return open_stage(create_database(backend, folder), folder, lambda part, _: ProcessSlot(part))


@asynccontextmanager
async def open_stage(
    url: str, folder: Path, build_slot: Callable[[Part, Simulator], ProcessSlot]
) -> AsyncGenerator[ChaosStage]:
    """A stage on a database that is dropped in the end, with Forge not started yet.

    :param build_slot: builds the slot of a part's processes, which talk to this GitHub.
    """
    clock, address = MovableClock(), folder / "orders"
    async with Simulator(folder / "github", webhook_secret=SECRET, now=clock.now) as github:
        part = Part(settings(url, folder, github, queue_polling=POLLING), address, folder / "forge.log")
        set_up = ChaosStage(github, build_slot(part, github), Database(url), clock)
        orders = await asyncio.start_unix_server(set_up.converse, address)
        github.on_write(set_up.on_write)
        try:
            yield set_up
        finally:
            await set_up.end()
            orders.close()
            await orders.wait_closed()
            await set_up.database.close()
    drop_database(url)


def sample(points: Sequence[Point], at_most: int) -> Collection[Point]:
    """So many points, evenly spread."""
    if len(points) <= at_most:
        return points
    return [points[round(each * (len(points) - 1) / (at_most - 1))] for each in range(at_most)]
