"""What one process tells on PostgreSQL, the others hear; where a connection is lost, it is opened again."""

import asyncio
from pathlib import Path

from memory.db.engine import sync_engine
from memory.db.postgresql import Announcer, listen
from tests.databases import create_database, drop_database, restart_server

PATIENCE = 60.0


async def test_what_is_told_is_heard_once_also_after_the_server_was_away(tmp_path: Path) -> None:
    url = create_database("postgresql", tmp_path)
    heard, began = asyncio.Queue[str](), asyncio.Semaphore(0)
    engine = sync_engine(url)
    announcer = Announcer(engine)
    async with announcer.run(), listen(engine, heard.put_nowait, began.release), asyncio.timeout(PATIENCE):
        await began.acquire()
        for text in ("runs", "runs", "deliveries"):
            announcer.tell(text)
        assert [await heard.get(), await heard.get()] == ["deliveries", "runs"]
        assert heard.empty()
        await asyncio.to_thread(restart_server)
        await began.acquire()
        while heard.empty():  # the connection that tells was lost, too, and the first of these with it
            announcer.tell("tests")
            await asyncio.sleep(0.2)
        assert await heard.get() == "tests"
    engine.dispose()
    drop_database(url)
