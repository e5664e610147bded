"""Passing bytes between a port that was handed out and one address, within bounds."""

import asyncio
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.settings import Settings, load
from domain.errors import ConfigurationError
from workspace.sandbox.registry_proxy import Address, Forwarder, ProxyBounds

Place = tuple[str, int]


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://proxy.internal:3128", Address("proxy.internal", 3128)),
        ("http://10.0.0.7:8081/", Address("10.0.0.7", 8081)),
        ("http://[fd00::7]:80", Address("fd00::7", 80)),
    ],
)
def test_an_address_is_understood(url: str, address: Address) -> None:
    assert Address.parse(url) == address


@pytest.mark.parametrize(
    "url",
    [
        "proxy:3128",
        "http://proxy",
        "http://:3128",
        "https://proxy:3128",
        "http://user:password@proxy:3128",
        "http://proxy:3128/simple",
        "http://proxy:3128?x=1",
        "http://proxy:3128#x",
        "http://proxy:0",
        "http://proxy:99999",
        "http://proxy:port",
        "http://pro xy:3128",
        "http://[::1:3128",
    ],
)
def test_what_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match="write http://HOST:PORT"):
        Address.parse(url)


def test_the_setting_is_understood_or_said_to_be_wrong(tmp_path: Path) -> None:
    os.chdir(tmp_path)
    os.environ["FORGE_APP_ID"] = "1"
    os.environ["FORGE_WEBHOOK_SECRET"] = "a-webhook-secret"
    assert load(Settings).sandbox_proxy is None
    os.environ["FORGE_SANDBOX_PROXY"] = "http://proxy:3128"
    assert load(Settings).sandbox_proxy == Address("proxy", 3128)
    os.environ["FORGE_SANDBOX_PROXY"] = "https://name:hunter22@proxy:3128"
    with pytest.raises(ConfigurationError, match=r"^FORGE_SANDBOX_PROXY is wrong: write http://HOST:PORT") as caught:
        load(Settings)
    assert "hunter22" not in str(caught.value)


@dataclass
class Echo:
    """A server that sends back what it gets, and says good-bye when nothing more comes."""

    place: Place = ("127.0.0.1", 0)
    connections: int = 0
    most: int = 0
    left: asyncio.Event = field(default_factory=asyncio.Event)

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self.most = max(self.most, self.connections)
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
            writer.write(b"bye")
        except OSError:
            pass
        finally:
            writer.close()
            self.connections -= 1
            if not self.connections:
                self.left.set()


@pytest.fixture
async def echo() -> AsyncGenerator[Echo]:
    echo = Echo()
    async with await asyncio.start_server(echo.answer, "127.0.0.1", 0) as server:
        echo.place = server.sockets[0].getsockname()[:2]
        yield echo


@asynccontextmanager
async def open_forwarder(place: Place, bounds: ProxyBounds | None = None) -> AsyncGenerator[tuple[Forwarder, Place]]:
    """A forwarder to a place, and the port that was handed out to it."""
    forwarder = Forwarder(Address(*place), bounds or ProxyBounds())
    with ExitStack() as stack, socket.create_server(("127.0.0.1", 0)) as port:
        socket.send_fds(forwarder.open(stack), [b"."], [port.fileno()])
        inside = port.getsockname()
        port.close()
        async with forwarder.serve():
            yield forwarder, inside


async def exchange_bytes(place: Place, sent: bytes) -> bytes:
    """Everything that comes back for this, also if the connection is cut."""
    reader, writer = await asyncio.open_connection(*place)
    received = b""
    try:
        writer.write(sent)
        writer.write_eof()
        while data := await reader.read(65536):
            received += data
    except ConnectionError:
        pass
    finally:
        writer.close()
    return received


async def test_bytes_go_both_ways_and_each_direction_ends_by_itself(echo: Echo) -> None:
    async with open_forwarder(echo.place) as (forwarder, inside):
        sent = b"x" * 1_000_000
        assert await asyncio.gather(exchange_bytes(inside, b"one "), exchange_bytes(inside, sent)) == [
            b"one bye",
            sent + b"bye",
        ]
        assert forwarder.trouble == ""


async def test_what_is_beyond_the_bytes_is_cut_and_said(echo: Echo) -> None:
    async with open_forwarder(echo.place, ProxyBounds(bytes=100_000)) as (forwarder, inside):
        assert await exchange_bytes(inside, b"x" * 1_000) == b"x" * 1_000 + b"bye"
        assert len(await exchange_bytes(inside, b"x" * 1_000_000)) < 100_000
        assert await exchange_bytes(inside, b"x") == b""
        assert forwarder.trouble == "The network is shut: it was used for 100,000 bytes."


async def test_connections_beyond_the_number_wait(echo: Echo) -> None:
    async with open_forwarder(echo.place, ProxyBounds(at_once=3)) as (_, inside):
        assert await asyncio.gather(*(exchange_bytes(inside, b"%d " % number) for number in range(20))) == [
            b"%d bye" % number for number in range(20)
        ]
    assert echo.most <= 3


async def test_the_port_is_shut_after_so_many_connections(echo: Echo) -> None:
    async with open_forwarder(echo.place, ProxyBounds(connections=2)) as (forwarder, inside):
        assert [await exchange_bytes(inside, b""), await exchange_bytes(inside, b"")] == [b"bye", b"bye"]
        with pytest.raises(ConnectionRefusedError):
            await exchange_bytes(inside, b"")
        assert forwarder.trouble == "The network is shut: it was used for 2 connections."


async def test_who_says_nothing_is_cut_and_who_goes_on_is_not(echo: Echo) -> None:
    async with open_forwarder(echo.place, ProxyBounds(idle=0.5)) as (_, inside):
        silent, waiting = await asyncio.open_connection(*inside)
        busy, writer = await asyncio.open_connection(*inside)
        for _ in range(8):
            writer.write(b"x")
            assert await busy.readexactly(1) == b"x"
            await asyncio.sleep(0.1)
        async with asyncio.timeout(5):
            assert await silent.read() == b""
        waiting.close()
        writer.close()


async def test_an_address_that_does_not_answer_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        place = server.getsockname()
    async with open_forwarder(place) as (forwarder, inside):
        assert await exchange_bytes(inside, b"x") == b""
        assert forwarder.trouble.startswith("The registry proxy could not be reached (")


async def test_a_name_that_nobody_knows_shuts_the_port_and_is_said() -> None:
    async with open_forwarder(("no-such-host.invalid", 80)) as (forwarder, inside):
        with suppress(ConnectionRefusedError):
            assert await exchange_bytes(inside, b"x") == b""
        assert forwarder.trouble.startswith("The registry proxy could not be found (")
        with pytest.raises(ConnectionRefusedError):
            await exchange_bytes(inside, b"x")


async def test_the_end_cuts_every_connection(echo: Echo) -> None:
    async with open_forwarder(echo.place) as (_, inside):
        reader, writer = await asyncio.open_connection(*inside)
        writer.write(b"x")
        assert await reader.readexactly(1) == b"x"
    async with asyncio.timeout(5):
        assert await reader.read() == b""
        await echo.left.wait()
    writer.close()
    with pytest.raises(ConnectionRefusedError):
        await exchange_bytes(inside, b"")


async def test_a_program_that_ends_without_opening_a_port_is_no_trouble(echo: Echo) -> None:
    forwarder = Forwarder(Address(*echo.place))
    with ExitStack() as stack:
        forwarder.open(stack).close()
        async with forwarder.serve():
            await asyncio.sleep(0.05)
    assert forwarder.trouble == ""
