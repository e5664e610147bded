"""Fills a repository as if Forge had worked in it for years: runs, events, calls of models, findings, memories.

What people decided there is in :mod:`tests.bench.decision_rows`.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Connection, insert, text
from ulid import ULID

from memory.db.engine import sync_engine
from memory.db.tables.repositories import FindingRow, MemoryRow, RecallRow
from memory.db.tables.runs import EventRow, OutboxRow, RecoveryRow, RunRow, SpendRow
from tests.bench import decision_rows

RUNS, EVENTS_OF_RUN, CALLS_OF_RUN, FINDING_EVERY, MEMORIES = 100_000, 10, 2, 2, 5_000
RECALL_EVERY, CAUGHT_EVERY, LONG_RUN = 5, 100, 5_000  # LONG_RUN: more events of the newest run
QUIET_RUNS = 40
_BATCH = 2_000  # runs
_DAYS = 730


def fill(url: str, installation_id: int, repository_id: int, now: datetime) -> str:
    """Fill the database; the id of the newest run.

    :param url: of a database that has its tables.
    """
    engine = sync_engine(url)
    runs: list[dict[str, Any]] = []
    with engine.begin() as connection:
        for start in range(0, RUNS, _BATCH):
            ids = range(start, min(start + _BATCH, RUNS))
            runs = [_build_run(installation_id, repository_id, now, number) for number in ids]
            _fill_runs(connection, runs)
        decision_rows.wait_for_people(connection, runs)
        connection.execute(insert(EventRow), [_build_event(runs[-1], place) for place in range(10, LONG_RUN)])
        memories = [_build_memory(installation_id, repository_id, now, n) for n in range(MEMORIES)]
        connection.execute(insert(MemoryRow), memories)
        connection.execute(insert(EventRow), [_build_learning(each) for each in memories])
        connection.execute(text("ANALYZE"))
    engine.dispose()
    return runs[-1]["id"]


def fill_quiet(url: str, installation_id: int, repository_id: int, now: datetime) -> None:
    """Fill a repository ``octo-org/lib`` in which little happened, and that long ago."""
    runs = [_build_run(installation_id, repository_id, now, number) for number in range(QUIET_RUNS)]
    engine = sync_engine(url)
    with engine.begin() as connection:
        _fill_runs(connection, [{**run, "name": "lib", "admitted_by": f"lib {run['fence']}"} for run in runs])
    engine.dispose()


def _fill_runs(connection: Connection, runs: Sequence[dict[str, Any]]) -> None:
    connection.execute(insert(RunRow), runs)
    connection.execute(insert(EventRow), [each for run in runs for each in _build_events(run)])
    connection.execute(insert(SpendRow), [each for run in runs for each in _build_calls(run)])
    found = [_build_finding(run) for run in runs[::FINDING_EVERY]]
    connection.execute(insert(FindingRow), found)
    connection.execute(insert(OutboxRow), [_build_review(run) for run in runs])
    connection.execute(insert(RecallRow), [_build_recall(run) for run in runs[::RECALL_EVERY]])
    connection.execute(insert(RecoveryRow), [_build_recovery(run) for run in runs[::CAUGHT_EVERY]])
    decision_rows.fill(connection, runs, found)


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
        "base_ref": "main",
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
    """The events of a run: of all, some are decisions of people, which the audit lists."""
    kinds = [
        "run.started",
        "phase.entered",
        *["tool.executed"] * (EVENTS_OF_RUN - 4),
        "phase.completed",
        "run.completed",
    ]
    kinds[2:4] = decision_rows.list_events(run) or kinds[2:4]
    yield from (_build_event(run, place, kind) for place, kind in enumerate(kinds))


def _build_event(run: dict[str, Any], place: int, kind: str = "tool.executed") -> dict[str, Any]:
    at = run["created_at"] + timedelta(milliseconds=100 * place)
    return {
        "id": str(ULID.from_datetime(at)),
        "trace": run["id"],
        "time": at,
        "source": "pipeline",
        "type": kind,
        "phase": "review",
        "payload": _PAYLOADS.get(kind) or decision_rows.build_payload(kind, run),
        "tokens": 0,
        "cost": 0.0,
    }


_PAYLOADS: Mapping[str, dict[str, Any]] = {
    "run.completed": {"decision": "approve"},
    "tool.executed": {"tool": "ruff"},
}


def _build_review(run: dict[str, Any]) -> dict[str, Any]:
    """That the review of a run was posted."""
    return {
        "id": str(ULID.from_datetime(run["created_at"])),
        "run_id": run["id"],
        "step": "review",
        "kind": "review",
        "state": "done",
        "remote_id": run["fence"],
        "created_at": run["created_at"],
        "done_at": run["finished_at"],
    }


def _build_recall(run: dict[str, Any]) -> dict[str, Any]:
    return {
        "run_id": run["id"],
        "task": "review",
        "memory_id": "0" * 26,
        "phase": "review",
        "rank": 1,
        "at": run["created_at"],
        "outcome": "helped" if run["fence"] % 2 else "ignored",
    }


def _build_recovery(run: dict[str, Any]) -> dict[str, Any]:
    """That an agent gave up in disguise, and recovered."""
    return {
        "id": str(ULID.from_datetime(run["created_at"])),
        "run_id": run["id"],
        "repository_id": run["repository_id"],
        "number": run["number"],
        "work": "implement",
        "tried": "1",
        "trouble": [],
        "strategy": "look_again",
        "said": "",
        "outcome": "mended",
        "details": {},
        "time": run["created_at"],
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


def _build_memory(installation_id: int, repository_id: int, now: datetime, number: int) -> dict[str, Any]:
    at = now - timedelta(hours=number)
    return {
        "id": str(ULID.from_datetime(at)),
        "installation_id": installation_id,
        "repository_id": repository_id,
        "kind": "semantic",
        "content": f"Table {number} of the shop is filled by job {number % 97}.",
        "context": "billing",
        "tags": [f"billing/{number}.py"],
        "confidence": 0.7,
        "source": "a benchmark",
        "created_at": at,
        "last_accessed": at,
        "used_at": at,
        "access_count": 0,
        "pinned": True,
    }


def _build_learning(memory: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": memory["id"],
        "trace": "operator",
        "time": memory["created_at"],
        "source": "operator",
        "type": "memory.stored",
        "payload": {"memory": memory["id"], "repository": memory["repository_id"], "by": "an operator"},
        "tokens": 0,
        "cost": 0.0,
    }
