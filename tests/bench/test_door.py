"""How fast the door is, against a bare handler and one that stores each request by itself, in the same run."""

import hashlib
import hmac
import json
import sqlite3
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from aiohttp import web

from bot.app import forge
from bot.clock import SystemClock
from bot.server import serve
from bot.webhook import Door
from memory.db.engine import sync_engine
from pipeline.deliveries.intake import Intake
from pipeline.worker.queues import build_client
from simulator import Simulator
from tests.bench.deliveries import record_delivery
from tests.bench.load import Load, Result, from_another_process
from tests.bench.recorded import serve_answers
from tests.stories.driver import SECRET, settings

SECONDS = 5.0
Handler = Callable[[web.Request], Awaitable[web.Response]]


async def test_webhooks_per_second(tmp_path: Path) -> None:
    """64 connections, a payload as GitHub sends it; every row of the table in the same run."""
    body = await _payload(tmp_path)
    bare = await _measure(_verify, body)
    with _Table(tmp_path / "plain.db") as insert:
        plain = await _measure(insert, body)
    async with _door(tmp_path) as door:
        durable = await _measure(door.receive, body)
        ignored = await _measure(door.receive, body, event="star")
    size = body.stat().st_size / 1000
    print(f"\n\nWebhook to answer, 64 connections, payload of {size:.0f} kB, SQLite with synchronous=FULL;")
    print("processor time per request; ratios to the first row by requests per second and by processor time")
    _print("bare aiohttp and HMAC, stores nothing", bare, bare)
    _print("  + one plain row per request", plain, bare)
    _print("Forge: delivery and queued work", durable, bare)
    _print("Forge: ignored delivery", ignored, bare)
    print(f"Forge against one plain row per request: {durable.per_second / plain.per_second:.2f}")
    for result in (bare, plain, durable, ignored):
        assert set(result.statuses) == {"202"}


async def test_answers_while_workers_run(tmp_path: Path) -> None:
    """100 deliveries a second into a whole Forge, whose workers do what each asks meanwhile."""
    async with Simulator(tmp_path / "github", webhook_secret=SECRET) as github:
        body = tmp_path / "payload.json"
        body.write_bytes(await record_delivery(github))
        answers = await _answers(github, json.loads(body.read_bytes()))
    print("\n\nWebhook to answer at 100/s, in one process with the workers that do what the webhooks ask")
    async with serve_answers(answers, tmp_path) as address:
        for name, event in (("Forge: all with work in them", "pull_request"), ("Forge: all ignored", "star")):
            url = f"sqlite:///{tmp_path / event}.db"
            those = settings(url, tmp_path, github, github_api_url=address, queue_polling=0.2)
            async with forge(those) as running, serve(running) as port:
                result = await from_another_process(
                    Load(port, SECRET, event, str(body), SECONDS, connections=32, rate=100)
                )
            _print(name, result, result)
            assert set(result.statuses) == {"202"}


async def _answers(github: Simulator, payload: dict[str, Any]) -> dict[str, object]:
    """What GitHub answers about this pull request."""
    path = f"/repos/{payload['repository']['full_name']}/pulls/{payload['pull_request']['number']}"
    installation = github.world.installations[payload["installation"]["id"]]
    headers = {"Authorization": f"Bearer {github.token(installation)}"}
    async with aiohttp.ClientSession(headers=headers) as session, session.get(github.api_url + path) as response:
        pull_request = await response.json()
    token = {"token": "ghs_bench", "expires_at": "2999-01-01T00:00:00Z", "permissions": installation.permissions}
    return {f"GET {path}": pull_request, f"POST /app/installations/{installation.id}/access_tokens": token}


def _print(name: str, result: Result, baseline: Result) -> None:
    ratios = f"{result.per_second / baseline.per_second:5.2f} {baseline.each / result.each:5.2f}"
    times = f"p50 {result.percentile(0.5):6.1f} ms   p99 {result.percentile(0.99):6.1f} ms"
    print(f"{name:40} {result.per_second:7.0f}/s   {times}   {result.each:5.0f} µs   {ratios}")


async def _measure(handler: Handler, body: Path, event: str = "pull_request") -> Result:
    app = web.Application(client_max_size=25 * 1024 * 1024)
    app.router.add_post("/webhook", handler)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        return await from_another_process(Load(runner.addresses[0][1], SECRET, event, str(body), SECONDS))
    finally:
        await runner.cleanup()


async def _verify(request: web.Request) -> web.Response:
    await _payload_of(request)
    return web.Response(status=202)


async def _payload_of(request: web.Request) -> bytes:
    body = await request.read()
    wanted = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    if not hmac.compare_digest(wanted, request.headers["X-Hub-Signature-256"]):
        raise web.HTTPUnauthorized
    orjson.loads(body)
    return body


class _Table:
    """A table with one row per request, each in a commit of its own, as one would write it first."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._connection.execute("PRAGMA journal_mode=WAL")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._connection.execute("CREATE TABLE deliveries (guid TEXT PRIMARY KEY, event TEXT)")

    def __enter__(self) -> Handler:
        return self._receive

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    async def _receive(self, request: web.Request) -> web.Response:
        await _payload_of(request)
        row = (request.headers["X-GitHub-Delivery"], request.headers["X-GitHub-Event"])
        self._connection.execute("INSERT INTO deliveries VALUES (?, ?) ON CONFLICT DO NOTHING", row)
        return web.Response(status=202)


@asynccontextmanager
async def _door(folder: Path) -> AsyncGenerator[Door]:
    """Forge's door alone: nothing works on what it stores."""
    url = f"sqlite:///{folder / 'forge.db'}"
    async with Simulator(folder / "github") as github, forge(settings(url, folder, github), door=False):
        pass  # makes the tables
    engine = sync_engine(url, busy_seconds=2.5)
    intake = Intake(engine, build_client(engine))
    intake.start()
    try:
        yield Door(intake, SystemClock(), 1, [SECRET])
    finally:
        await intake.stop()
        engine.dispose()


async def _payload(folder: Path) -> Path:
    async with Simulator(folder / "github", webhook_secret=SECRET) as github:
        path = folder / "payload.json"
        path.write_bytes(await record_delivery(github))
    return path
