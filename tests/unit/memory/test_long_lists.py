"""The audit, which looks at so many rows for a page, leads on to all that belongs on them, in both directions."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import insert
from ulid import ULID

from memory.db.engine import Database
from memory.db.tables.runs import EventRow
from memory.reports import audit
from memory.reports.audit import EventFilter
from tests.rows import run_row

START = datetime(2026, 5, 1, tzinfo=UTC)
SHOP = 10
LIMIT = 8


def build_id(place: int) -> str:
    return str(ULID.from_datetime(START + timedelta(minutes=place)))


def build_event(place: int, run: str, login: str) -> dict[str, Any]:
    return {
        "id": build_id(place),
        "trace": run,
        "time": START + timedelta(minutes=place),
        "source": "s",
        "type": "gate.approved",
        "payload": {"by_login": login, "place": place},
        "tokens": 0,
        "cost": 0.0,
    }


async def test_the_deeds_of_one_account_among_thousands_are_found(database: Database) -> None:
    wanted, count = EventFilter(repositories=[SHOP], account="rita"), 2 * audit.LOOKED + 100
    deeds = {2, audit.LOOKED + 50, count}
    runs = [build_id(place) for place in range(600)]
    async with database.transaction() as session:
        session.add_all(run_row(run, number=place + 1) for place, run in enumerate(runs))
        events = [build_event(n, runs[n % 600], "rita" if n in deeds else "dora") for n in range(1, count + 1)]
        await session.execute(insert(EventRow), events)
    page = await audit.list_older(database, wanted, "", LIMIT)
    falling = [each.event.payload["place"] for each in page.entries]
    while page.far:
        page = await audit.list_older(database, wanted, page.far, LIMIT)
        falling += [each.event.payload["place"] for each in page.entries]
    assert falling == sorted(deeds, reverse=True)
    page = await audit.list_newer(database, wanted, build_id(0), LIMIT)
    rising = [each.event.payload["place"] for each in reversed(page.entries)]
    while page.far:
        page = await audit.list_newer(database, wanted, page.far, LIMIT)
        rising += [each.event.payload["place"] for each in reversed(page.entries)]
    assert rising == sorted(deeds)
