"""Knocks at Forge's door: sends webhooks as GitHub would, or not quite as GitHub would."""

import asyncio
import hashlib
import hmac
import json
import uuid
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from io import BytesIO

import aiohttp

from simulator.state import PullRequest
from tests.stories.driver import SECRET, Story

Json = dict[str, object]


@dataclass(frozen=True)
class Answer:
    status: int
    text: str


def sign(body: bytes, secret: str = SECRET) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def new_guid() -> str:
    return str(uuid.uuid4())


async def send_webhook(
    url: str,
    body: bytes | BytesIO | AsyncIterator[bytes],
    *,
    event: str = "pull_request",
    guid: str = "",
    content_type: str = "application/json",
    headers: Mapping[str, str | None] | None = None,
) -> Answer:
    """Send one webhook, signed with the right secret.

    :param headers: instead of what GitHub sends; None leaves one out.
    """
    usual: dict[str, str | None] = {
        "Content-Type": content_type,
        "X-GitHub-Event": event,
        "X-GitHub-Delivery": guid or new_guid(),
        "X-Hub-Signature-256": sign(body) if isinstance(body, bytes) else "sha256=" + "0" * 64,
    }
    sent = {name: value for name, value in {**usual, **(headers or {})}.items() if value is not None}
    async with (
        aiohttp.ClientSession(skip_auto_headers=["Content-Type"]) as session,
        session.post(url, data=body, headers=sent) as response,
    ):
        return Answer(response.status, (await response.text()).strip())


def webhook_url(story: Story) -> str:
    """Where the story's Forge takes webhooks."""
    assert story.github.webhook_url is not None
    return story.github.webhook_url


async def open_unannounced(story: Story, full_name: str = "octo-org/shop") -> tuple[PullRequest, bytes]:
    """A pull request nobody told Forge about, and the body of the webhook that would."""
    repository, alice = story.repository({"app.py": "print()\n"}, full_name)
    await story.github.settle()
    url, story.github.webhook_url = story.github.webhook_url, None
    await alice.push(repository, "feature", {"app.py": "print(1)\n"}, base="main")
    pull = await alice.open_pull_request(repository, head="feature", base="main")
    story.github.webhook_url = url
    return pull, story.github.deliveries[-1].raw


def replace_fields(body: bytes, **values: object) -> bytes:
    """The payload with other values at the top."""
    return json.dumps({**json.loads(body), **values}).encode()


async def send_raw(port: int, request: bytes, drip: bytes = b"", pause: float = 0.05) -> bytes:
    """Send bytes as they are, then ``drip`` byte by byte; what came back until the connection was closed."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)

    async def dribble() -> None:
        for number in range(len(drip)):
            writer.write(drip[number : number + 1])
            await asyncio.sleep(pause)

    dribbling = asyncio.create_task(dribble())
    try:
        return await reader.readuntil(b"\r\n\r\n")
    finally:
        dribbling.cancel()
        writer.close()
