"""A relay on the loopback that speaks smee's protocol, as its server does: JSON is read and written anew."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web


@dataclass
class SmeeRelay:
    """One channel; what nobody listens to is lost.

    :param refused: how many of the next listeners are answered with 503.
    """

    url: str = ""
    refused: int = 0
    listeners: list[asyncio.Queue[str | None]] = field(default_factory=list[asyncio.Queue[str | None]])
    received: int = 0
    joined: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self, request: web.Request) -> web.Response:
        """A webhook of GitHub's."""
        self.received += 1
        headers = {name.lower(): value for name, value in request.headers.items()}
        event: dict[str, Any] = {**headers, "body": await request.json(), "query": {}, "timestamp": 1}
        self.send(json.dumps(event, ensure_ascii=False, separators=(",", ":")))  # as JSON.stringify writes it
        return web.Response()

    def send(self, data: str) -> None:
        """Send an event to everybody who listens."""
        for each in self.listeners:
            each.put_nowait(f"data: {data}\n\n")

    def break_off(self) -> None:
        """Close the connections."""
        self.joined.clear()
        for each in self.listeners:
            each.put_nowait(None)

    async def tell(self, request: web.Request) -> web.StreamResponse:
        """The events, until the connection ends."""
        if self.refused:
            self.refused -= 1
            return web.Response(status=503)
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b'event: ready\ndata: {}\n\nevent: ping\ndata: {"timestamp":1}\n\n')
        queue: asyncio.Queue[str | None] = asyncio.Queue()
        self.listeners.append(queue)
        self.joined.set()
        try:
            while (event := await queue.get()) is not None:
                await response.write(event.encode())
        finally:
            self.listeners.remove(queue)
        return response


@asynccontextmanager
async def run_relay() -> AsyncGenerator[SmeeRelay]:
    """A relay while it serves."""
    relay = SmeeRelay()
    app = web.Application(client_max_size=30_000_000)
    app.router.add_post("/channel", relay.receive)
    app.router.add_get("/channel", relay.tell)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    relay.url = f"http://127.0.0.1:{runner.addresses[0][1]}/channel"
    try:
        yield relay
    finally:
        relay.break_off()
        await runner.cleanup()
