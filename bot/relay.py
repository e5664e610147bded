"""Fetches webhooks from a relay that speaks smee's protocol, and posts them to Forge's own door: for a laptop.

A relay keeps a channel's events as Server-Sent Events, each a JSON object of the headers and the body
(https://github.com/probot/smee.io). The signature is over the bytes of the body, so they are cut out of the event as
they are, never written anew.
"""

import asyncio
import base64
import json
import random
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TypeGuard

import httpx2
import structlog

from bot.settings import Installation
from bot.webhook import MAX_BODY
from github.addresses import load_trusted

log = structlog.get_logger(__name__)

_LARGEST = 2 * MAX_BODY  # bytes of an event: its body in JSON, or in Base64, and its headers
_QUIET_SECONDS = 90.0  # smee says something every 30 s
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds
_POSTING_SECONDS = 30.0
_ATTEMPTS = 5
_PASSED_ON = ("x-github-", "x-hub-signature", "content-type", "user-agent")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True)
class RelayedEvent:
    """A webhook as GitHub sent it."""

    headers: Mapping[str, str]
    body: bytes


def parse_event(data: str) -> RelayedEvent | None:
    """The webhook in an event of a relay; None if the event is something else.

    ``body`` is smee's, a JSON value; ``bodyB`` that of relays that keep the bytes, in Base64.
    """
    try:
        spans = dict(_scan_members(data))
        headers = {
            name.lower(): value
            for name, (start, end) in spans.items()
            if name.lower().startswith(_PASSED_ON) and _can_be_sent(value := json.loads(data[start:end]))
        }
        if "bodyB" in spans:
            start, end = spans["bodyB"]
            body = base64.b64decode(json.loads(data[start:end]), validate=True)
        else:
            start, end = spans["body"]
            body = data[start:end].encode()
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return RelayedEvent(headers, body) if "x-github-event" in headers else None


def _can_be_sent(value: object) -> TypeGuard[str]:
    """Whether a request can have this in a header: whoever knows the channel can write anything there."""
    return isinstance(value, str) and value.isascii() and value.isprintable()


def _scan_members(text: str) -> list[tuple[str, tuple[int, int]]]:
    """The members of a JSON object: name → where its value begins and ends.

    :raises ValueError: it is not a JSON object.
    """
    found: list[tuple[str, tuple[int, int]]] = []
    at = _skip(text, 0)
    _expect(text, at, "{")
    at = _skip(text, at + 1)
    while text[at : at + 1] != "}":
        _expect(text, at, '"')
        name, at = _DECODER.raw_decode(text, at)
        at = _skip(text, at)
        _expect(text, at, ":")
        start = _skip(text, at + 1)
        _, end = _DECODER.raw_decode(text, start)
        found.append((name, (start, end)))
        at = _skip(text, end)
        if text[at : at + 1] == ",":
            at = _skip(text, at + 1)
    return found


def _skip(text: str, at: int) -> int:
    while text[at : at + 1] in {" ", "\t", "\n", "\r"} and at < len(text):
        at += 1
    return at


def _expect(text: str, at: int, wanted: str) -> None:
    if text[at : at + 1] != wanted:
        raise ValueError(f"no {wanted} at {at}")


@asynccontextmanager
async def follow_relay(settings: Installation, port: int) -> AsyncGenerator[None]:
    """Post what arrives at the relay of the settings, if they name one, to the door at this port."""
    if not settings.webhook_relay:
        yield
        return
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # not bound to here
    door = f"http://{f'[{host}]' if ':' in host else host}:{port}/webhook"
    following = asyncio.create_task(Relay(settings.webhook_relay, door).keep_following())
    try:
        yield
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)


class Relay:
    """Follows one channel, and goes on when it breaks off.

    :param channel: its address.
    :param door: where webhooks are posted.
    :param first_pause: seconds before the first attempt to connect again; they double up to a minute.
    """

    def __init__(self, channel: str, door: str, first_pause: float = _FIRST_PAUSE) -> None:
        self._channel = channel
        self._door = door
        self._first_pause = first_pause
        self._pause = first_pause

    async def keep_following(self) -> None:
        """Follow the channel until cancelled."""
        log.warning("relay.following", why="Who runs the relay can read every webhook; for trying out, not for work.")
        limits = httpx2.Timeout(_POSTING_SECONDS, read=_QUIET_SECONDS)
        async with (
            httpx2.AsyncClient(verify=load_trusted(), timeout=limits, trust_env=True) as outside,
            httpx2.AsyncClient(timeout=_POSTING_SECONDS, trust_env=False) as inside,
        ):
            while True:
                why = await self._follow(outside, inside)
                log.warning("relay.broken_off", why=why, seconds=round(self._pause, 1))
                await asyncio.sleep(self._pause * random.uniform(0.8, 1.2))  # not for a secret
                self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    async def _follow(self, outside: httpx2.AsyncClient, inside: httpx2.AsyncClient) -> str:
        """Follow the channel while the connection lasts; returns why it ended."""
        try:
            async with outside.sse(self._channel, max_event_size=_LARGEST, follow_redirects=False) as source:
                if source.response.status_code != 200:
                    return f"the relay answered with {source.response.status_code}"
                async for event in source:
                    self._pause = self._first_pause
                    if event.event == "message" and (webhook := parse_event(event.data)) is not None:
                        await self._post(inside, webhook)
        except httpx2.HTTPError as error:
            return type(error).__name__
        return "the relay closed the connection"

    async def _post(self, inside: httpx2.AsyncClient, webhook: RelayedEvent) -> None:
        guid = webhook.headers.get("x-github-delivery", "")
        for attempt in range(1, _ATTEMPTS + 1):
            status = 0
            try:
                answer = await inside.post(self._door, content=webhook.body, headers=dict(webhook.headers))
                status = answer.status_code
            except httpx2.HTTPError as error:
                log.warning("relay.door_closed", guid=guid, error=type(error).__name__)
            if status == 401:
                log.error(
                    "relay.refused", guid=guid, why="The signature does not match: forged, or the relay changed it."
                )
            if 0 < status < 500:
                return
            await asyncio.sleep(min(2.0**attempt, 10) * self._first_pause)
        log.error("relay.lost", guid=guid, why="Forge did not take the webhook.")
