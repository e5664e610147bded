"""The baseline of a door: verifies a webhook and inserts one row of the same size.

`python -m tests.bench.plain_door URL`. As one would write it first: aiohttp, 16 connections to PostgreSQL, one insert
and one commit for each delivery. Prints its port.
"""

import asyncio
import hashlib
import hmac
import sys

import orjson
import psycopg
from aiohttp import web

from tests.stories.driver import SECRET

CONNECTIONS = 16
_TABLE = (
    "CREATE TABLE IF NOT EXISTS plain (guid text PRIMARY KEY, event text, action text, command json, at timestamptz)"
)
_INSERT = "INSERT INTO plain VALUES (%s, %s, %s, %s, now()) ON CONFLICT DO NOTHING"
KEPT = 700
"""Bytes of a stored command: what a door keeps of a pull request's payload of some 20 kB."""


async def main(url: str) -> None:
    """Serve until killed."""
    free: asyncio.Queue[psycopg.AsyncConnection] = asyncio.Queue()
    for _ in range(CONNECTIONS):
        free.put_nowait(await psycopg.AsyncConnection.connect(url, autocommit=True))

    async def receive(request: web.Request) -> web.Response:
        body = await request.read()
        wanted = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(wanted, request.headers["X-Hub-Signature-256"]):
            raise web.HTTPUnauthorized
        payload = orjson.loads(body)
        kept = orjson.dumps({"action": payload["action"], "rest": "x" * KEPT}).decode()
        connection = await free.get()
        try:
            values = (request.headers["X-GitHub-Delivery"], request.headers["X-GitHub-Event"], payload["action"], kept)
            await connection.execute(_INSERT, values)
        finally:
            free.put_nowait(connection)
        return web.Response(status=202)

    connection = await free.get()
    await connection.execute(_TABLE)
    free.put_nowait(connection)
    app = web.Application(client_max_size=25 * 1024 * 1024)
    app.router.add_post("/webhook", receive)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    sys.stdout.write(f"{runner.addresses[0][1]}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
