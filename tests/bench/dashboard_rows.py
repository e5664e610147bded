"""Fills a repository as if Forge had worked in it for years: runs, events, calls of models, findings, memories."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import insert, text
from ulid import ULID

from memory.db.engine import sync_engine
from memory.db.tables.findings import DismissalRow, FindingRow
from memory.db.tables.learned import MemoryRow
from memory.db.tables.ledger import EventRow
from memory.db.tables.money import SpendRow
from memory.db.tables.runs import RunRow

RUNS, EVENTS_OF_RUN, CALLS_OF_RUN, FINDING_EVERY, MEMORIES = 100_000, 10, 2, 2, 5_000
_BATCH = 2_000  # runs
_DAYS = 730


def fill(url: str, installation_id: int, repository_id: int, now: datetime) -> str:
    """Fill the database; the id of the newest run.

    :param url: of a database that has its tables.
    """
    engine = sync_engine(url)
    newest = ""
    with engine.begin() as connection:
        for start in range(0, RUNS, _BATCH):
            ids = range(start, min(start + _BATCH, RUNS))
            runs = [_build_run(installation_id, repository_id, now, number) for number in ids]
            newest = runs[-1]["id"]
            connection.execute(insert(RunRow), runs)
            connection.execute(insert(EventRow), [each for run in runs for each in _build_events(run)])
            connection.execute(insert(SpendRow), [each for run in runs for each in _build_calls(run)])
            found = [_build_finding(run) for run in runs[::FINDING_EVERY]]
            connection.execute(insert(FindingRow), found)
            connection.execute(insert(DismissalRow), [_build_dismissal(each) for each in found[::5]])
        connection.execute(
            insert(MemoryRow), [_build_memory(installation_id, repository_id, now, n) for n in range(MEMORIES)]
        )
        connection.execute(text("ANALYZE"))
    engine.dispose()
    return newest


def _build_run(installation_id: int, repository_id: int, now: datetime, number: int) -> dict[str, Any]:
    at = now - timedelta(days=_DAYS) * (1 - number / RUNS)
    return {
        "id": str(ULID.from_datetime(at)),
        "admitted_by": f"filled {number}",
        "installation_id": installation_id,
        "repository_id": repository_id,
        "owner": "octo-org",
        "name": "shop",
        "number": number // 4 + 1_000,
        "head_sha": f"{number:040x}",
        "base_sha": "b" * 40,
        "trigger": "pull_request",
        "attempt": 1,
        "fence": number,
        "state": "failed" if number % 20 == 0 else "completed",
        "reason": "",
        "detail": "",
        "created_at": at,
        "started_at": at,
        "finished_at": at + timedelta(minutes=2),
    }


def _build_events(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    kinds = [
        "run.started",
        "phase.entered",
        *["tool.executed"] * (EVENTS_OF_RUN - 4),
        "phase.completed",
        "run.completed",
    ]
    for place, kind in enumerate(kinds):
        at = run["created_at"] + timedelta(seconds=place)
        yield {
            "id": str(ULID.from_datetime(at)),
            "trace": run["id"],
            "time": at,
            "source": "pipeline",
            "type": kind,
            "phase": "review",
            "payload": {"decision": "approve"} if kind == "run.completed" else {},
            "tokens": 0,
            "cost": 0.0,
        }


def _build_calls(run: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for _ in range(CALLS_OF_RUN):
        yield {
            "id": str(ULID.from_datetime(run["created_at"])),
            "run_id": run["id"],
            "repository_id": run["repository_id"],
            "installation_id": run["installation_id"],
            "phase": "review",
            "step": "review",
            "model": "a-model",
            "day": run["created_at"].date().isoformat(),
            "state": "settled",
            "reserved": 20_000,
            "amount": 12_345,
            "input_tokens": 4_000,
            "output_tokens": 500,
            "cache_read_tokens": 1_000,
            "cache_write_tokens": 0,
            "outcome": "answered",
            "problem": "",
            "seconds": 3.0,
            "reserved_at": run["created_at"],
            "settled_at": run["created_at"],
        }


def _build_finding(run: dict[str, Any]) -> dict[str, Any]:
    fingerprint = f"{run['fence']:064x}"
    name = f"F-{run['fence']:06X}"
    return {
        "id": str(ULID.from_datetime(run["created_at"])),
        "repository_id": run["repository_id"],
        "number": run["number"],
        "name": name,
        "fingerprint": fingerprint,
        "trail": "",
        "content": {
            "id": name,
            "fingerprint": fingerprint,
            "trail": "",
            "rule": "ruff/F821",
            "category": "correctness",
            "severity": "error",
            "layer": 1,
            "path": "billing/pay.py",
            "line": 3,
            "message": "Undefined name.",
            "confidence": 1.0,
        },
        "first_run": run["id"],
        "last_run": run["id"],
        "posted_by": run["id"],
        "created_at": run["created_at"],
    }


def _build_dismissal(finding: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": finding["id"],
        "repository_id": finding["repository_id"],
        "number": finding["number"],
        "fingerprint": finding["fingerprint"],
        "rule": "ruff/F821",
        "path": "billing/pay.py",
        "name": finding["name"],
        "by_id": 1,
        "by_login": "dora",
        "reason": "defined elsewhere",
        "memory_id": "",
        "created_at": finding["created_at"],
    }


def _build_memory(installation_id: int, repository_id: int, now: datetime, number: int) -> dict[str, Any]:
    return {
        "id": str(ULID.from_datetime(now - timedelta(hours=number))),
        "installation_id": installation_id,
        "repository_id": repository_id,
        "kind": "semantic",
        "content": f"Table {number} of the shop is filled by job {number % 97}.",
        "context": "billing",
        "tags": [f"billing/{number}.py"],
        "confidence": 0.7,
        "source": "a benchmark",
        "created_at": now,
        "last_accessed": now,
        "access_count": 0,
        "pinned": True,
    }
