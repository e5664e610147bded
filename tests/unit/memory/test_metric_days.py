"""The sums that are kept of days tell the same as a count of all rows, also after something changed."""

import random
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import func, select, text, update
from ulid import ULID

from domain.runs.metrics import WEEK, Series, build_series, find_end_of_day
from memory.db.engine import Database
from memory.db.tables.repositories import FeedbackRow, FindingRow
from memory.db.tables.runs import IS_AUDITED, EventRow, MetricDayRow, RunRow
from memory.reports import metrics
from memory.reports.metric_facts import ReportPeriod, load_settled
from memory.reports.metrics import load_moving, load_weekly
from messages.audit import SAFETY_EVENTS
from tests.rows import run_row, spend_row

NOW = datetime(2026, 5, 29, 12, tzinfo=UTC)
WEEKS = 4
SHOP, BANK = 10, 11


class History:
    """Random runs with their calls, events, findings and dismissals."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def build(self, count: int) -> list[Any]:
        """Rows of so many runs, also from before the weeks of the report."""
        return [row for number in range(count) for row in self._build_run(number)]

    def _build_run(self, number: int) -> list[Any]:
        pick = self._chance
        at = NOW - timedelta(minutes=pick.randrange(60, 5 * 7 * 24 * 60))
        run = str(ULID.from_datetime(at))
        repository, pull = pick.choice([SHOP, BANK]), pick.randrange(1, 12)
        state = pick.choice(["completed", "completed", "failed", "cancelled", "running"])
        trigger = pick.choice(["pull_request", "issue"])
        ended = None if state == "running" else at + timedelta(minutes=pick.randrange(1, 4_000))
        more: dict[str, Any] = {
            "number": pull,
            "trigger": trigger,
            "state": state,
            "created_at": at,
            "finished_at": ended,
        }
        rows: list[Any] = [run_row(run, repository, admitted_by=f"d#{number}", **more)]
        rows += [spend_row(f"{number}/{n}", run, 1_000, repository_id=repository) for n in range(pick.randrange(3))]
        kinds = ["tool.executed", "tool.executed", "loop.phase_bounce", "feedback.decided"]
        rows += [self._build_event(run, kind, at) for kind in kinds if pick.random() < 0.6]
        if state in {"completed", "failed"}:
            rows.append(self._build_event(run, f"run.{state}", at))
        for place in range(pick.randrange(3)):
            rows += self._build_finding(run, repository, pull, f"{number:05d}{place}", at)
        return rows

    def _build_event(self, run: str, kind: str, at: datetime) -> EventRow:
        pick = self._chance
        payload = {
            "problem": pick.choice([None, "it broke"]),
            "decision": pick.choice(["approve", "request_changes", None]),
            "approved": pick.choice([True, False]),
            "own": pick.choice([True, False]),
        }
        moment = at + timedelta(hours=pick.randrange(60))
        names = {"id": str(ULID.from_datetime(moment)), "trace": run, "time": moment, "source": "s", "type": kind}
        return EventRow(**names, payload=payload, tokens=0, cost=0.0)

    def _build_finding(self, run: str, repository: int, pull: int, name: str, at: datetime) -> list[Any]:
        rule = self._chance.choice(["ruff/F821", "avoidance/deleted-test"])
        about = {"repository_id": repository, "number": pull, "fingerprint": name, "name": name, "created_at": at}
        ids = {"id": str(ULID.from_datetime(at)), "first_run": run, "last_run": run}
        posted = self._chance.choice([run, None])
        found = FindingRow(**about, **ids, trail="", content={"rule": rule}, posted_by=posted)
        return [found, *([build_dismissal(about, rule)] if self._chance.random() < 0.5 else [])]


def build_dismissal(about: dict[str, Any], rule: str) -> FeedbackRow:
    """The dismissal of a finding."""
    by = {"by_id": 1, "by_login": "dora", "reason": "", "memory_id": "", "path": "a.py"}
    return FeedbackRow(word="dismissed", id=str(ULID.from_datetime(about["created_at"])), **about, **by, rule=rule)


async def count_plainly(database: Database, repository_ids: Sequence[int] | None) -> Sequence[Series]:
    """The metrics as one count of all rows."""
    end = find_end_of_day(NOW)
    period = ReportPeriod(end - WEEK * WEEKS, end, repository_ids)
    async with database.transaction() as session:
        seen = [*await load_settled(session, period), *await load_moving(session, period)]
    return build_series(seen, end, WEEKS)


@pytest.mark.parametrize("seed", range(3))
async def test_kept_sums_tell_the_same_as_a_count_of_all_rows(database: Database, seed: int) -> None:
    history = History(seed)
    async with database.transaction() as session:
        session.add_all(history.build(120))
    for scope in ([SHOP], [SHOP, BANK], None):
        for _ in range(2):  # the second time from what is kept
            assert_same(await load_weekly(database, NOW, WEEKS, scope), await count_plainly(database, scope))
    async with database.transaction() as session:
        newest = select(func.max(RunRow.id)).group_by(RunRow.repository_id, RunRow.number)  # older ones are over
        at_work = select(RunRow.id).where(RunRow.state == "running", RunRow.id.in_(newest))
        ends = {"state": "completed", "finished_at": NOW - timedelta(minutes=5)}
        await session.execute(update(RunRow).where(RunRow.id.in_(at_work)).values(**ends))
        await session.execute(update(FeedbackRow).where(FeedbackRow.number < 6).values(undone_at=NOW))
    for scope in ([SHOP], None):
        assert_same(await load_weekly(database, NOW, WEEKS, scope), await count_plainly(database, scope))


def assert_same(found: Sequence[Series], counted: Sequence[Series]) -> None:
    """The same numbers; sums in another order differ in the last digit."""
    assert [each.counts for each in found] == [each.counts for each in counted]
    assert [[*each.values] for each in found] == [pytest.approx([*each.values]) for each in counted]
    assert any(any(each.counts) for each in found)


async def test_a_day_is_kept_once_it_is_over_and_at_rest(database: Database) -> None:
    yesterday = NOW - timedelta(days=1)
    run = str(ULID.from_datetime(yesterday))
    ended = NOW - timedelta(minutes=30)
    async with database.transaction() as session:
        session.add(run_row(run, created_at=yesterday, finished_at=ended))
    assert {day for day, _ in await _load_kept(database)} == {f"2026-05-{day:02d}" for day in range(23, 28)}
    later = ended + timedelta(hours=2)
    await load_weekly(database, later, 1, [SHOP])
    [stamp] = [stamp for day, stamp in await _load_kept(database) if day == "2026-05-28"]
    async with database.transaction() as session:  # what is kept is what is read, as long as the stamp is right
        await session.execute(update(MetricDayRow).where(MetricDayRow.stamp == stamp).values(sums={"success": [0, 8]}))
    found = {each.metric.name: each for each in await load_weekly(database, later, 1, [SHOP])}
    assert (found["success"].now, found["success"].counts[-1]) == (0.0, 8)
    async with database.transaction() as session:
        await session.execute(update(RunRow).where(RunRow.id == run).values(state="failed", finished_at=later))
    found = {each.metric.name: each for each in await load_weekly(database, later, 1, [SHOP])}
    assert (found["success"].now, found["success"].counts[-1]) == (0.0, 1)


async def test_what_nobody_is_told_any_more_is_removed(database: Database) -> None:
    days = {day for day, _ in await _load_kept(database)}
    assert len(days) == 6
    assert await metrics.remove_old(database, NOW - timedelta(days=3)) == 3
    assert await metrics.remove_old(database, NOW - timedelta(days=3)) == 0
    assert {day for day, _ in await _load_kept(database)} == days


async def _load_kept(database: Database) -> Sequence[tuple[str, str]]:
    await load_weekly(database, NOW, 1, [SHOP])
    async with database.transaction() as session:
        rows = await session.execute(select(MetricDayRow.day, MetricDayRow.stamp))
        return [(day, stamp) for day, stamp in rows]


async def test_the_audit_finds_all_its_kinds_by_their_index(database: Database) -> None:
    async with database.transaction() as session:
        for kind in SAFETY_EVENTS:
            session.add(
                EventRow(id=str(ULID()), trace="t", time=NOW, source="s", type=kind, payload={}, tokens=0, cost=0)
            )
        await session.flush()
        found = await session.scalar(select(func.count()).select_from(EventRow).where(IS_AUDITED))
        beside = await session.scalar(text("SELECT count(*) FROM events WHERE type LIKE 'run.%'"))
    assert (found, beside) == (len(SAFETY_EVENTS), 0)
