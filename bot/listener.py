"""Listens for HTTP at the address of the settings, and stops without leaving anybody waiting."""

import asyncio
import errno
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing, suppress

from aiohttp import web

from bot.connections import HEADER_SECONDS, connection_factory
from bot.settings import Installation
from domain.errors import ConfigurationError

_GRACE_S = 0.02  # seconds in which the connections accepted last can still send their request


@asynccontextmanager
async def listen(
    app: web.Application, settings: Installation, header_seconds: float = HEADER_SECONDS
) -> AsyncGenerator[int]:
    """Serve an application at the address of the settings; yields the port.

    :param header_seconds: in which the headers of a request must arrive.
    :raises ConfigurationError: if the address cannot be used.
    """
    runner = web.AppRunner(app, shutdown_timeout=5)
    await runner.setup()
    try:
        async with _accept(runner, settings, header_seconds) as port:
            yield port
    finally:
        await runner.cleanup()


@asynccontextmanager
async def _accept(runner: web.AppRunner, settings: Installation, header_seconds: float) -> AsyncGenerator[int]:
    """Listen at the address of the settings; yields the port.

    :raises ConfigurationError: if the address cannot be used.
    """
    with closing(await _server(runner, settings, header_seconds)) as server:
        try:
            yield int(server.sockets[0].getsockname()[1])
        finally:
            # asyncio neither answers nor closes connections that it accepted but had not handed over when the server
            # closed (https://github.com/python/cpython/issues/109564), and aiohttp drops connections without a request.
            # So stop accepting first, and give the last ones a moment.
            for listener in server.sockets:
                asyncio.get_running_loop().remove_reader(listener.fileno())
                with suppress(OSError):  # not every system can shut down a listening socket
                    listener.shutdown(socket.SHUT_RDWR)
            await asyncio.sleep(_GRACE_S)


async def _server(runner: web.AppRunner, settings: Installation, header_seconds: float) -> asyncio.Server:
    """Bind the address of the settings.

    :raises ConfigurationError: if it cannot be used.
    """
    assert runner.server is not None  # made by its setup
    accept = connection_factory(runner.server, header_seconds)
    host, port = settings.host, settings.port
    try:
        return await asyncio.get_running_loop().create_server(accept, host, port, backlog=128)
    except (socket.gaierror, UnicodeError) as error:
        why = getattr(error, "strerror", None) or "it is not a host name"
        raise ConfigurationError(
            f"FORGE_HOST {host} cannot be resolved: {why}.", "Use an address of this machine, or 0.0.0.0 for all."
        ) from None
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            raise ConfigurationError(
                f"FORGE_PORT {port} is in use on {host}.", "Stop the program that uses it, or set another port."
            ) from None
        if error.errno == errno.EADDRNOTAVAIL:
            raise ConfigurationError(
                f"FORGE_HOST {host} is not an address of this machine.", "Use one that is, or 0.0.0.0 for all."
            ) from None
        why = os.strerror(error.errno) if error.errno else str(error)
        raise ConfigurationError(
            f"FORGE_HOST {host} and FORGE_PORT {port} cannot be served: {why}.", "Choose others."
        ) from None
