"""Deletes rows in batches so small that other writers get their turn in between."""

import asyncio
from typing import Any

from sqlalchemy import Select, delete

from memory.db.engine import Database, TableRow

BATCH = 200


async def delete_in_batches(database: Database, table: type[TableRow], key: Any, rows: Select[Any]) -> int:
    """Delete in batches: they are looked for without a lock, and other writers get their turn in between."""
    count = 0
    while True:
        async with database.transaction() as session:
            batch = (await session.scalars(rows.limit(BATCH))).all()
        if not batch:
            return count
        async with database.transaction() as session:
            gone = await session.execute(delete(table).where(key.in_(batch)).returning(key))
            count += len(gone.all())
        await asyncio.sleep(0)
