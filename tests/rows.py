"""Rows of the tables, for tests that look back on what happened."""

from datetime import UTC, datetime, timedelta
from typing import Any

from bot.settings import Settings
from domain.runs.run import RepositoryRef, Run, RunState, Trigger
from memory.db.tables.deliveries import DeliveryRow
from memory.db.tables.repositories import FeedbackRow, FindingRow, GateRow
from memory.db.tables.runs import RunRow, SpendRow

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def settings(url: str) -> Settings:
    """What a command that looks into this database needs."""
    return Settings.model_validate({"app_id": 1, "webhook_secret": ("s",), "database_url": url})


def active_run(run_id: str, repository_id: int = 10) -> Run:
    """A run that works, on pull request 1 of octo-org/shop."""
    return Run(
        id=run_id,
        repository=RepositoryRef(installation_id=1, id=repository_id, owner="octo-org", name="shop"),
        number=1,
        head_sha="a",
        base_sha="b",
        trigger=Trigger.pull_request,
        attempt=1,
        fence=1,
        state=RunState.running,
    )


def run_row(run_id: str, repository_id: int = 10, name: str = "shop", **more: Any) -> RunRow:
    """A completed run on pull request 1 of octo-org/NAME."""
    values: dict[str, Any] = {
        "admitted_by": f"delivery of {run_id}#1",
        "installation_id": 1,
        "repository_id": repository_id,
        "owner": "octo-org",
        "name": name,
        "number": 1,
        "head_sha": run_id,
        "base_sha": "b" * 40,
        "base_ref": "main",
        "check_name": "Forge / review",
        "trigger": "pull_request",
        "attempt": 1,
        "fence": 1,
        "state": "completed",
        "reason": "",
        "detail": "",
        "created_at": NOON,
        "started_at": NOON,
        "finished_at": NOON,
    }
    return RunRow(id=run_id, **(values | more))


def gate_row(gate_id: str, run_id: str, name: str = "security_findings", **more: Any) -> GateRow:
    """A gate on pull request 1 of octo-org/shop that was approved a minute later."""
    request: dict[str, Any] = {
        "name": name,
        "phase": "review",
        "subject": "s",
        "prompt": "Is that meant?",
        "reasons": [{"code": "critical", "text": "eval \x1b[31mof input", "children": []}],
        "role": "maintain",
        "not_author": True,
        "not_requester": False,
        "seconds": 43200,
        "options": [{"command": f"/forge approve {name}", "effect": "lets it go on"}],
        "escalate": ["octo-org/security"],
    }
    at = NOON + timedelta(minutes=1)
    values: dict[str, Any] = {
        "installation_id": 1,
        "repository_id": 10,
        "owner": "octo-org",
        "repository_name": "shop",
        "number": 1,
        "head_sha": "a" * 40,
        "name": name,
        "subject": "s",
        "request": request,
        "state": "approved",
        "asked_at": NOON,
        "until": NOON + timedelta(hours=12),
        "decision": {"at": at.isoformat(), "by_id": 7, "by_login": "carol", "words": "log it", "via": "button"},
        "decided_at": at,
        "delegate": None,
        "check_id": 77,
        "comment_id": 88,
    }
    return GateRow(id=gate_id, run_id=run_id, **(values | more))


def spend_row(spend_id: str, run_id: str, amount: int, **more: Any) -> SpendRow:
    """A settled call of a model in the review phase."""
    values: dict[str, Any] = {
        "repository_id": 10,
        "installation_id": 1,
        "phase": "review",
        "step": spend_id,
        "model": "anthropic:claude-haiku-4-5",
        "day": "2026-05-01",
        "state": "settled",
        "reserved": amount,
        "amount": amount,
        "input_tokens": 1000,
        "output_tokens": 100,
        "cache_read_tokens": 500,
        "cache_write_tokens": 0,
        "outcome": "answered",
        "problem": "",
        "seconds": 1.0,
        "reserved_at": NOON,
        "settled_at": NOON,
    }
    return SpendRow(id=spend_id, run_id=run_id, **(values | more))


def finding_row(row_id: str, fingerprint: str, **more: Any) -> FindingRow:
    """A finding on pull request 1 of octo-org/shop that no comment tells."""
    values: dict[str, Any] = {
        "repository_id": 10,
        "number": 1,
        "name": row_id,
        "trail": "",
        "content": {},
        "first_run": "",
        "last_run": "",
        "posted_by": None,
        "comment_id": None,
        "created_at": NOON,
    }
    return FindingRow(id=row_id, fingerprint=fingerprint, **(values | more))


def dismissal_row(row_id: str, fingerprint: str, **more: Any) -> FeedbackRow:
    """The dismissal of such a finding by carol, which taught nothing."""
    values: dict[str, Any] = {
        "word": "dismissed",
        "repository_id": 10,
        "number": 1,
        "name": row_id,
        "rule": "",
        "path": "",
        "by_id": 7,
        "by_login": "carol",
        "reason": "",
        "memory_id": "",
        "created_at": NOON,
    }
    return FeedbackRow(id=row_id, fingerprint=fingerprint, **(values | more))


def delivery_row(guid: str, repository_id: int = 10, **more: Any) -> DeliveryRow:
    """An accepted delivery from octo-org/shop that was done."""
    there = {"installation_id": 1, "id": repository_id, "owner": "octo-org", "name": "shop"}
    values: dict[str, Any] = {
        "event": "issue_comment",
        "action": "created",
        "received_at": NOON,
        "outcome": "accepted",
        "reason": "",
        "command": {"repository": there, "number": 4},
        "finished_at": NOON,
    }
    return DeliveryRow(guid=guid, **(values | more))
