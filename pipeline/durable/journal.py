"""Journals steps and decides, by class of error, whether a step is repeated, waits or ends."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any, Protocol, TypeVar, TypeVarTuple, cast

from dbos import DBOS
from pydantic import JsonValue, TypeAdapter

from domain.errors import Behind, DatabaseUnavailable, ForgeError, Halted, RateLimited, Recovery, from_json, to_json
from domain.ports import Clock
from memory.db.engine import Database
from memory.runs import waits
from pipeline.durable.steps import Durable, call_dbos, make_interruption

WAKE = "wake"  # topic of the message that ends a wait
_LEAVES = "leaves while it waits"  # marks waits that keep no place; never renamed
_BACKSTOP = timedelta(minutes=5)
_HALT_PAUSE = timedelta(days=1)  # then it looks for itself whether Forge is still halted; usually it is woken
_SHORT_PAUSE = 10.0  # seconds; whoever pauses for longer can be woken

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class Parked(asyncio.CancelledError):
    """Ends this execution of a workflow that has to wait, without an outcome, as if its process had died.

    So it keeps no place that others could use. The engine queues it again when its wait is over; after a crash DBOS
    does at once, and it leaves again.
    """


async def _ignore(_why: str | None) -> None:
    return None


class JournalServices(Protocol):
    """The parts of a process that a journal needs."""

    @property
    def database(self) -> Database: ...

    @property
    def clock(self) -> Clock: ...

    @property
    def pauses(self) -> Sequence[float]: ...

    @property
    def lag(self) -> Sequence[float]: ...

    @property
    def durable(self) -> Durable: ...


class WorkflowJournal:
    """The journal of the workflow it is used in.

    A step that completed is never repeated. One that failed is repeated, put off or given up as its error says.

    :param workflow_id: of the workflow it is used in.
    :param waiting: told why the workflow starts to wait, and None when it goes on; called within a step.
    :param pauses: seconds before each repetition of a failed step, if others than usual.
    """

    def __init__(
        self,
        services: JournalServices,
        workflow_id: str,
        waiting: Callable[[str | None], Awaitable[None]] = _ignore,
        *,
        pauses: Sequence[float] | None = None,
    ) -> None:
        self._services = services
        self.workflow_id = workflow_id
        self._waiting = waiting
        self._pauses = services.pauses if pauses is None else pauses

    async def step(self, key: str, call: Callable[[*Arguments], Awaitable[T]], *arguments: *Arguments) -> T:
        """What a call answers, or answered when this step of this workflow completed before.

        :param key: names the step, for people and the audit; steps are matched by order. Never renamed.
        :param call: says in its annotation what it answers: the journal keeps that as JSON and reads it back.
        :raises ForgeError: the step's own error, once repeating it makes no sense (any more).
        """
        return await self.step_as(_kind_of(call), key, call, *arguments)

    async def step_as(
        self, kind: type[T], key: str, call: Callable[[*Arguments], Awaitable[T]], *arguments: *Arguments
    ) -> T:
        """A step whose type of answer only its caller knows; see :meth:`step`."""
        pauses, looks = iter(self._pauses), iter(self._services.lag)
        while True:
            try:
                return await self._once(kind, key, partial(call, *arguments))
            except RateLimited as limit:
                await self._wait(limit.until, limit.message)
            except Halted as halt:
                await self.pause(_HALT_PAUSE, halt.message)
            except ForgeError as error:
                repeats = looks if isinstance(error, Behind) else pauses
                pause = next(repeats, None) if error.recovery is Recovery.retry else None
                if pause is None:
                    raise
                await self._pause(pause, error.message)

    async def step_once(self, key: str, call: Callable[[*Arguments], Awaitable[T]], *arguments: *Arguments) -> T:
        """A step that is not repeated when it fails, for what can wait or be done by somebody else.

        :raises ForgeError: the step's own error.
        """
        return await self._once(_kind_of(call), key, partial(call, *arguments))

    async def _once(self, kind: type[T], key: str, call: Callable[[], Awaitable[T]]) -> T:
        adapter = _adapter(kind)
        answer = await self._services.durable(key, partial(_record, adapter, call))
        if "error" in answer:
            raise from_json(answer)
        return adapter.validate_python(answer["value"])

    async def has_patch(self, change: str) -> bool:
        """Whether this workflow does what a version changed here: not where an earlier version went on from here.

        So a workflow that is under way while Forge is updated finds the steps that it made.

        :param change: names the change, for ever.
        """
        return await call_dbos(partial(DBOS.patch_async, change))

    async def _pause(self, seconds: float, why: str) -> None:
        if seconds < _SHORT_PAUSE:
            await call_dbos(partial(DBOS.sleep_async, seconds))
        else:
            await self.pause(timedelta(seconds=seconds), why)

    async def pause(self, by: timedelta, why: str) -> None:
        """Wait for some time, durably, or until somebody wakes the workflow.

        :param why: for people.
        """
        began = await self.step("what time it is", self._read_clock)
        await self._wait(began + by, why)

    async def _read_clock(self) -> datetime:
        return self._services.clock.now()

    async def _wait(self, until: datetime, why: str) -> None:
        """Wait for a moment, or until somebody ends the wait, without a place in the queue meanwhile.

        :raises Parked: it has to wait, so this execution of the workflow is over. The next one finds in the journal
            what was done, and looks here again.
        """
        leaves = await self.has_patch(_LEAVES)
        await self.step("wait", self._begin_waiting, until, why)
        while not await self._is_wait_over(leaves=leaves):
            if not leaves:  # it began to wait under a version whose workflows kept their places
                left = max(until - self._services.clock.now(), timedelta(0)) + _BACKSTOP
                await call_dbos(partial(DBOS.recv_async, WAKE, left.total_seconds()))
        await self.step("go on", self._end_waiting)

    async def _is_wait_over(self, *, leaves: bool) -> bool:
        """:raises Parked: it is not, says the clock itself and not only the journal of an earlier execution."""
        is_new = False

        async def look() -> bool:
            nonlocal is_new
            is_new = True
            return await waits.is_over(self._services.database, self.workflow_id, self._services.clock.now())

        is_time = await self.step("is it time", look)
        if is_new and leaves and not is_time:
            raise Parked
        return is_time

    async def _begin_waiting(self, until: datetime, why: str) -> None:
        await self._waiting(why)
        await waits.add(self._services.database, self.workflow_id, until, why)

    async def _end_waiting(self) -> None:
        await waits.remove(self._services.database, self.workflow_id)
        await self._waiting(None)


async def _record(adapter: TypeAdapter[T], call: Callable[[], Awaitable[T]]) -> dict[str, Any]:
    """The answer of a call or its error as the journal keeps it; mistakes of ours are not kept but raised."""
    try:
        return {"value": adapter.dump_python(await call(), mode="json", warnings="error")}
    except DatabaseUnavailable as error:
        raise make_interruption(error) from error
    except ForgeError as error:
        return dict(to_json(error))


def _kind_of(call: Callable[..., Awaitable[T]]) -> type[T]:
    """What a call answers, by its annotation.

    :raises TypeError: it says nothing.
    """
    while isinstance(call, partial):
        call = call.func
    kind = inspect.get_annotations(call).get("return", JsonValue)
    return cast(type[T], kind)


@cache
def _adapter(kind: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(kind)
