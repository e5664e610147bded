"""Lets a sandboxed program without a network reach one address: the operator's registry, or a proxy to registries.

The program has its own network with nothing but loopback. Before it starts, a few lines of Python inside open a
listening socket there, pass it to Forge and become the program. Forge accepts connections at that socket and forwards
bytes to the one address. Inside there is only the port: no process and no socket file that could be taken over. The
operator's proxy decides which hosts can be reached through the address.
"""

import asyncio
import os
import re
import socket
import struct
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlsplit

INSIDE = ("127.0.0.1", 3128)
"""Where the program finds the proxy; nothing else listens on its loopback before it starts."""
_URL = "http://{}:{}".format(*INSIDE)
_LOOPBACK = "127.0.0.1,localhost"  # the program's own loopback, which the proxy cannot know
VARIABLES = {
    **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), _URL),
    **dict.fromkeys(("NO_PROXY", "no_proxy"), _LOOPBACK),
    "FORGE_REGISTRY": _URL,
}
"""The environment variables that point programs to the proxy."""

SocketPlace = tuple[socket.AddressFamily, Any]
"""An address family, and an address in its format."""

_STREAM = socket.SOCK_STREAM
_CHUNK = 1 << 16
# Closing resets the connection: its end alone would look like an answer with nothing in it.
_RESET = struct.pack("ii", 1, 0)
_HOST = re.compile(r"[A-Za-z0-9._:-]+")
_NO_PYTHON = "There is no python3 inside to open its network. FORGE_SANDBOX_TOOLS can name a folder that holds one."
# The program never gets an end of the socket pair: whoever shares a socket with Forge can make Forge wait for it.
_START = f"if command -v python3 > /dev/null; then exec python3 -I -S -c \"$@\"; fi; echo '{_NO_PYTHON}' >&2; exit 127"
# Python ignores two signals whose default the program expects.
_BOOT = f"""
import os, signal, socket, sys
outside = socket.socket(fileno=int(sys.argv[1]))
port = socket.create_server({INSIDE!r}, backlog=128)
socket.send_fds(outside, [b"."], [port.fileno()])
outside.close()
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    signal.signal(number, signal.SIG_DFL)
os.execvp(sys.argv[2], sys.argv[2:])
"""


@dataclass(frozen=True, slots=True)
class Address:
    """Where the operator's registry or proxy listens, a service of Forge itself, or what a deployment talks to.

    :param idle: seconds without a byte before a connection is closed, if other than usual.
    :param is_proxy: programs inside are told to send their HTTP through it.
    """

    host: str
    port: int
    idle: float | None = None
    is_proxy: bool = True

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment variables that a program gets for it."""
        return VARIABLES if self.is_proxy else {}

    @property
    def kind(self) -> str:
        """What it is, as the beginning of a sentence."""
        return "The registry proxy" if self.is_proxy else "The one address that may be reached"

    @classmethod
    def parse(cls, url: str) -> "Address":
        """The address of ``http://HOST:PORT``.

        :raises ValueError: the URL has another form.
        """
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port
        except ValueError:
            raise _address_error() from None
        is_plain = parts.scheme == "http" and parts.path in {"", "/"} and not parts.query and not parts.fragment
        if not (is_plain and port and _HOST.fullmatch(host) and "@" not in parts.netloc):
            raise _address_error()
        return cls(host, port)


def _address_error() -> ValueError:
    return ValueError(
        "write http://HOST:PORT of a proxy or registry; what stands behind it may use TLS, and credentials belong there"
    )


@dataclass(frozen=True, slots=True)
class ProxyBounds:
    """The limits of one program.

    :param at_once: simultaneous connections, each of which takes two of Forge's open files; more of them wait.
    :param connections: in all.
    :param bytes: in both directions together.
    :param connecting: seconds until the address must have answered.
    :param idle: seconds without a byte.
    """

    at_once: int = 32
    connections: int = 10_000
    bytes: int = 2_000_000_000
    connecting: float = 10.0
    idle: float = 60.0


BOUNDS = ProxyBounds()


def build_command(argv: Sequence[str], descriptor: int) -> list[str]:
    """The command line that opens the port inside and becomes the program.

    :param argv: the program and its arguments.
    :param descriptor: of the socket that :meth:`Forwarder.open` returned.
    """
    return ["/bin/sh", "-c", _START, "sh", _BOOT, str(descriptor), *argv]


class Forwarder:
    """Forwards bytes between one sandbox's port and the address while :meth:`serve` lasts."""

    def __init__(self, address: Address, bounds: ProxyBounds = BOUNDS) -> None:
        self.trouble = ""
        """What went wrong, one sentence for readers of the program's output."""
        self._address = address
        self._idle = address.idle or bounds.idle
        self._bounds = bounds
        self._left = bounds.bytes
        self._outer: socket.socket | None = None

    def open(self, stack: ExitStack) -> socket.socket:
        """The program's end of a socket pair, through which it passes the port to Forge."""
        self._outer, inner = socket.socketpair()
        for end in (self._outer, inner):
            stack.callback(end.close)
        self._outer.setblocking(False)
        return inner

    @asynccontextmanager
    async def serve(self) -> AsyncGenerator[None]:
        """Serve the port as soon as Forge has it; leaving the context closes all connections."""
        task = asyncio.create_task(self._serve())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _serve(self) -> None:
        port = await self._receive_port()
        if port is None:
            return
        with port:
            try:
                places = await self._places()
            except OSError as error:
                self.trouble = f"{self._address.kind} could not be found ({_explain(error)})."
            else:
                await self._accept(port, places)

    async def _accept(self, port: socket.socket, places: Sequence[SocketPlace]) -> None:
        free = asyncio.Semaphore(self._bounds.at_once)
        async with asyncio.TaskGroup() as group:
            try:
                for _ in range(self._bounds.connections):
                    await free.acquire()
                    connection, _ = await asyncio.get_running_loop().sock_accept(port)
                    task = group.create_task(self._forward(connection, places))
                    task.add_done_callback(partial(_close, connection, free))
                self.trouble = f"The network is shut: it was used for {self._bounds.connections:,} connections."
            except OSError as error:
                self.trouble = f"The network is shut ({_explain(error)})."
            port.close()

    async def _places(self) -> Sequence[SocketPlace]:
        """What the address resolves to. It is looked up once, because many look-ups would delay others."""
        look_up = asyncio.get_running_loop().getaddrinfo(self._address.host, self._address.port, type=_STREAM)
        async with asyncio.timeout(self._bounds.connecting):
            return [(family, place) for family, _, _, _, place in await look_up]

    async def _receive_port(self) -> socket.socket | None:
        """The listening socket from inside; None if the program ended without opening one."""
        assert self._outer is not None
        loop = asyncio.get_running_loop()
        readable = asyncio.Event()
        loop.add_reader(self._outer, readable.set)
        try:
            await readable.wait()
        finally:
            loop.remove_reader(self._outer)
        _, descriptors, _, _ = socket.recv_fds(self._outer, 1, 1, socket.MSG_CMSG_CLOEXEC)
        if not descriptors:
            return None
        port = socket.socket(fileno=descriptors[0])
        port.setblocking(False)
        return port

    async def _forward(self, connection: socket.socket, places: Sequence[SocketPlace]) -> None:
        """Serve one connection to its end; the program itself notices what goes wrong with it."""
        with ExitStack() as stack:
            try:
                async with asyncio.timeout(self._bounds.connecting):
                    address = stack.enter_context(await _connect(places))
            except OSError as error:
                self.trouble = f"{self._address.kind} could not be reached ({_explain(error)})."
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                return
            try:
                async with asyncio.timeout(self._idle) as patience, asyncio.TaskGroup() as both:
                    both.create_task(self._pass_on(connection, address, patience))
                    both.create_task(self._pass_on(address, connection, patience))
            except* OSError:
                pass

    async def _pass_on(self, source: socket.socket, target: socket.socket, patience: asyncio.Timeout) -> None:
        loop = asyncio.get_running_loop()
        while data := await loop.sock_recv(source, _CHUNK):
            self._left -= len(data)
            if self._left < 0:
                self.trouble = f"The network is shut: it was used for {self._bounds.bytes:,} bytes."
                raise ConnectionAbortedError
            await loop.sock_sendall(target, data)
            if not patience.expired():
                patience.reschedule(loop.time() + self._idle)
            await asyncio.sleep(0)  # otherwise two sockets that are always ready would starve other tasks
        target.shutdown(socket.SHUT_WR)


def _explain(error: OSError) -> str:
    """Why, without the address: asyncio's own words name it, and it is the operator's."""
    if error.errno and not isinstance(error, socket.gaierror):
        return os.strerror(error.errno)
    return error.strerror or "it does not answer"


def _close(connection: socket.socket, free: asyncio.Semaphore, _: asyncio.Task[None]) -> None:
    """Close a connection, even if its task was cancelled before it began."""
    connection.close()
    free.release()


async def _connect(places: Sequence[SocketPlace]) -> socket.socket:
    """A connection to the first place that accepts one.

    :raises OSError: none does.
    """
    failure = OSError()
    for family, place in places:
        with ExitStack() as stack:
            connection = stack.enter_context(socket.socket(family, _STREAM))
            connection.setblocking(False)
            try:
                await asyncio.get_running_loop().sock_connect(connection, place)
            except OSError as error:
                failure = error
            else:
                stack.pop_all()
                return connection
    raise failure
