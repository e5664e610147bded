"""What is taken from a relay's events, to the byte, and how following one survives what breaks."""

import asyncio
import base64
import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from bot.relay import Relay, RelayedEvent, parse_event
from tests.world.relay import SmeeRelay, run_relay

_HEADERS = {"x-github-event": "push", "x-hub-signature-256": "sha256=0", "content-type": "application/json"}
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda part: st.lists(part) | st.dictionaries(st.text(), part),
)


@pytest.mark.parametrize("body", ['{"a":1.0}', '{ "a" : "\\u00e9é" }', "[]", '"payload=1"', '{"body":{"body":[1,{}]}}'])
def test_the_body_is_taken_as_it_stands(body: str) -> None:
    members = json.dumps(_HEADERS)[1:-1]
    for data in (f'{{{members}, "body":{body},"query":{{}}}}', f'{{"timestamp":1,"body": {body} ,{members} }}'):
        assert parse_event(data) == RelayedEvent(_HEADERS, body.encode())


@given(_JSON, st.booleans())
def test_whatever_the_body_is(body: object, is_ascii: bool) -> None:
    text = json.dumps(body, ensure_ascii=is_ascii)
    if "\\ud" in text or not text.isascii():
        text = json.dumps(body)
    found = parse_event(json.dumps(_HEADERS)[:-1] + f', "body": {text}}}')
    assert found is not None
    assert found.body.decode() == text


def test_bytes_of_relays_that_keep_them() -> None:
    body = base64.b64encode(b'{"a": "\xc3\xa9"}').decode()
    found = parse_event(json.dumps({**_HEADERS, "bodyB": body, "body": "other"}))
    assert found is not None
    assert found.body == b'{"a": "\xc3\xa9"}'


def test_headers_that_are_not_githubs_are_left_out() -> None:
    found = parse_event(json.dumps({**_HEADERS, "Host": "evil", "cookie": "a=b", "x-forwarded-for": "1", "body": {}}))
    assert found is not None
    assert found.headers == _HEADERS


@pytest.mark.parametrize("value", ["é", "\ud800", "a\nb", "a\r\nx-github-event: b", "\x00", 1, None])
def test_what_no_request_can_have_in_a_header_is_left_out(value: object) -> None:
    """Sent on, it would end the following or be tried again and again."""
    found = parse_event(json.dumps({**_HEADERS, "x-github-delivery": value, "body": {}}))
    assert found is not None
    assert found.headers == _HEADERS
    assert parse_event(json.dumps({"x-github-event": value, "body": {}})) is None


_NO_WEBHOOKS = ["", "{", "[]", "null", "{}", '{"body": {}}', '{"x-github-event": "push"}', '{"a"', '{"a": [']
_HOSTILE = ["{" * 99_999, '{"x-github-event": "push", "body": ' + "[" * 99_999, '{"x-github-event": "a", "bodyB": "?"}']


@pytest.mark.parametrize("data", [*_NO_WEBHOOKS, *_HOSTILE])
def test_other_events_are_passed_over(data: str) -> None:
    assert parse_event(data) is None


@dataclass
class Door:
    """Takes what is posted, answering with these statuses first."""

    statuses: list[int] = field(default_factory=list[int])
    taken: list[bytes] = field(default_factory=list[bytes])
    refused: int = 0
    url: str = ""
    came: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self, request: web.Request) -> web.Response:
        if self.statuses:
            self.refused += 1
            return web.Response(status=self.statuses.pop(0))
        self.taken.append(await request.read())
        self.came.set()
        return web.Response(status=202)


@asynccontextmanager
async def _follow(door: Door) -> AsyncGenerator[SmeeRelay]:
    app = web.Application()
    app.router.add_post("/webhook", door.receive)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    door.url = f"http://127.0.0.1:{runner.addresses[0][1]}/webhook"
    async with run_relay() as relay:
        relay.refused = 1
        following = asyncio.create_task(Relay(relay.url, door.url, first_pause=0.001).keep_following())
        try:
            await relay.joined.wait()
            yield relay
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await runner.cleanup()


async def test_it_goes_on_after_the_relay_broke_off_and_while_the_door_is_closed() -> None:
    door = Door(statuses=[503, 503])
    event = json.dumps({**_HEADERS, "body": {"n": 1}})
    async with _follow(door) as relay:
        relay.send("no event")
        relay.send(event)
        await door.came.wait()
        relay.break_off()
        await relay.joined.wait()
        door.came.clear()
        relay.send(event)
        await door.came.wait()
    assert (door.taken, door.refused) == ([b'{"n": 1}'] * 2, 2)


async def test_what_the_door_refuses_is_not_repeated() -> None:
    door = Door(statuses=[401])
    async with _follow(door) as relay:
        relay.send(json.dumps({**_HEADERS, "body": {"n": 1}}))
        relay.send(json.dumps({**_HEADERS, "body": {"n": 2}}))
        await door.came.wait()
    assert door.taken == [b'{"n": 2}']
