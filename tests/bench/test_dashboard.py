"""What each page of the dashboard takes in a repository with 100,000 runs and 1,000,000 events, over HTTP.

Measured beside two pages that show nothing: ``/healthz``, and a page of the repository that is not there, which asks
GitHub for the visitor's role as all do. The simulated GitHub answers in the same process.
"""

import re
import statistics
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.bench import dashboard_rows
from tests.databases import Backend, create_database, drop_database
from tests.stories.driver import open_story
from tests.world.dashboard import Visitor, signed_in

ROUNDS = 15
WANTED = 0.100  # seconds
SHOP = "/dashboard/octo-org/shop"
EMPTY = ("/healthz", f"{SHOP}/nothing")
PAGES = (
    SHOP,
    f"{SHOP}/runs",
    f"{SHOP}/runs?state=failed",
    f"{SHOP}/runs/{{run}}",
    f"{SHOP}/findings",
    f"{SHOP}/findings?outcome=dismissed",
    f"{SHOP}/findings?outcome=fixed",
    f"{SHOP}/findings?outcome=open",
    f"{SHOP}/findings/{{finding}}",
    f"{SHOP}/memories",
    f"{SHOP}/memories?q=table+billing",
    f"{SHOP}/memories/{{memory}}",
    f"{SHOP}/costs",
    f"{SHOP}/metrics",
)
"""The pages that are measured; one line adds another."""


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_every_page_is_quick(backend: Backend, tmp_path: Path) -> None:
    url = create_database(backend, tmp_path)
    async with open_story(url, tmp_path) as story:
        repository, _ = story.repository({"README.md": "# Shop\n"})
        run = dashboard_rows.fill(url, 1, repository.id, datetime.now(UTC))
        async with signed_in(story, "alice") as alice:
            known = {"run": run, "finding": await _find(alice, "findings"), "memory": await _find(alice, "memories")}
            took = {page: await _measure(alice, page.format(**known)) for page in (*EMPTY, *PAGES)}
    drop_database(url)
    print(f"\n{backend}: median of {ROUNDS} in ms, over the empty page, against {WANTED * 1000:.0f} ms wanted")
    for page, seconds in took.items():
        slow = "" if seconds <= WANTED else "  SLOW"
        print(f"{seconds * 1000:8.1f}  {(seconds - took[EMPTY[1]]) * 1000:+8.1f}  {page}{slow}")


async def _find(visitor: Visitor, pages: str) -> str:
    """The last part of the first address of this kind in the list."""
    seen = await visitor.open(f"{SHOP}/{pages}")
    found = re.search(rf"{SHOP}/{pages}/((?:\d+/)?[FM]-\w+)", seen.html)
    assert found is not None, seen.text
    return found[1]


async def _measure(visitor: Visitor, page: str) -> float:
    taken: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        seen = await visitor.open(page)
        taken.append(time.perf_counter() - began)
        assert seen.status == (404 if page.endswith("nothing") else 200), page
    return statistics.median(taken)
