"""Deletes rows in small batches, so that other writers get their turn in between."""

import asyncio
from typing import Any

from sqlalchemy import Select, delete

from memory.db.engine import Database, TableRow

BATCH = 200


async def delete_in_batches(database: Database, table: type[TableRow], key: Any, rows: Select[Any]) -> int:
    """Delete rows in batches, which are found without a lock; returns how many were deleted."""
    count = 0
    while True:
        batch = await database.scalars(rows.limit(BATCH))
        if not batch:
            return count
        async with database.transaction() as session:
            gone = await session.execute(delete(table).where(key.in_(batch)).returning(key))
            count += len(gone.all())
        await asyncio.sleep(0)
