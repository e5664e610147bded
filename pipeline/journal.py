"""Journals steps with DBOS and decides, by class of error, whether a step is repeated, waits or ends (SPEC P6)."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, cast

from dbos import DBOS
from pydantic import JsonValue

from domain.errors import ForgeError, RateLimited, Recovery, from_json, to_json
from domain.ports import Clock

PAUSES = (1.0, 4.0, 15.0, 60.0, 300.0, 900.0)
"""Seconds before a failed step is repeated; after the last, some twenty minutes, the error stands."""

Wait = Callable[[datetime, str], Awaitable[None]]
"""Tells the ledger that a workflow waits until a moment, and why; called within a step."""

WAKE = "wake"  # topic of the message that ends a wait
_BACKSTOP = timedelta(minutes=5)


class WorkflowJournal:
    """The journal of the workflow it is used in.

    A step that completed is never repeated. One that failed is repeated, put off or given up as its error says.

    :param waiting: called when the workflow starts to wait.
    :param going_on: called when it goes on.
    :param pauses: seconds before each repetition of a failed step.
    """

    def __init__(
        self,
        clock: Clock,
        waiting: Wait,
        going_on: Callable[[], Awaitable[None]],
        pauses: Sequence[float] = PAUSES,
    ) -> None:
        self._clock = clock
        self._pauses = pauses
        self._waiting = waiting
        self._going_on = going_on

    async def step(self, key: str, call: Callable[[], Awaitable[JsonValue]]) -> JsonValue:
        """See :class:`domain.ports.Journal`.

        :raises ForgeError: the step's own error, once repeating it makes no sense (any more).
        """
        failures = 0
        while True:
            answer = await _run(key, call)
            if "error" not in answer:
                return cast(JsonValue, answer["value"])
            error = from_json(answer)
            if isinstance(error, RateLimited):
                await self._wait(error)
            elif error.recovery is Recovery.retry and failures < len(self._pauses):
                await DBOS.sleep_async(self._pauses[failures])
                failures += 1
            else:
                raise error

    async def _wait(self, limit: RateLimited) -> None:
        await _run("wait", lambda: _nothing(self._waiting(limit.until, limit.message)))
        while not (await _run("is it time", lambda: self._is_due(limit.until)))["value"]:
            left = limit.until - self._clock.now()
            await DBOS.recv_async(WAKE, max(left, timedelta(0)).total_seconds() + _BACKSTOP.total_seconds())
        await _run("go on", lambda: _nothing(self._going_on()))

    async def _is_due(self, until: datetime) -> JsonValue:
        return self._clock.now() >= until


async def _run(key: str, call: Callable[[], Awaitable[JsonValue]]) -> dict[str, Any]:
    async def journaled() -> dict[str, Any]:
        try:
            return {"value": await call()}
        except ForgeError as error:
            return dict(to_json(error))

    return await DBOS.run_step_async({"name": key}, journaled)


async def _nothing(work: Awaitable[None]) -> JsonValue:
    await work
    return None
