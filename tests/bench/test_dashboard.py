"""What each page of the dashboard takes in a repository with 100,000 runs and 1,000,000 events, over HTTP.

Measured beside two pages that show nothing: ``/healthz``, and a page of the repository that is not there, which asks
GitHub for the visitor's role as all do. The simulated GitHub answers in the same process.
"""

import re
import statistics
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from domain.runs.work_checkpoint import WorkKey
from domain.value import lowest_id_at
from memory.db.engine import Database
from memory.db.tables.runs import EventRow
from simulator.state import Repository
from tests.bench import dashboard_rows
from tests.databases import Backend, create_database, drop_database
from tests.stories.driver import Story, open_story
from tests.world.checkpoints import add_chain
from tests.world.dashboard import Visitor, signed_in

ROUNDS = 15
WANTED = 0.100  # seconds
SHOP, LIB = "/dashboard/octo-org/shop", "/dashboard/octo-org/lib"
EMPTY = ("/healthz", f"{SHOP}/nothing")
PAGES = (
    "/dashboard",
    "/dashboard/gates",
    SHOP,
    f"{SHOP}/runs",
    f"{SHOP}/runs?state=failed",
    f"{SHOP}/runs?state=running",
    f"{SHOP}/runs?before={{middle}}",
    f"{SHOP}/runs/{{run}}",
    f"{SHOP}/runs/{{run}}/timeline",
    f"{SHOP}/runs/{{run}}/timeline?before={{event}}",
    f"{SHOP}/runs/{{run}}/checkpoints",
    f"{SHOP}/runs/{{run}}/checkpoints/{{last}}?since={{first}}",
    f"{SHOP}/gates",
    f"{SHOP}/gates?before={{middle}}",
    f"{SHOP}/memories",
    f"{SHOP}/memories?q=table+billing",
    f"{SHOP}/memories/{{memory}}",
    f"{SHOP}/costs",
    f"{SHOP}/costs?days=90",
    f"{SHOP}/metrics",
    f"{SHOP}/metrics?weeks=26",
    f"{SHOP}/deployments",
    f"{SHOP}/audit",
    f"{SHOP}/audit?before={{decision}}",
    f"{SHOP}/audit?after={{decision}}",
    f"{SHOP}/audit?kind=ladder",
    f"{SHOP}/audit?kind=breaker",
    f"{SHOP}/audit?account=rita",
    f"{SHOP}/audit?account=nobody",
    f"{SHOP}/audit?run={{run}}",
    f"{SHOP}/audit?since=2020-01-01&until={{day}}",
    LIB,
    f"{LIB}/metrics",
    f"{LIB}/audit",
    f"{LIB}/audit?account=nobody",
)
"""The pages that are measured; one line adds another. ``middle`` and ``decision`` are ids of a year ago."""
EXPORT = f"{SHOP}/audit/export/jsonl"


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_every_page_is_quick(backend: Backend, tmp_path: Path) -> None:
    url = create_database(backend, tmp_path)
    async with open_story(url, tmp_path) as story:
        shop, lib = _create_repositories(story)
        now = datetime.now(UTC)
        run = dashboard_rows.fill(url, 1, shop.id, now)
        dashboard_rows.fill_quiet(url, 1, lib.id, now)
        took = await measure_pages(story, run)
    drop_database(url)
    print(f"\n{backend}: median of {ROUNDS} in ms, over the empty page, against {WANTED * 1000:.0f} ms wanted")
    for page, seconds in took.items():
        slow = "" if seconds <= WANTED else "  SLOW"
        print(f"{seconds * 1000:8.1f}  {(seconds - took[EMPTY[1]]) * 1000:+8.1f}  {page}{slow}")


def _create_repositories(story: Story) -> Sequence[Repository]:
    """The two repositories, which alice administers."""
    found = [story.repository({"README.md": "# Shop\n"}, f"octo-org/{name}")[0] for name in ("shop", "lib")]
    for each in found:
        story.github.grant(each, story.github.user("alice"), "admin")
    return found


async def measure_pages(story: Story, run: str) -> Mapping[str, float]:
    """The median of each page in seconds, and when the first part of an export is there.

    :param run: the id of the newest run.
    """
    database = story.forge.services.database
    chain = await add_chain(database, WorkKey(run_id=run, work="implement", base="b" * 40), story.clock.now())
    year_ago = datetime.now(UTC) - timedelta(days=365)
    known = {"run": run, "first": chain[0].short_id, "last": chain[-1].short_id, "middle": lowest_id_at(year_ago)}
    decision, event = await _find_events(database, run, year_ago)
    async with signed_in(story, "alice") as alice:
        known |= {"decision": decision, "event": event, "day": f"{year_ago:%Y-%m-%d}"}
        known |= {"memory": await _find(alice, "memories")}
        took = {page: await _measure(alice, page.format(**known)) for page in (*EMPTY, *PAGES)}
        return {**took, f"{EXPORT}, first part": await _measure_first_part(alice, EXPORT)}


async def _find_events(database: Database, run: str, at: datetime) -> tuple[str, str]:
    """An event of the audit at a time, and one of a run that has many."""
    decided = select(EventRow.id).where(EventRow.type == "gate.approved", EventRow.time > at).limit(1)
    of_run = select(EventRow.id).where(EventRow.trace == run).order_by(EventRow.id).offset(2_000).limit(1)
    async with database.transaction() as session:
        return await session.scalar(decided) or "", await session.scalar(of_run) or ""


async def _find(visitor: Visitor, pages: str) -> str:
    """The last part of the first address of this kind in the list."""
    seen = await visitor.open(f"{SHOP}/{pages}")
    found = re.search(rf"{SHOP}/{pages}/(M-\w+)", seen.html)
    assert found is not None, seen.text
    return found[1]


async def _measure_first_part(visitor: Visitor, address: str) -> float:
    taken: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        async with visitor.http.stream("GET", f"{visitor.home}{address}") as response:
            assert response.status_code == 200
            await anext(response.aiter_bytes())
            taken.append(time.perf_counter() - began)
    return statistics.median(taken)


async def _measure(visitor: Visitor, page: str) -> float:
    taken: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        seen = await visitor.open(page)
        taken.append(time.perf_counter() - began)
        assert seen.status == (404 if page.endswith("nothing") else 200), page
    return statistics.median(taken)
