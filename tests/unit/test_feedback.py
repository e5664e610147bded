"""How well Forge does: the arithmetic as tables, what is drawn from the database, and how it is shown."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from ulid import ULID

from bot.cli import metrics as shown
from bot.prometheus import FEEDBACK_INTERVAL, Metrics
from domain.errors import UnknownName
from domain.events import EventType
from domain.money import MICRO
from domain.runs import metrics
from domain.runs.metrics import METRICS, Facts, Observation, RunFact, TroubleFact, build_series, render_trend
from domain.runs.run import Phase, ReasonCode, RunState
from memory import ledger
from memory.db.engine import Bus, Database
from memory.db.tables.repositories import FeedbackRow, FindingRow, MemoryRow, RecallRow
from memory.db.tables.runs import CheckpointRow, OutboxRow
from memory.reports.metrics import load_weekly
from memory.repositories import configurations
from memory.repositories.configurations import ConfigurationScope
from memory.runs import runs
from tests.rows import dismissal_row, finding_row, gate_row, run_row, settings, spend_row
from tests.unit.scraping import scrape

NOW = datetime(2026, 5, 29, 12, tzinfo=UTC)
DAY = timedelta(days=1)
LAST, BEFORE = NOW - DAY, NOW - 8 * DAY
POSTED = LAST - timedelta(seconds=90)
DONE, FAILED, STOPPED = RunState.completed, RunState.failed, RunState.cancelled

Weekly = dict[str, tuple[float | None, float | None]]
FACTS: list[tuple[Facts, Weekly]] = [
    (Facts(), {}),
    (
        Facts(runs=[RunFact(LAST, DONE), RunFact(LAST, FAILED), RunFact(LAST, STOPPED), RunFact(BEFORE, DONE)]),
        {"success": (1.0, 0.5), "cost_usd": (0.0, 0.0), "learnings": (0.0, 0.0)},
    ),
    (
        Facts(
            runs=[
                RunFact(LAST, DONE, {Phase.review: 3, Phase.planning: 1}, 3 * MICRO),
                RunFact(LAST, STOPPED, {Phase.review: 2}, MICRO),
            ],
        ),
        {
            "success": (None, 1.0),
            "cost_usd": (None, 2.0),
            "learnings": (None, 0.0),
            "iterations_review": (None, 2.5),
            "iterations_planning": (None, 1.0),
        },
    ),
    (
        Facts(runs=[RunFact(LAST, DONE, bounces=2), RunFact(LAST, FAILED, bounces=1), RunFact(LAST, DONE, bounces=0)]),
        {
            "success": (None, 2 / 3),
            "cost_usd": (None, 0.0),
            "learnings": (None, 0.0),
            "bounces": (None, 1.0),
            "bounces_resolved": (None, 2 / 3),
        },
    ),
    (Facts(first=[(BEFORE, False), (LAST, True)]), {"first_pass": (0.0, 1.0)}),
    (
        Facts(troubles=[TroubleFact(LAST, 1, True, False), TroubleFact(LAST, 3, False, True)]),
        {"recovery_attempts": (None, 2.0), "recovered": (None, 0.5), "escalated": (None, 0.5)},
    ),
]
ARITHMETIC: list[tuple[list[Observation], Weekly]] = [
    *(([*metrics.observe(facts)], expected) for facts, expected in FACTS),
    ([Observation(metrics.LEARNINGS, LAST, 3, of=0)], {}),  # no run that it could be shared out to
    ([Observation(metrics.LEARNINGS, LAST, value, of) for value, of in ((3, 0), (0, 2))], {"learnings": (None, 1.5)}),
    (
        [Observation(metrics.TOOL_SUCCESS, at, value, of) for at, value, of in ((BEFORE, 9, 10), (LAST, 1, 4))],
        {"tool_success": (0.9, 0.25)},
    ),
    (
        [Observation(metrics.TO_DISMISSAL, LAST, seconds) for seconds in (10.0, 1000.0, 60.0)],
        {"dismissal_seconds": (None, 60.0)},
    ),
    ([Observation(metrics.LET_PASS, at, 1) for at in (BEFORE, LAST, LAST)], {"let_pass": (1.0, 2.0)}),
]


@pytest.mark.parametrize(("seen", "expected"), ARITHMETIC)
def test_arithmetic(seen: list[Observation], expected: Weekly) -> None:
    found = {each.metric.name: tuple(each.values) for each in build_series(seen, NOW, 2)}
    assert found.keys() == {metric.name for metric in METRICS}
    assert {name: values for name, values in found.items() if values != (None, None)} == expected


@pytest.mark.parametrize(
    ("at", "week"),
    [
        (NOW, 2),
        (NOW - timedelta(days=7) + timedelta(seconds=1), 2),
        (NOW - timedelta(days=7), 1),
        (NOW - timedelta(days=14), 0),
        (NOW - timedelta(days=21), None),
        (NOW + timedelta(seconds=1), None),
    ],
)
def test_which_week_it_is(at: datetime, week: int | None) -> None:
    found = next(
        each
        for each in build_series(metrics.observe(Facts(first=[(at, True)])), NOW, 3)
        if each.metric is metrics.FIRST_PASS
    )
    assert [*found.values] == [1.0 if number == week else None for number in range(3)]


def test_of_weeks_that_are_not_kept_whole_nothing_is_said() -> None:
    facts = Facts(first=[(LAST, True), (BEFORE, True), (NOW - 15 * DAY, True)])
    found = next(
        each
        for each in build_series(metrics.observe(facts), NOW, 3, NOW - 14 * DAY)
        if each.metric is metrics.FIRST_PASS
    )
    assert ([*found.values], [*found.counts]) == ([None, 1.0, 1.0], [0, 1, 1])


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ([], ""),
        ([None, None], "··"),
        ([0.5], "▄"),
        ([2.0, 2.0, None], "▄▄·"),
        ([0.0, 7.0, 3.5, None, 1.0], "▁█▅·▂"),
        ([-1.0, 0.0], "▁█"),
    ],
)
def test_trends(values: Sequence[float | None], line: str) -> None:
    assert render_trend(values) == line


# --- drawn from the tables ------------------------------------------------------------------------------------------


def _id(at: datetime, number: int = 0) -> str:
    return str(ULID.from_datetime(at))[:10] + f"{number:016d}"


FIRST, SECOND, OTHER, ISSUE, OLD, TODAY = (
    _id(at, number) for number, at in enumerate([LAST, LAST, LAST, BEFORE, NOW - 30 * DAY, NOW])
)


@pytest.fixture
async def url(url: str) -> str:
    database = Database(url)
    async with database.transaction() as session:
        session.add_all(
            [
                run_row(FIRST, number=1, created_at=LAST, state="completed"),
                run_row(SECOND, number=1, created_at=LAST, state="failed", reason="gate_rejected"),
                run_row(OTHER, 11, "bank", created_at=LAST, reason="excluded"),
                run_row(ISSUE, number=7, created_at=BEFORE, trigger="issue"),
                run_row(OLD, number=2, created_at=NOW - 30 * DAY),
                spend_row("1", FIRST, 2 * MICRO),
                spend_row("2", FIRST, MICRO),
                spend_row("3", ISSUE, MICRO, phase="planning"),
                gate_row(_id(LAST), FIRST, asked_at=LAST, decided_at=LAST + timedelta(minutes=2)),
                gate_row(_id(NOW - 30 * DAY), OLD, asked_at=LAST - timedelta(minutes=4), decided_at=LAST),
                gate_row(_id(LAST, 1), FIRST, subject="t", state="expired", asked_at=LAST, decided_at=LAST + DAY),
                _finding(_id(LAST, 1), "1" * 64, FIRST),
                _finding(_id(LAST, 2), "2" * 64, FIRST),
                _finding(_id(LAST, 3), "3" * 64, None),
                _written("review", POSTED),
                _written("review", LAST, kind="check"),
                _written("approval", LAST),
                _dismissal("1" * 64),
                _dismissal("3" * 64),
                _dismissal("2" * 64, undone_at=NOW),
                *(_memory(_id(LAST, number), pinned=number > 1) for number in range(4)),
                _recall(FIRST, "a", "helped"),
                _recall(FIRST, "b", "ignored"),
                _recall(FIRST, "a", "ignored", task="tests"),
                _recall(FIRST, "b", "", task="plan"),
                _recall(SECOND, "a", ""),
            ]
        )
        facts: list[tuple[str, EventType, datetime, dict[str, Any]]] = [
            (FIRST, EventType.run_completed, LAST, {"reason": "", "decision": "approve"}),
            (SECOND, EventType.run_failed, LAST, {"decision": "request_changes"}),
            (FIRST, EventType.feedback_decided, LAST, {"approved": False, "own": False}),
            (FIRST, EventType.feedback_decided, LAST, {"approved": True, "own": True}),
            (FIRST, EventType.tool_executed, LAST, {"problem": None}),
            (FIRST, EventType.tool_executed, LAST, {"problem": "it broke"}),
            (ISSUE, EventType.tool_executed, BEFORE, {"files": 3, "problem": None}),
            (ISSUE, EventType.phase_bounced, BEFORE, {"count": 1}),
            (OLD, EventType.tool_executed, NOW - 30 * DAY, {"problem": "it broke"}),
        ]
        for trace, kind, at, payload in facts:
            ledger.record(session, trace, kind, at, payload=payload)
    await database.close()
    return url


EXPECTED: Weekly = {
    "success": (1.0, 0.5),
    "first_pass": (None, 1.0),
    "cost_usd": (1.0, 1.5),
    "iterations_planning": (1.0, None),
    "iterations_review": (None, 2.0),
    "tool_success": (1.0, 0.5),
    "bounces": (1.0, None),
    "bounces_resolved": (1.0, None),
    "learnings": (0.0, 1.0),
    "application": (None, 0.5),
    "recall_precision": (None, 1 / 3),
    "dismissal": (None, 0.5),
    "dismissal_seconds": (None, 90.0),
    "override": (None, 1.0),
    "response_seconds": (None, 180.0),
}


async def test_everything_is_drawn_from_what_is_stored(url: str) -> None:
    database = Database(url)
    found = {each.metric.name: tuple(each.values) for each in await load_weekly(database, NOW, 2)}
    bank = await load_weekly(database, NOW, 2, [11])
    shop = {each.metric.name: tuple(each.values) for each in await load_weekly(database, NOW, 2, [10])}
    await database.close()
    assert {name: values for name, values in found.items() if values != (None, None)} == EXPECTED
    assert shop == found
    assert not [each for each in bank if set(each.values) != {None}]


async def test_what_a_repository_does_not_keep_is_not_known(url: str) -> None:
    database = Database(url)
    await configurations.keep(
        database, ConfigurationScope("repository 10", 1, False), "sha", {"audit": {"retention_days": 10}}
    )
    found = {each.metric.name: tuple(each.values) for each in await load_weekly(database, NOW, 2, [10])}
    await database.close()
    assert found["cost_usd"] == (None, 1.5)


async def test_the_end_of_a_run_says_what_its_review_decided(url: str) -> None:
    database = Database(url)
    async with database.transaction() as session:
        session.add(run_row(_id(NOW), head_sha="c" * 40, state="running", admitted_by="x"))
        output = {"decision": "require_human"}
        session.add(CheckpointRow(id="c", run_id=_id(NOW), phase="review", output=output, time=NOW))
    assert await runs.move(database, _id(NOW), RunState.failed, NOW, ReasonCode.gate_rejected)
    [event] = await ledger.load_events(database, _id(NOW))
    await database.close()
    assert event.payload["decision"] == "require_human"


async def test_they_are_printed(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    await shown.show(settings(url), None, 12, as_json=False)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == "metric this week of week before trend"
    assert len(lines) == 2 + len(METRICS)
    assert lines[-1] == "12 weeks of seven days (UTC), the last ending today; –: no data."

    await shown.show(settings(url), "octo-org/shop", 2, as_json=True)
    told = json.loads(capsys.readouterr().out)
    assert [each["metric"] for each in told] == [metric.name for metric in METRICS]
    assert {len(each["values"]) for each in told} == {2}
    with pytest.raises(UnknownName, match="Forge never ran in a/b"):
        await shown.show(settings(url), "a/b", 2, as_json=True)


async def test_the_gauges_are_drawn_now_and_then(url: str) -> None:
    database, clock = Database(url), _Clock()
    metrics = Metrics(Bus(), database, clock)
    assert 'forge_feedback{metric="first_pass"} 1.0' in await scrape(metrics)
    clock.at += FEEDBACK_INTERVAL - timedelta(seconds=1)
    async with database.transaction() as session:
        session.add(run_row(TODAY, number=9, created_at=NOW, finished_at=NOW))
        ledger.record(session, TODAY, EventType.tool_executed, NOW, payload={"problem": None})
    assert 'forge_feedback{metric="tool_success"} 0.5' in await scrape(metrics)
    clock.at += timedelta(seconds=1)
    told = await scrape(metrics)
    await database.close()
    assert f'forge_feedback{{metric="tool_success"}} {2 / 3}' in told
    assert not [line for line in told if 'metric="bounces"' in line]  # nothing is known of this week


class _Clock:
    at = NOW

    def now(self) -> datetime:
        return self.at


def _finding(row_id: str, fingerprint: str, posted_by: str | None) -> FindingRow:
    return finding_row(row_id, fingerprint, posted_by=posted_by, first_run=FIRST, last_run=FIRST, created_at=LAST)


def _dismissal(fingerprint: str, undone_at: datetime | None = None) -> FeedbackRow:
    return dismissal_row(_id(LAST, int(fingerprint[0])), fingerprint, created_at=LAST, undone_at=undone_at)


def _memory(memory_id: str, *, pinned: bool) -> MemoryRow:
    values: dict[str, Any] = {"repository_id": 10, "kind": "semantic", "content": "c", "context": "", "tags": []}
    values |= {
        "confidence": 0.5,
        "source": "s",
        "created_at": LAST,
        "last_accessed": LAST,
        "used_at": LAST,
        "access_count": 0,
    }
    return MemoryRow(id=memory_id, pinned=pinned, **values)


def _written(step: str, at: datetime, kind: str = "review") -> OutboxRow:
    done: dict[str, Any] = {"state": "done", "created_at": at, "done_at": at}
    return OutboxRow(id=f"{step} {kind}", run_id=FIRST, step=step, kind=kind, **done)


def _recall(run_id: str, memory_id: str, outcome: str, task: str = "review") -> RecallRow:
    told: dict[str, Any] = {"phase": "review", "rank": 1, "at": LAST}
    return RecallRow(run_id=run_id, task=task, memory_id=memory_id, outcome=outcome, **told)
