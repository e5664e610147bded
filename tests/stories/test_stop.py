"""Who comes while Forge stops is answered or turned away, never left waiting."""

import asyncio
import socket

import pytest

from bot.server import serve
from tests.stories.driver import Story

_ASKED = b"GET /healthz HTTP/1.1\r\nHost: forge\r\n\r\n"
_ANSWERED, _RESET, _REFUSED = "answered", "reset", "refused"


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (0, {_ANSWERED}),
        (1, {_ANSWERED}),
        (2, {_ANSWERED, _RESET, _REFUSED}),
        (3, {_ANSWERED, _RESET, _REFUSED}),
        (9, {_REFUSED}),
    ],
)
async def test_who_connects_as_it_stops(story: Story, turns: int, expected: set[str]) -> None:
    """:param turns: of the event loop from the beginning of the end until somebody connects."""
    came: asyncio.Future[socket.socket | None] = asyncio.get_running_loop().create_future()
    async with serve(story.forge) as port:
        _come(came, port, turns)
    client = await came
    became = _REFUSED if client is None else await asyncio.to_thread(_became, client)
    assert became in expected


def _come(came: asyncio.Future[socket.socket | None], port: int, turns: int) -> None:
    """Connect and ask after so many turns, in one go."""
    if turns:
        asyncio.get_running_loop().call_soon(_come, came, port, turns - 1)
        return
    try:
        client = socket.create_connection(("127.0.0.1", port), timeout=10)
        client.sendall(_ASKED)
    except ConnectionRefusedError:
        came.set_result(None)
    else:
        came.set_result(client)


def _became(client: socket.socket) -> str:
    """What became of a connection, known when it ends."""
    with client:
        try:
            answer = b"".join(iter(lambda: client.recv(65_536), b""))
        except ConnectionResetError:
            return _RESET
    return _ANSWERED if answer.startswith(b"HTTP/1.1 200 OK\r\n") else answer.decode()
