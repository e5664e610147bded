"""Deployments of one shop, as the database keeps them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from domain.deployments.deployment import Cause, Deployment, DeploymentState

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def deployment(number: int = 1, state: DeploymentState = DeploymentState.queued, **more: Any) -> Deployment:
    """The deployment with this number, ordered so many minutes after noon."""
    values: dict[str, Any] = {
        "run_id": f"01J{number:023d}",
        "repository_id": 7,
        "number": 1,
        "environment": "staging",
        "is_production": False,
        "sha": f"{number:x}" * 40,
        "cause": Cause.merge,
        "ordered_by": "carol",
        "state": state,
        "created_at": NOON + timedelta(minutes=number),
    }
    return Deployment.model_validate(values | more)
