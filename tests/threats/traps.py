"""Servers on this machine that Forge must never speak to."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

THIS_MACHINE = ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "127.1", "2130706433"]
"""How an address can name the machine that Forge runs on."""


@asynccontextmanager
async def open_trap(port: int = 0) -> AsyncGenerator[tuple[int, list[bytes]]]:
    """The port of a server on loopback, and what it heard."""
    heard: list[bytes] = []

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(await reader.read(100))
        writer.close()

    server = await asyncio.start_server(listen, "127.0.0.1", port)
    async with server:
        yield server.sockets[0].getsockname()[1], heard
