"""What `forge audit` finds, says and exports, on both databases; and that no cell and no word does any harm."""

import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from bot.cli import audit as auditing
from bot.cli.audit import render_entries
from bot.clock import parse_moment
from domain.errors import ForgeError
from domain.events import Event, EventType
from domain.runs.run import Phase
from memory import ledger
from memory.db.engine import Database
from memory.process import halts
from memory.reports import audit
from memory.reports.audit import EventFilter
from messages import audit as texts
from messages.audit import COLUMNS, SAFETY_EVENTS, AuditEntry, escape_cell, format_duration
from tests.rows import delivery_row, gate_row, run_row, settings

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
RUN, OTHER = "01J00000000000000000AAAAAA", "01J00000000000000000BBBBBB"
GATE = "01J00000000000000000GGGGGG"
DECIDED = {
    "gate": GATE,
    "name": "security_findings",
    "by_login": "carol",
    "by_id": 7,
    "words": "=cmd|' /C calc'!A0",
    "via": "button",
    "waived": False,
    "grants": {"amount": 0, "calls": 0},
}
FACTS: list[tuple[str, EventType, int, dict[str, Any]]] = [
    (RUN, EventType.run_waiting, 0, {"reason": "gate", "detail": ""}),
    (
        RUN,
        EventType.gate_requested,
        1,
        {"gate": GATE, "name": "security_findings", "until": 43200, "reasons": ["critical \x1b[31meval"]},
    ),
    (RUN, EventType.gate_approved, 2, DECIDED),
    (RUN, EventType.run_resumed, 3, {"reason": "", "detail": ""}),
    (OTHER, EventType.breaker_tripped, 4, {"name": "error_rate", "text": "6 of 20 failed", "value": 0.3}),
    (OTHER, EventType.breaker_warning, 5, {"name": "cost.run"}),
    (OTHER, EventType.guard_tripped, 6, {"name": "max_iterations", "turn": 9, "text": "10 of 10"}),
    (OTHER, EventType.budget_refused, 7, {"check": {"name": "cost", "reason": {"text": "2 USD are spent"}}}),
    ("guid-1", EventType.permission_refused, 8, {"verb": "review", "code": "role", "account": 9, "held": "read"}),
    ("guid-2", EventType.ladder_changed, 9, {"repository": 10, "before": 1, "level": 2, "text": "10 runs", "by": ""}),
    (OTHER, EventType.tool_executed, 10, {"files": 3}),
]


@pytest.fixture
async def url(url: str) -> str:
    database = Database(url)
    async with database.transaction() as session:
        session.add_all([run_row(RUN), run_row(OTHER, 11, "bank"), gate_row(GATE, RUN), delivery_row("guid-1")])
    for trace, kind, minute, payload in FACTS:
        async with database.transaction() as session:
            seconds = 60.0 if kind is EventType.gate_approved else None
            ledger.record(session, trace, kind, NOON + timedelta(minutes=minute), payload=payload, duration=seconds)
    await halts.halt(database, "prices\nwrong", "root", NOON + timedelta(minutes=11))
    await database.close()
    return url


async def _run_audit(url: str, **wanted: Any) -> list[str]:
    database = Database(url)
    found = [entry async for entry in audit.stream_all(database, EventFilter(**wanted), size=2)]
    newest = await audit.list_newest(database, EventFilter(**wanted), 100)
    await database.close()
    assert [*newest] == found
    return [entry.event.type.value for entry in found]


async def test_everything_of_safety_and_nothing_else(url: str) -> None:
    found = await _run_audit(url)
    assert len(found) == 9
    assert not {"run.waiting", "tool.executed"} & set(found)


async def test_a_run_and_a_gate_are_told_with_what_moved_the_run(url: str) -> None:
    story = ["run.waiting", "gate.requested", "gate.approved", "run.resumed"]
    assert await _run_audit(url, run=RUN) == story
    assert await _run_audit(url, gate_id=GATE) == story
    assert await _run_audit(url, gate="security_findings") == story[1:3]
    assert await _run_audit(url, gate="human_review") == []


@pytest.mark.parametrize(
    ("breaker", "types"),
    [
        ("error_rate", ["breaker.tripped"]),
        ("cost", ["breaker.warning", "budget.refused"]),
        ("max_iterations", ["guard.tripped"]),
        ("time", []),
    ],
)
async def test_a_breaker(breaker: str, types: list[str], url: str) -> None:
    assert await _run_audit(url, breaker=breaker) == types


async def test_a_repository(url: str) -> None:
    database = Database(url)
    [shop], [bank] = [await audit.find_repositories(database, name) for name in ("Octo-Org/shop", "octo-org/bank")]
    await database.close()
    assert await _run_audit(url, repositories=[shop]) == [
        "gate.requested",
        "gate.approved",
        "permission.refused",
        "ladder.changed",
    ]
    assert len(await _run_audit(url, repositories=[bank])) == 4


async def test_a_time(url: str) -> None:
    minute = timedelta(minutes=1)
    assert await _run_audit(url, since=NOON + 9 * minute) == ["ladder.changed", "safety.halted"]
    assert await _run_audit(url, until=NOON + 2 * minute) == ["gate.requested"]
    assert await _run_audit(url, since=NOON + 2 * minute, until=NOON + 3 * minute) == ["gate.approved"]


async def test_the_story(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    await auditing.show(settings(url), gate="G-GGGGGG")
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "2026-05-01 12:00:00  octo-org/shop#1 …AAAAAA  run waits",
        "                     why: gate",
        "2026-05-01 12:01:00  octo-org/shop#1 …AAAAAA  gate security_findings (G-GGGGGG) asked, for 12 h",
        "                     why: critical eval",
        "2026-05-01 12:02:00  octo-org/shop#1 …AAAAAA  gate security_findings (G-GGGGGG) approved",
        "                     by carol (button), after 1 min",
        "                     “=cmd|' /C calc'!A0”",
        "2026-05-01 12:03:00  octo-org/shop#1 …AAAAAA  run goes on",
    ]


async def test_the_exports(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    await auditing.show(settings(url), as_csv=True)
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    rows = list(csv.DictReader(io.StringIO(printed)))
    assert [*rows[0]] == [*COLUMNS]
    assert len(rows) == 9
    assert rows[1]["words"] == "'=cmd|' /C calc'!A0"
    assert (rows[1]["who"], rows[1]["account_id"], rows[1]["seconds"]) == ("carol", "7", "60.0")
    assert rows[-1]["what"] == "Forge halted by the operator"

    await auditing.show(settings(url), limit=2, as_jsonl=True)
    kept = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [each["type"] for each in kept] == ["ladder.changed", "safety.halted"]
    assert kept[1]["payload"] == {"why": "prices\nwrong", "by": "root"}


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"run": "nope"}, "There is no run nope. Give the whole id or its last 6 characters"),
        ({"run": "…ZZZZZZ"}, "There is no run …ZZZZZZ."),
        ({"gate": "nope"}, "There is no gate nope. Use architecture_approval, "),
        ({"gate": "G-ZZZZZZ"}, "There is no gate G-ZZZZZZ. `forge gates` lists the latest."),
        ({"breaker": "nope"}, "There is no breaker nope. Use iteration, stagnation, cost"),
        ({"repository": "octo-org/nope"}, "Forge never ran in octo-org/nope."),
        ({"since": "yesterday"}, "--since yesterday is not a time. Write 30m, 2h, 7d or 2w"),
        ({"since": "1h", "until": "2h"}, "--since is not before --until"),
        ({"run": RUN, "gate": "guard"}, "Choose one of --run, --gate and --breaker."),
    ],
)
async def test_bad_input_gets_one_line_that_says_what_is_possible(asked: dict[str, Any], says: str, url: str) -> None:
    with pytest.raises(ForgeError) as caught:
        await auditing.show(settings(url), **asked)
    assert str(caught.value).startswith(says)
    assert "\n" not in str(caught.value)


async def test_a_run_by_its_last_characters(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    await auditing.show(settings(url), run="…aaaaaa")
    assert "gate security_findings" in capsys.readouterr().out
    await auditing.show(settings(url), until="2020-01-01")
    assert capsys.readouterr().out == "No event matches.\n"


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2h", NOON - timedelta(hours=2)),
        ("30m", NOON - timedelta(minutes=30)),
        ("7d", NOON - timedelta(days=7)),
        ("2026-01-31", datetime(2026, 1, 31, tzinfo=UTC)),
        ("2026-01-31T14:00+02:00", datetime(2026, 1, 31, 12, tzinfo=UTC)),
    ],
)
def test_a_moment(text: str, meant: datetime) -> None:
    assert parse_moment(text, NOON, "--since") == meant


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_no_cell_is_a_formula(cell: str) -> None:
    assert escape_cell(cell)[0] == "'"


@pytest.mark.parametrize("cell", ["", "plain", "1.5", "a=b", "2026-01-31"])
def test_other_cells_stay(cell: str) -> None:
    assert escape_cell(cell) == cell


@pytest.mark.parametrize("kind", [*SAFETY_EVENTS, *texts.RUN_EVENTS], ids=str)
def test_every_event_has_words_even_without_facts(kind: EventType) -> None:
    event = Event(id="1", trace=RUN, time=NOON, source="test", type=kind, phase=Phase.review)
    entry = AuditEntry(event, RUN, "octo-org/shop", 1)
    assert render_entries([entry])[0].startswith("2026-05-01 12:00:00  octo-org/shop#1 …AAAAAA  ")
    assert len(texts.to_row(entry)) == len(COLUMNS)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0, "no time"), (0.2, "200 ms"), (59, "59 s"), (165, "2 min 45 s"), (3600, "1 h"), (90_000, "1 d 1 h")],
)
def test_a_span(seconds: float, shown: str) -> None:
    assert format_duration(seconds) == shown


def test_all_who_decided_a_gate_are_named() -> None:
    said = {**DECIDED, "seconded_by": ["bob"]}
    decided = Event(id="01", trace=RUN, time=NOON, source="gate", type=EventType.gate_approved, payload=said)
    assert texts.describe_event(decided).who == "bob and carol"
