"""The users of all environments, as a process of its own: ``users.py RECORD PORT…``; what they saw is the truth.

Each environment is asked five times a second. One line of the record is ``time port status version seconds``.
"""

import asyncio
import sys
import time
from pathlib import Path
from typing import TextIO

import aiohttp

PAUSE = 0.2  # seconds between two requests at one door
LONGEST = 5.0


async def use(session: aiohttp.ClientSession, port: int, record: TextIO) -> None:
    """Ask one door again and again, whether or not the answer before came."""
    running: set[asyncio.Task[None]] = set()
    while True:
        task = asyncio.create_task(ask(session, port, record))
        running.add(task)
        task.add_done_callback(running.discard)
        await asyncio.sleep(PAUSE)


async def ask(session: aiohttp.ClientSession, port: int, record: TextIO) -> None:
    """Ask once, and write down what came."""
    began = time.time()
    status, version = 0, "-"
    try:
        async with session.get(f"http://127.0.0.1:{port}/") as answer:
            status, text = answer.status, await answer.text()
            version = text if len(text) == 1 else "-"
    except (aiohttp.ClientError, TimeoutError):
        pass
    print(f"{began:.2f} {port} {status} {version} {time.time() - began:.3f}", file=record, flush=True)


async def main(record: TextIO, ports: list[int]) -> None:
    """Ask until the process is ended."""
    timeout, connector = aiohttp.ClientTimeout(total=LONGEST), aiohttp.TCPConnector(limit=0, force_close=True)
    async with aiohttp.ClientSession(timeout=timeout, connector=connector) as session:
        await asyncio.gather(*(use(session, port, record) for port in ports))


if __name__ == "__main__":
    with Path(sys.argv[1]).open("w") as record:
        asyncio.run(main(record, [int(port) for port in sys.argv[2:]]))
