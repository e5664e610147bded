"""The process that gets killed: a whole Forge that reports where it is in each step and asks whether to go on."""

import asyncio
import itertools
import json
import os
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from dbos import DBOS

from agents.llm.models import Models
from agents.llm.scripted import ScriptedModel
from bot.app import Patience, forge
from bot.server import serve
from bot.settings import Settings
from memory.runs import work_checkpoints
from pipeline.durable.journal import Call, run_durable_step
from pipeline.issue.coding import work_keeper
from tests.chaos.model import Delegate, Watched, build_planner, hang
from tests.clock import MovableClock
from workspace.sandbox.processes import ProgramControl

P = ParamSpec("P")
T = TypeVar("T")


class Orders:
    """The line to the driver: a point is told, and passed once the driver has answered."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count()
        self._asked: dict[int, asyncio.Future[None]] = {}
        self._steps: dict[str | None, str] = {}  # by workflow: the one it is in

    async def listen(self) -> None:
        """Let through what the driver lets through, until it hangs up."""
        while line := await self._reader.readline():
            self._asked.pop(int(line)).set_result(None)
        os._exit(1)

    def say(self, **what: object) -> None:
        self._writer.write(json.dumps(what).encode() + b"\n")

    async def ask(self, **what: object) -> None:
        number = next(self._numbers)
        self._asked[number] = asyncio.get_running_loop().create_future()
        self.say(number=number, **what)
        await self._asked[number]

    async def step(self, name: str, call: Call) -> dict[str, Any]:
        """A durable step that reports before it begins, when it took effect, and when that was journaled."""
        return await self._step(name, call)

    async def step_with_patch(self, name: str, call: Call) -> dict[str, Any]:
        """A step of code that was changed since: there is one step more before some, patched in as DBOS wants it."""
        if name in {"begin", "post the review"} and await DBOS.patch_async(f"before {name}"):
            await self._step(f"new, before {name}", _nothing)
        return await self._step(name, call)

    async def call(self, moment: str) -> None:
        """A call of a model reports as part of the step it is made in."""
        await self.reach("the model", moment)

    async def reach(self, what: str, moment: str) -> None:
        """Something within a step reports."""
        workflow = DBOS.workflow_id
        await self.ask(workflow=workflow, step=f"{self._steps[workflow]}, {what}", moment=moment)

    async def _step(self, name: str, call: Call) -> dict[str, Any]:
        workflow = DBOS.workflow_id

        async def run_step() -> dict[str, Any]:
            self._steps[workflow] = name
            answer = await call()
            await self.ask(workflow=workflow, step=name, moment="took effect")
            return answer

        await self.ask(workflow=workflow, step=name, moment="before")
        answer = await run_durable_step(name, run_step)
        await self.ask(workflow=workflow, step=name, moment="after")
        return answer


async def _nothing() -> dict[str, Any]:
    return {"value": None}


@dataclass(frozen=True)
class Part:
    """What a process is to be.

    :param address: the driver's socket.
    :param log: the file for what it prints.
    :param door: whether it accepts webhooks; it says at which port.
    :param changed: whether its code has changed since.
    :param risk: of the plans its model makes; none: its model is that of the settings.
    :param runs: the command line that its model runs at the end of the first task; none without.
    :param delegate: what an agent of another make does.
    :param hides: whether its model skips a test in the first task, until a person says what to do.
    """

    settings: Settings
    address: Path
    log: Path
    door: bool = True
    changed: bool = False
    risk: str = ""
    runs: str = ""
    delegate: Delegate = hang
    hides: bool = False


def main(part: Part, ahead: float) -> None:
    """Run until killed.

    :param ahead: seconds its clock is ahead.
    """
    output = os.open(part.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(output, 1)
    os.dup2(output, 2)
    asyncio.run(_serve(part, ahead))


async def _serve(part: Part, ahead: float) -> None:
    reader, writer = await asyncio.open_unix_connection(part.address)
    orders, clock = Orders(reader, writer), MovableClock()
    clock.move(seconds=ahead)
    step = orders.step_with_patch if part.changed else orders.step
    pauses = (0.05, 0.1, 0.2)
    model = build_planner(part.risk, runs=part.runs, delegate=part.delegate, hides=part.hides)
    models = _watch_models(model, orders) if part.risk else None
    _watch_checkpoints(orders)
    patience = Patience(telling=0, settling=0)
    async with forge(
        part.settings, door=part.door, clock=clock, pauses=pauses, durable=step, models=models, patience=patience
    ) as running:
        if not part.door:
            orders.say(port=0)
            await orders.listen()
        async with serve(running) as port:
            orders.say(port=port)
            await orders.listen()


def _watch_models(model: ScriptedModel, orders: Orders) -> Models:
    """The model for every task, with its calls reported."""
    known = model.language_model
    return Models.only(replace(known, model=Watched(known.model, orders.call)))


def _watch_checkpoints(orders: Orders) -> None:
    """Checkpoints follow each other at once, and report: while the agent is paused, and before and after each write."""
    work_keeper._GAP_S, work_keeper._LOOK_S = 0.2, 0.1
    work_checkpoints.add = _watch_write("checkpoint", work_checkpoints.add, orders)
    work_checkpoints.roll_back = _watch_write("roll-back", work_checkpoints.roll_back, orders)
    pause = ProgramControl.pause

    @asynccontextmanager
    async def watched(self: ProgramControl, seconds: float) -> AsyncGenerator[float]:
        async with pause(self, seconds) as paused_seconds:
            await orders.reach("checkpoint", "paused")
            yield paused_seconds

    ProgramControl.pause = watched  # pyrefly: ignore[method-assign]


def _watch_write(
    what: str, write: Callable[P, Coroutine[Any, Any, T]], orders: Orders
) -> Callable[P, Coroutine[Any, Any, T]]:
    async def watched(*arguments: P.args, **named: P.kwargs) -> T:
        await orders.reach(what, "before")
        done = await write(*arguments, **named)
        await orders.reach(what, "took effect")
        return done

    return watched
