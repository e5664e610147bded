"""Fills a repository with what people decided in years: gates, dismissals, merges, levels, deployments."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, insert
from ulid import ULID

from memory.db.tables.repositories import DeploymentRow, FeedbackRow, GateRow

GATE_EVERY, MERGE_EVERY, GRANT_EVERY, MOVE_EVERY, DEPLOYED_EVERY, DISMISSED_EVERY = 10, 3, 50, 5_000, 100, 5
WAITING = 30  # gates of the newest runs


def list_events(run: Mapping[str, Any]) -> Sequence[str]:
    """The two events of a run that the audit lists; of most runs none."""
    number = run["fence"]
    if number % MOVE_EVERY == 1:
        return "ladder.changed", "feedback.decided"
    if number % GATE_EVERY == 0:
        return "gate.requested", "gate.approved"
    if number % GRANT_EVERY == 1:
        return "budget.granted", "feedback.decided"
    return ("feedback.dismissed", "feedback.decided") if number % MERGE_EVERY == 0 else ()


def build_payload(kind: str, run: Mapping[str, Any]) -> dict[str, Any]:
    """What such an event tells."""
    by = {"by_id": 1, "by_login": "dora" if run["fence"] % 2 else "rita"}
    about: Mapping[str, dict[str, Any]] = {
        "gate.requested": {"gate": _find_gate(run), "name": "protected_paths", "reasons": ["It changes them."]},
        "gate.approved": {"gate": _find_gate(run), "name": "protected_paths", **by},
        "budget.granted": {"amount": 1_000_000, **by},
        "feedback.dismissed": {"finding": "F-AAAAAA", "reason": "defined elsewhere", **by},
        "feedback.decided": {"approved": True, "own": False, "number": run["number"], **by},
        "ladder.changed": {"repository": run["repository_id"], "before": 1, "level": 2, "why": "It went well."},
    }
    return about.get(kind, {})


def fill(connection: Connection, runs: Sequence[dict[str, Any]], found: Sequence[dict[str, Any]]) -> None:
    """Fill the tables of gates, dismissals and deployments, in the caller's transaction.

    :param runs: rows of runs, oldest first.
    :param found: rows of their findings.
    """
    connection.execute(insert(FeedbackRow), [_build_dismissal(each) for each in found[::DISMISSED_EVERY]])
    connection.execute(insert(GateRow), [_build_gate(run) for run in runs[::GATE_EVERY]])
    connection.execute(insert(DeploymentRow), [_build_deployment(run) for run in runs[::DEPLOYED_EVERY]])


def wait_for_people(connection: Connection, runs: Sequence[dict[str, Any]]) -> None:
    """Let gates wait at the newest runs."""
    waiting = {"state": "waiting", "decision": None, "decided_at": None, "name": "destructive"}
    connection.execute(insert(GateRow), [{**_build_gate(run), **_new_id(run), **waiting} for run in runs[-WAITING:]])


def _find_gate(run: Mapping[str, Any]) -> str:
    return f"{run['id'][:10]}{run['repository_id'] % 100_000:05d}{run['fence']:011d}"


def _new_id(run: Mapping[str, Any]) -> Mapping[str, str]:
    return {"id": str(ULID.from_datetime(run["created_at"]))}


def _build_gate(run: Mapping[str, Any]) -> dict[str, Any]:
    asked = {
        "name": "protected_paths",
        "phase": "review",
        "subject": run["head_sha"],
        "prompt": "This changes protected files: should it go on?",
        "reasons": [{"code": "protected", "text": "It changes .github/workflows/ci.yml."}],
        "role": "maintain",
        "not_author": True,
        "not_requester": False,
        "seconds": 86_400,
        "options": [
            {"command": "approve", "effect": "It goes on."},
            {"command": "reject", "effect": "It ends."},
        ],
    }
    decided = run["created_at"] + timedelta(minutes=run["fence"] % 600)
    return {
        "id": _find_gate(run),
        "run_id": run["id"],
        "installation_id": run["installation_id"],
        "repository_id": run["repository_id"],
        "owner": run["owner"],
        "repository_name": run["name"],
        "number": run["number"],
        "head_sha": run["head_sha"],
        "name": "protected_paths",
        "subject": run["head_sha"],
        "request": asked,
        "state": "approved",
        "asked_at": run["created_at"],
        "until": run["created_at"] + timedelta(days=365),
        "decision": {"at": decided.isoformat(), "by_id": 1, "by_login": "dora", "via": "command"},
        "decided_at": decided,
    }


def _build_deployment(run: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "run_id": run["id"],
        "repository_id": run["repository_id"],
        "number": run["number"],
        "environment": "production" if run["fence"] % 200 else "staging",
        "is_production": bool(run["fence"] % 200),
        "sha": run["head_sha"],
        "previous_sha": "b" * 40,
        "cause": "merge",
        "ordered_by": "dora",
        "state": "healthy",
        "percentage": 100,
        "detail": "",
        "wished_by": "",
        "steps": [{"percentage": 10}, {"percentage": 100}],
        "kept": {},
        "created_at": run["created_at"],
        "finished_at": run["finished_at"],
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
        "word": "dismissed",
        "reason": "defined elsewhere",
        "memory_id": "",
        "created_at": finding["created_at"],
    }
