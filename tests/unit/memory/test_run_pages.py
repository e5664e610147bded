"""Pages of runs and of what happened in one, in both directions."""

from datetime import timedelta

import pytest

from domain.events import EventType
from domain.money import MICRO
from domain.runs.run import RunState
from memory import ledger
from memory.db.engine import Database
from memory.reports import pages
from memory.reports.pages import PageKey, RunFilter
from tests.rows import NOON, run_row, spend_row

ALL = [f"{number:026}" for number in range(7)]


@pytest.fixture(autouse=True)
async def _runs(database: Database) -> None:
    async with database.transaction() as session:
        for number, run_id in enumerate(ALL):
            state = "failed" if number % 3 == 0 else "completed"
            session.add(run_row(run_id, state=state, number=number % 2 + 1, attempt=number + 1))
        session.add(run_row("9" * 26, repository_id=11, name="other"))


async def _walk(database: Database, wanted: RunFilter, limit: int) -> list[list[str]]:
    walked, key = list[list[str]](), PageKey()
    while True:
        page = await pages.list_runs(database, 10, wanted, key, limit)
        walked.append([each.run.id for each in page.items])
        if not page.older:
            return walked
        key = PageKey(before=page.older)


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 50])
async def test_each_run_is_on_one_page(limit: int, database: Database) -> None:
    walked = await _walk(database, RunFilter(), limit)
    assert [run for page in walked for run in page] == [*reversed(ALL)]
    assert all(len(page) == limit for page in walked[:-1])


async def test_one_goes_back_the_same_way(database: Database) -> None:
    first = await pages.list_runs(database, 10, RunFilter(), PageKey(), 3)
    second = await pages.list_runs(database, 10, RunFilter(), PageKey(before=first.older), 3)
    back = await pages.list_runs(database, 10, RunFilter(), PageKey(after=second.newer), 3)
    assert not first.newer
    assert [each.run.id for each in back.items] == [each.run.id for each in first.items]
    assert (back.newer, back.older) == ("", first.older)


async def test_runs_are_chosen_by_state_and_number(database: Database) -> None:
    assert await _walk(database, RunFilter(RunState.failed), 50) == [[ALL[6], ALL[3], ALL[0]]]
    assert await _walk(database, RunFilter(RunState.failed, 2), 50) == [[ALL[3]]]
    assert await _walk(database, RunFilter(RunState.waiting), 50) == [[]]


async def test_a_run_is_found_in_its_own_repository(database: Database) -> None:
    async with database.transaction() as session:
        session.add(spend_row("s1", run_id=ALL[0], amount=2 * MICRO))
        session.add(spend_row("s2", run_id=ALL[0], amount=MICRO))
        session.add(spend_row("s3", run_id=ALL[1], amount=MICRO))
    found = await pages.find_run(database, 10, ALL[0])
    assert found is not None
    assert (found.run.id, found.cost) == (ALL[0], 3 * MICRO)
    assert await pages.find_run(database, 11, ALL[0]) is None
    assert await pages.find_run(database, 10, "nothing") is None


async def test_a_timeline_is_paged_and_leaves_out_reservations(database: Database) -> None:
    kinds = [EventType.run_started, EventType.budget_reserved, EventType.budget_settled, EventType.run_completed]
    for number, kind in enumerate(kinds):
        async with database.transaction() as session:
            ledger.record(session, ALL[0], kind, NOON + timedelta(seconds=number))
    page = await pages.load_timeline(database, [ALL[0]], PageKey(), 2)
    rest = await pages.load_timeline(database, [ALL[0]], PageKey(before=page.older), 2)
    shown = [each.event.type for each in (*page.items, *rest.items)]
    assert shown == [EventType.run_completed, EventType.budget_settled, EventType.run_started]
    assert not rest.older


async def test_a_repository_is_found_by_its_name(database: Database) -> None:
    found = await pages.find_repository(database, "octo-org", "shop")
    assert found is not None
    assert found.id == 10
    assert await pages.find_repository(database, "octo-org", "nothing") is None
    overview = (await pages.load_overviews(database, [10, 12]))[10]
    assert (overview.level, overview.waiting) == (1, 0)
    assert overview.latest is not None
    assert overview.latest.run.id == ALL[-1]
