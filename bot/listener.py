"""Listens for HTTP at the address of the settings, closes connections that send nothing, and leaves nobody waiting."""

import asyncio
import errno
import os
import socket
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import ExitStack, asynccontextmanager, closing, suppress
from functools import partial
from typing import Any

import structlog
from aiohttp import web
from aiohttp.http import HttpProcessingError
from aiohttp.web_protocol import RequestHandler

from bot.settings import Installation
from domain.errors import ConfigurationError

log = structlog.get_logger(__name__)
HEADER_SECONDS = 10.0  # GitHub gives up on a delivery after as many
IDLE_SECONDS = 75.0  # between two requests; longer than proxies keep an idle connection


_BACKLOG = 128  # connections that wait until they are accepted
_GRACE_S = 0.02  # seconds in which the connections accepted last can still send their request


class HeldPort:
    """A port that one part of a process leaves to the next. Who connects in between waits, and is not refused.

    :ivar is_kept: whether the part that listens now leaves it.
    """

    def __init__(self) -> None:
        self.is_kept = False
        self._sockets: list[socket.socket] = []

    def keep(self, sockets: Sequence[socket.socket]) -> None:
        """Keep sockets that listen, whatever becomes of these handles."""
        self._sockets = [each.dup() for each in sockets]

    def take(self) -> Sequence[socket.socket]:
        """The sockets that were kept, once."""
        taken, self.is_kept = self._sockets, False
        self._sockets = []
        return taken


@asynccontextmanager
async def listen(
    app: web.Application,
    settings: Installation,
    header_seconds: float = HEADER_SECONDS,
    held: HeldPort | None = None,
) -> AsyncGenerator[int]:
    """Serve an application at the address of the settings; yields the port.

    :param header_seconds: in which the headers of a request must arrive.
    :param held: what a part before left is used, and what it is told to keep is left.
    :raises ConfigurationError: if the address cannot be used.
    """
    runner = web.AppRunner(app, shutdown_timeout=5)
    await runner.setup()
    try:
        async with _accept(runner, settings, header_seconds, held or HeldPort()) as port:
            yield port
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _accept(
    runner: web.AppRunner, settings: Installation, header_seconds: float, held: HeldPort
) -> AsyncGenerator[int]:
    """Listen at the address of the settings; yields the port.

    :raises ConfigurationError: if the address cannot be used.
    """
    with ExitStack() as stack:
        servers = await _start_servers(runner, settings, header_seconds, held.take())
        sockets = [each for server in servers for each in stack.enter_context(closing(server)).sockets]
        try:
            yield int(sockets[0].getsockname()[1])
        finally:
            await _stop_accepting(sockets, held)


async def _stop_accepting(sockets: Sequence[socket.socket], held: HeldPort) -> None:
    """Stop before the servers close, and give the last connections a moment.

    asyncio neither answers nor closes connections that it accepted but had not handed over when the server closed
    (https://github.com/python/cpython/issues/109564), and aiohttp drops connections without a request.
    """
    for listener in sockets:
        asyncio.get_running_loop().remove_reader(listener.fileno())
    if held.is_kept:
        held.keep(sockets)
    else:
        for listener in sockets:
            with suppress(OSError):  # not every system can shut down a listening socket
                listener.shutdown(socket.SHUT_RDWR)
    await asyncio.sleep(_GRACE_S)


async def _start_servers(
    runner: web.AppRunner, settings: Installation, header_seconds: float, taken: Sequence[socket.socket]
) -> Sequence[asyncio.Server]:
    """Accept connections at sockets that listen already, or else at the address of the settings.

    :raises ConfigurationError: if that cannot be used.
    """
    if not taken:
        return [await _server(runner, settings, header_seconds)]
    assert runner.server is not None  # made by its setup
    accept, loop = connection_factory(runner.server, header_seconds), asyncio.get_running_loop()
    return [await loop.create_server(accept, sock=each, backlog=_BACKLOG) for each in taken]


async def _server(runner: web.AppRunner, settings: Installation, header_seconds: float) -> asyncio.Server:
    """Bind the address of the settings.

    :raises ConfigurationError: if it cannot be used.
    """
    assert runner.server is not None  # made by its setup
    accept = connection_factory(runner.server, header_seconds)
    try:
        return await _bind(settings, accept)
    except (OSError, UnicodeError) as error:
        raise _explain_unusable(settings, error) from None


async def check_address(settings: Installation) -> bool:
    """Whether one could listen at the address of the settings; not where somebody does so already.

    :raises ConfigurationError: if it cannot be used for another reason.
    """
    try:
        server = await _bind(settings, asyncio.Protocol)
    except (OSError, UnicodeError) as error:
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            return False
        raise _explain_unusable(settings, error) from None
    server.close()
    return True


async def _bind(settings: Installation, accept: Callable[[], asyncio.Protocol]) -> asyncio.Server:
    return await asyncio.get_running_loop().create_server(accept, settings.host, settings.port, backlog=_BACKLOG)


def explain_in_use(settings: Installation) -> ConfigurationError:
    """What is said where another program listens."""
    told = f"FORGE_PORT {settings.port} is in use on {settings.host}."
    return ConfigurationError(told, "Stop the program that uses it, or set another port.")


def _explain_unusable(settings: Installation, error: OSError | UnicodeError) -> ConfigurationError:
    host, port = settings.host, settings.port
    if isinstance(error, socket.gaierror | UnicodeError):
        why = getattr(error, "strerror", None) or "it is not a host name"
        told = f"FORGE_HOST {host} cannot be resolved: {why}."
        return ConfigurationError(told, "Use an address of this machine, or 0.0.0.0 for all.")
    if error.errno == errno.EADDRINUSE:
        return explain_in_use(settings)
    if error.errno == errno.EADDRNOTAVAIL:
        told = f"FORGE_HOST {host} is not an address of this machine."
        return ConfigurationError(told, "Use one that is, or 0.0.0.0 for all.")
    why = os.strerror(error.errno) if error.errno else str(error)
    return ConfigurationError(f"FORGE_HOST {host} and FORGE_PORT {port} cannot be served: {why}.", "Choose others.")


class Connection(RequestHandler):
    """A connection that is closed if a request's headers do not arrive in time, or no further request comes.

    :param header_seconds: seconds from the connection, or from the first byte of a later request, to the last header.
    """

    __slots__ = ("_header_seconds", "_headers_due")

    def __init__(self, manager: web.Server, *, header_seconds: float, **more: Any) -> None:
        super().__init__(manager, **more)
        self._header_seconds = header_seconds
        self._headers_due: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._expect_headers()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self._lacks_headers:
            self._stop_waiting()
        elif self._headers_due is None:
            self._expect_headers()

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def log_exception(self, *args: Any, **more: Any) -> None:
        """Logs one line for malformed HTTP, which anybody can send, and a traceback for errors of Forge."""
        error = more.get("exc_info")
        if isinstance(error, HttpProcessingError):
            log.info("http.malformed", why=" ".join(str(error.message).split())[:200])
        else:
            super().log_exception(*args, **more)

    @property
    def _lacks_headers(self) -> bool:
        """Whether it waits for a request; false while one is read or answered."""
        return self._waiter is not None and not self._waiter.done()

    def _expect_headers(self) -> None:
        self._headers_due = asyncio.get_running_loop().call_later(self._header_seconds, self._close_if_waiting)

    def _stop_waiting(self) -> None:
        if self._headers_due is not None:
            self._headers_due.cancel()
            self._headers_due = None

    def _close_if_waiting(self) -> None:
        self._headers_due = None
        if self._lacks_headers:
            self.force_close()


def connection_factory(server: web.Server, header_seconds: float = HEADER_SECONDS) -> Callable[[], Connection]:
    """Makes a server's connections. Bodies are not decompressed, because the signature covers the bytes as sent."""
    return partial(
        Connection,
        server,
        loop=asyncio.get_running_loop(),
        header_seconds=header_seconds,
        keepalive_timeout=IDLE_SECONDS,
        access_log=None,
        auto_decompress=False,
    )
