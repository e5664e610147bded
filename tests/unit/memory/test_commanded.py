"""Who is told once that they ask too much, is told, whichever attempt reaches GitHub."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memory.db.engine import Database
from memory.deliveries.deliveries import claim_notice, count_comment
from tests.databases import Backend, create_database, drop_database

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_the_comment_that_is_answered_stays_the_one(backend: Backend, tmp_path: Path) -> None:
    url = create_database(backend, tmp_path)
    database = Database(url)
    for guid, account in (("first", 2), ("second", 2), ("other", 3)):
        await count_comment(database, guid, 1, account, NOON)
    assert await claim_notice(database, "first", "quota")  # and GitHub takes its answer later
    assert not await claim_notice(database, "second", "quota")
    assert await claim_notice(database, "first", "quota")
    assert await claim_notice(database, "other", "quota")
    assert await claim_notice(database, "second", "refusal")

    later = NOON + timedelta(minutes=61)
    await count_comment(database, "third", 1, 2, later)
    assert await claim_notice(database, "third", "quota")
    await database.close()
    drop_database(url)
