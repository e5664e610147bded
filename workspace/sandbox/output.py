"""Captures what a program prints, in bounded memory, without waiting for other holders of its pipes."""

import asyncio
import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass

_MEGABYTE = 1 << 20


@dataclass(frozen=True)
class Output:
    """The beginning and the end of what a program printed, and its total size in bytes."""

    head: bytes
    tail: bytes
    total: int

    @property
    def is_complete(self) -> bool:
        return self.total == len(self.head) + len(self.tail)

    @property
    def data(self) -> bytes:
        """Everything that was kept, with a line that says what is missing."""
        if self.is_complete:
            return self.head + self.tail
        return self.head + b"\n[%d bytes left out]\n" % (self.total - len(self.head) - len(self.tail)) + self.tail


class Capture(asyncio.Protocol):
    """Keeps the beginning and the end of what comes through a pipe, in bounded memory.

    The pipe is our own: with a pipe of asyncio, ``Process.wait`` also waits for every other process that holds it.
    """

    def __init__(self, limit: int) -> None:
        loop = asyncio.get_running_loop()
        self.flooded: asyncio.Future[None] = loop.create_future()
        self.closed: asyncio.Future[None] = loop.create_future()
        self._half = limit // 2
        self._most = max(16 * limit, 64 * _MEGABYTE)
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0

    async def open(self, stack: contextlib.ExitStack) -> int:
        """Start to read. Returns the program's end of the pipe, which the caller closes."""
        reading, writing = os.pipe()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: self, os.fdopen(reading, "rb", 0))
        stack.callback(transport.close)
        return writing

    @property
    def total(self) -> int:
        """Bytes printed so far."""
        return self._total

    def data_received(self, data: bytes) -> None:
        self._total += len(data)
        room = self._half - len(self._head)
        self._head += data[:room]
        self._tail += data[max(room, 0) :]
        if len(self._tail) > 2 * self._half:
            del self._tail[: -self._half]
        if self._total > self._most and not self.flooded.done():
            self.flooded.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed.done():
            self.closed.set_result(None)

    def output(self) -> Output:
        kept = len(self._head) + len(self._tail)
        tail = self._tail if kept == self._total and len(self._tail) <= self._half else self._tail[-self._half :]
        return Output(bytes(self._head), bytes(tail), self._total)


async def wait_for_end(process: asyncio.subprocess.Process, outputs: Sequence[Capture], seconds: float) -> int | None:
    """The status of a program; None if it ran out of time or printed far more than is kept."""
    ending = asyncio.create_task(process.wait())
    floods = [output.flooded for output in outputs]
    try:
        await asyncio.wait([ending, *floods], timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        if not ending.done():
            return None
        # Another process may hold the pipes open for ever, so what arrives later than this does not count.
        await asyncio.wait([output.closed for output in outputs], timeout=1.0)
        return ending.result()
    finally:
        ending.cancel()
