"""Journals steps, and decides by the class of an error whether a step is repeated, waits or fails."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any, Protocol, TypeVar, TypeVarTuple, cast

import structlog
from dbos import DBOS
from dbos._serialization import PortableWorkflowError  # not exported; DBOS raises it for a recorded failure
from pydantic import JsonValue, TypeAdapter

from domain.errors import Behind, DatabaseUnavailable, ForgeError, Halted, RateLimited, Recovery, from_json, to_json
from domain.ports import Clock
from memory.db.engine import OUTAGES, Database, is_outage
from memory.runs import waits

log = structlog.get_logger(__name__)
Call = Callable[[], Awaitable[dict[str, Any]]]
Durable = Callable[[str, Call], Awaitable[dict[str, Any]]]
"""Runs a step of the current workflow, or answers its recorded answer."""
PAUSES = (1.0, 4.0, 15.0, 60.0, 300.0, 900.0)
"""Seconds before a failed step is repeated; after the last, some twenty minutes, the error is final."""
LAG = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0)
"""Seconds before GitHub is read again that does not show yet what a webhook told: half a minute together."""
STUBBORN = 200
"""How often the last pause is repeated where giving up would lose something: two days."""

_TOLD_AFTER = 2  # failures of one step
_HALT_PAUSE = timedelta(days=1)  # usually the end of the halt wakes it earlier
_SHORT_PAUSE = 10.0  # seconds; longer pauses can be ended early

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class Parked(asyncio.CancelledError):
    """Ends this execution of a workflow that has to wait, without an outcome, as if its process had died.

    This frees its place in the queue. The engine queues it again when its wait is over. After a crash DBOS does so at
    once, and it parks again.
    """


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


async def _ignore(_why: str | None) -> None:
    return None


class WorkflowJournal:
    """The journal of the current workflow.

    A completed step is never repeated. A failed one is repeated, delayed or given up, depending on its error.

    :param workflow_id: of the current workflow.
    :param waiting: called with the reason when the workflow starts to wait, and with None when it continues; within a
        step.
    :param pauses: seconds before each repetition of a failed step; default: as usual.
    :param failing: called once, within a step, when a step failed twice and is repeated all the same.
    """

    def __init__(
        self,
        services: JournalServices,
        workflow_id: str,
        waiting: Callable[[str | None], Awaitable[None]] = _ignore,
        *,
        pauses: Sequence[float] | None = None,
        failing: Callable[[ForgeError], Awaitable[None]] | None = None,
    ) -> None:
        self._services = services
        self.workflow_id = workflow_id
        self._waiting = waiting
        self._pauses = services.pauses if pauses is None else pauses
        self._failing = failing
        self.is_failure_told = False

    async def step(self, key: str, call: Callable[[*Arguments], Awaitable[T]], *arguments: *Arguments) -> T:
        """Run a step, or answer its journaled answer.

        :param key: names the step, for people and the audit; steps are matched by order. Never renamed.
        :param call: its return annotation is the type that the journal stores as JSON and reads back.
        :raises ForgeError: the step's error, if repeating it does not help.
        """
        return await self.step_as(kind_of(call), key, call, *arguments)

    async def step_as(
        self,
        kind: type[T],
        key: str,
        call: Callable[[*Arguments], Awaitable[T]],
        *arguments: *Arguments,
        is_repeated: bool = True,
    ) -> T:
        """A step whose type of answer the caller gives; see :meth:`step` and :meth:`step_once`."""
        if not is_repeated:
            return await self._once(kind, key, partial(call, *arguments))
        pauses, looks, failures = iter(self._pauses), iter(self._services.lag), 0
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
                failures += not isinstance(error, Behind)
                if failures == _TOLD_AFTER:
                    await self._tell_failure(error)
                await self._pause(pause, error.message)

    async def _tell_failure(self, error: ForgeError) -> None:
        if self._failing is not None and not self.is_failure_told:
            self.is_failure_told = True
            await self._once(cast(Any, None), "say that it fails", partial(self._failing, error))

    async def step_once(self, key: str, call: Callable[[*Arguments], Awaitable[T]], *arguments: *Arguments) -> T:
        """A step that is not repeated when it fails.

        :raises ForgeError: the step's error.
        """
        return await self._once(kind_of(call), key, partial(call, *arguments))

    async def _once(self, kind: type[T], key: str, call: Callable[[], Awaitable[T]]) -> T:
        adapter: TypeAdapter[T] = _adapter(kind)
        answer = await self._services.durable(key, partial(_record, adapter, call))
        if "error" in answer:
            raise from_json(answer)
        if cast(object, kind) is None:
            return cast(T, None)
        return adapter.validate_python(answer["value"])

    async def _pause(self, seconds: float, why: str) -> None:
        if seconds < _SHORT_PAUSE:
            await call_dbos(partial(DBOS.sleep_async, seconds))
        else:
            await self.pause(timedelta(seconds=seconds), why)

    async def pause(self, by: timedelta, why: str) -> None:
        """Wait durably, or until something wakes the workflow.

        :param why: for people.
        """
        await self._wait(await self.read_time() + by, why)

    async def read_time(self) -> datetime:
        """What time it is, the same in each execution."""
        return await self.step("what time it is", self._read_clock)

    async def _read_clock(self) -> datetime:
        return self._services.clock.now()

    async def _wait(self, until: datetime, why: str) -> None:
        """Wait until a moment, or until something ends the wait, without a place in the queue.

        :raises Parked: it has to wait, so this execution ends. The next one gets here again.
        """
        await self.step("wait", self._begin_waiting, until, why)
        while not await self._is_wait_over():
            pass
        await self.step("go on", self._end_waiting)

    async def _is_wait_over(self) -> bool:
        """:raises Parked: it is not, and this execution checked that itself."""
        is_new = False

        async def look() -> bool:
            nonlocal is_new
            is_new = True
            return await waits.is_over(self._services.database, self.workflow_id, self._services.clock.now())

        is_time = await self.step("is it time", look)
        if is_new and not is_time:
            raise Parked
        return is_time

    async def _begin_waiting(self, until: datetime, why: str) -> None:
        await self._waiting(why)
        await waits.add(self._services.database, self.workflow_id, until, why)

    async def _end_waiting(self) -> None:
        await waits.remove(self._services.database, self.workflow_id)
        await self._waiting(None)


@cache
def _adapter(kind: type[T]) -> TypeAdapter[T]:
    return TypeAdapter(kind)


async def _record(adapter: TypeAdapter[T], call: Callable[[], Awaitable[T]]) -> dict[str, Any]:
    """The answer of a call, or its error, as JSON. Bugs are raised, not recorded."""
    try:
        return {"value": adapter.dump_python(await call(), mode="json", warnings="error")}
    except DatabaseUnavailable as error:
        raise make_interruption(error) from error
    except ForgeError as error:
        return dict(to_json(error))


def kind_of(call: Callable[..., Awaitable[T]]) -> type[T]:
    """What a call answers, by its annotation.

    :raises TypeError: it says nothing.
    """
    while isinstance(call, partial):
        call = call.func
    kind = inspect.get_annotations(call).get("return", JsonValue)
    return cast(type[T], kind)


async def run_durable_step(name: str, call: Call) -> dict[str, Any]:
    """A :data:`Durable` step. DBOS matches steps by order; the name is for people."""
    return await call_dbos(cast(Call, partial(DBOS.run_step_async, {"name": name}, call)))


async def call_dbos(operation: Callable[[], Awaitable[T]]) -> T:
    """The answer of an operation that DBOS records.

    If the database fails, nobody knows whether it was recorded, so the workflow is interrupted. If DBOS recorded the
    failure itself as the answer, the operation is repeated.
    """
    while True:
        try:
            return await operation()
        except PortableWorkflowError as error:
            if error.name not in OUTAGES:
                raise
        except Exception as error:
            if not is_outage(error):
                raise
            raise make_interruption(error) from error


async def run_outside_journal(call: Callable[[*Arguments], Awaitable[T]], *arguments: *Arguments) -> T:
    """Run a call that is no step, because its result is local, such as commits on this machine.

    A transient error interrupts the workflow, which is queued again soon, and is never its outcome.
    """
    try:
        return await call(*arguments)
    except ForgeError as error:
        if error.recovery is Recovery.stop:
            raise
        raise make_interruption(error) from error


def make_interruption(error: Exception) -> asyncio.CancelledError:
    """Ends this execution of the workflow without an outcome, as if the process had died.

    The engine queues it again soon; recorded steps are not repeated.
    """
    log.warning("workflow.interrupted", workflow=DBOS.workflow_id, error=str(error))
    return asyncio.CancelledError()
