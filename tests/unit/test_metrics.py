"""Metrics: what repositories choose makes no labels."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import delete

from bot.prometheus import Metrics
from domain.events import Event, EventType
from domain.review.reading import CHECKS
from domain.runs.run import Phase
from domain.value import new_id
from memory.db.engine import Bus, Database
from memory.db.tables.repositories import GateRow, RepositoryRow
from memory.db.tables.runs import CircuitRow
from memory.process import halts
from tests.databases import Backend, create_database, drop_database
from tests.rows import NOON, gate_row
from tests.unit.scraping import scrape


async def test_linters_of_repositories_share_a_label() -> None:
    bus = Bus()
    metrics = Metrics(bus)
    for source in (*CHECKS, "anthropic:claude-haiku-4-5", *(f"linter-{number}" for number in range(50))):
        bus.publish(_ran(source, {"files": 3, "problem": None}))
    for source in ("write_file", "report", "invented_by_a_model"):
        bus.publish(_ran(source, {"problem": None}))
    counted = [line for line in await scrape(metrics) if line.startswith("forge_tool_seconds_count")]
    assert counted == [
        *(f'forge_tool_seconds_count{{tool="{name}"}} 1.0' for name in CHECKS),
        'forge_tool_seconds_count{tool="anthropic:claude-haiku-4-5"} 1.0',
        'forge_tool_seconds_count{tool="configured linter"} 50.0',
        'forge_tool_seconds_count{tool="agent\'s tool"} 3.0',
    ]


async def test_gates_guards_money_and_iterations() -> None:
    bus = Bus()
    metrics = Metrics(bus)
    for name, kind in (("human_review", EventType.gate_approved), ("my-secret-repo", EventType.gate_rejected)):
        bus.publish(_event(kind, {"name": name}, duration=50.0))
    bus.publish(_event(EventType.gate_expired, {"name": "human_review"}, duration=90_000.0))
    for name in ("loop_detection", "my-secret-repo"):
        bus.publish(_event(EventType.guard_tripped, {"name": name}))
    paid = {"model": "anthropic:claude-haiku-4-5"}
    bus.publish(_event(EventType.budget_settled, paid, duration=2.0, cost=0.25, phase=Phase.review))
    bus.publish(_event(EventType.run_completed, {"calls": 4}))
    told = await scrape(metrics)
    assert "secret" not in "".join(told)
    assert set(told) >= {
        'forge_gate_decisions_total{gate="human_review",outcome="approved"} 1.0',
        'forge_gate_decisions_total{gate="own",outcome="rejected"} 1.0',
        'forge_gate_decisions_total{gate="human_review",outcome="expired"} 1.0',
        'forge_gate_response_seconds_count{gate="human_review"} 1.0',
        'forge_gate_response_seconds_sum{gate="own"} 50.0',
        'forge_guard_trips_total{guard="loop_detection"} 1.0',
        'forge_guard_trips_total{guard="other"} 1.0',
        'forge_spend_usd_total{model="anthropic:claude-haiku-4-5",phase="review"} 0.25',
        'forge_run_iterations_bucket{le="3.0"} 0.0',
        'forge_run_iterations_bucket{le="5.0"} 1.0',
    }
    assert not [line for line in told if line.startswith("forge_tool_seconds_count")]  # none of them is a tool


@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_what_stands_now_is_read_when_it_is_asked_for(backend: Backend, tmp_path: Path) -> None:
    url = create_database(backend, tmp_path)
    database = Database(url)
    metrics = Metrics(Bus(), database)
    at = NOON
    waiting: dict[str, Any] = {"state": "waiting", "decision": None, "decided_at": None}
    opened = {"state": "open", "since": at.isoformat(), "until": at.isoformat()}
    async with database.transaction() as session:
        session.add_all(
            [
                gate_row("1", "r", "guard", **waiting),
                gate_row("2", "r", "my-secret-repo", **waiting),
                gate_row("3", "r", "other-secret", **waiting),
                gate_row("4", "r", "human_review"),
                CircuitRow(repository_id=1, provider="anthropic", circuit=opened),
                CircuitRow(repository_id=2, provider="anthropic", circuit={"state": "closed"}),
                RepositoryRow(repository_id=1, level=2, level_since=at, level_by=""),
            ]
        )
    assert set(await scrape(metrics)) >= {
        'forge_gates_waiting{gate="guard"} 1.0',
        'forge_gates_waiting{gate="own"} 2.0',
        'forge_breakers{breaker="error_rate",state="open"} 1.0',
        'forge_breakers{breaker="error_rate",state="closed"} 1.0',
        'forge_breakers{breaker="error_rate",state="half_open"} 0.0',
        'forge_ladder_levels{level="2"} 1.0',
        "forge_halted 0.0",
    }
    await halts.halt(database, "", "", at)
    async with database.transaction() as session:
        await session.execute(delete(GateRow))
    told = await scrape(metrics)
    assert "forge_halted 1.0" in told
    assert not [line for line in told if line.startswith("forge_gates_waiting{")]
    await database.close()
    drop_database(url)


async def test_without_the_database_nothing_is_said_of_what_stands_now(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path}/gone/forge.db")
    told = await scrape(Metrics(Bus(), database))
    assert "forge_halted NaN" in told
    read = ("forge_deployments_over{", "forge_deployments_total{")
    assert not [line for line in told if line.startswith(read)]
    await database.close()


async def test_names_of_counters_are_for_counters() -> None:
    """But for former names, which say what they are called now."""
    told = await scrape(Metrics(Bus()))
    gauges = {line.split()[2] for line in told if line.startswith("# TYPE") and line.endswith(" gauge")}
    former = {line.split()[2] for line in told if "The former name of forge_" in line}
    assert former == {name for name in gauges if name.endswith("_total")}


def _event(kind: EventType, payload: dict[str, Any], **more: Any) -> Event:
    return Event(id=new_id(), trace="run", time=NOON, source="test", type=kind, payload=payload, **more)


def _ran(source: str, payload: dict[str, Any]) -> Event:
    return _event(EventType.tool_executed, payload, duration=0.1).model_copy(update={"source": source})
