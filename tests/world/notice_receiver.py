"""A receiver of notices with real HTTP that can be down, busy or gone, and checks signatures as the docs say."""

import asyncio
import base64
import hashlib
import hmac
import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

from tests.world.waiting import until

PATIENCE = 120.0  # seconds until what was sent is there, on a machine that has other things to do


@dataclass(frozen=True)
class Heard:
    """One request."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, Any]:
        return json.loads(self.body)

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]


@dataclass(eq=False)
class NoticeReceiver:
    """What listens.

    :ivar status: of its answers, and ``headers`` and ``says`` with it.
    :ivar is_mute: it never answers.
    :ivar heard: every request, in order; ``taken`` those that it answered with 2xx.
    """

    url: str = ""
    status: int = 204
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    says: str = ""
    is_mute: bool = False
    heard: list[Heard] = field(default_factory=list[Heard])
    taken: list[Heard] = field(default_factory=list[Heard])

    async def receive(self, request: web.Request) -> web.Response:
        heard = Heard(request.path_qs, dict(request.headers.items()), await request.read())
        heard = Heard(heard.path, {name.lower(): value for name, value in heard.headers.items()}, heard.body)
        self.heard.append(heard)
        if self.is_mute:
            await asyncio.sleep(PATIENCE)
        if self.status < 300:
            self.taken.append(heard)
        return web.Response(status=self.status, headers=self.headers, text=self.says or None)

    @property
    def types(self) -> list[str]:
        """The types of the JSON that it took, in order."""
        return [each.json["type"] for each in self.taken]

    async def wait(self, number: int) -> list[Heard]:
        """Wait until so many were taken."""
        await until(lambda: len(self.taken) >= number, lambda: f"only {len(self.taken)} of {number}")
        return self.taken

    async def wait_for_attempts(self, number: int) -> list[Heard]:
        """Wait until it was asked so often."""
        await until(lambda: len(self.heard) >= number, lambda: f"only {len(self.heard)} of {number}")
        return self.heard


def verify(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """The example of docs/notices.md: whether a request is signed with a secret, as Standard Webhooks says."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = b".".join([headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body])
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    given = [part.partition(",")[2] for part in headers["webhook-signature"].split() if part.startswith("v1,")]
    return any(hmac.compare_digest(expected, each) for each in given)


@asynccontextmanager
async def run_receiver(port: int = 0) -> AsyncGenerator[NoticeReceiver]:
    """A receiver on loopback.

    :param port: that an earlier one had.
    """
    receiver = NoticeReceiver()
    app = web.Application()
    app.router.add_post("/{path:.*}", receiver.receive)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    receiver.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield receiver
    finally:
        await runner.cleanup()
