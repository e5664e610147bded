"""Lists that look at so many rows for a page lead on to all that belongs on them, in both directions."""

from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import insert
from ulid import ULID

from memory.db.engine import Database
from memory.db.tables.repositories import FindingRow
from memory.db.tables.runs import EventRow
from memory.reports import audit, finding_pages
from memory.reports.audit import EventFilter
from memory.reports.finding_pages import FindingFilter, FindingOutcome
from memory.reports.pages import PageKey
from tests.rows import run_row

START = datetime(2026, 5, 1, tzinfo=UTC)
SHOP = 10
LIMIT = 8


def build_id(place: int) -> str:
    return str(ULID.from_datetime(START + timedelta(minutes=place)))


def build_finding(place: int, number: int) -> dict[str, Any]:
    content = {
        "fingerprint": f"{place:064x}",
        "trail": "",
        "rule": "ruff/F821",
        "category": "correctness",
        "severity": "error",
        "layer": 1,
        "path": "a.py",
        "line": 3,
        "message": "Undefined name.",
        "confidence": 1.0,
    }
    return {
        "id": build_id(place),
        "repository_id": SHOP,
        "number": number,
        "name": f"F-{place}",
        "fingerprint": f"{place:064x}",
        "trail": "",
        "content": content,
        "first_run": build_id(0),
        "last_run": build_id(0),
        "posted_by": build_id(0),
        "created_at": START + timedelta(minutes=place),
    }


async def test_open_findings_behind_thousands_of_fixed_ones_are_found(database: Database) -> None:
    wanted, rows = FindingFilter(outcome=FindingOutcome.open), 2 * finding_pages.LOOKED + 100
    still_open = {3, 4, finding_pages.LOOKED + 50, rows}
    async with database.transaction() as session:
        session.add(run_row(build_id(rows + 1), number=1))  # found none of its pull request again
        found = [build_finding(place, 2 if place in still_open else 1) for place in range(1, rows + 1)]
        await session.execute(insert(FindingRow), found)
    page = await finding_pages.list_findings(database, SHOP, wanted, PageKey(), LIMIT)
    falling = [each.finding.fingerprint for each in page.items]
    while page.older:
        page = await finding_pages.list_findings(database, SHOP, wanted, PageKey(before=page.older), LIMIT)
        falling += [each.finding.fingerprint for each in page.items]
    assert [int(each, 16) for each in falling] == sorted(still_open, reverse=True)
    rising: list[str] = [each.finding.fingerprint for each in reversed(page.items)]
    while page.newer:
        page = await finding_pages.list_findings(database, SHOP, wanted, PageKey(after=page.newer), LIMIT)
        rising += [each.finding.fingerprint for each in reversed(page.items)]
    assert [int(each, 16) for each in dict.fromkeys(rising)] == sorted(still_open)


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
