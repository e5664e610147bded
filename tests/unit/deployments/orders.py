"""Deployments of one shop, as the database keeps them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from domain.commands import Sender
from domain.deployments.deployment import Cause, Deployment, DeploymentState
from domain.review.review import RiskLevel
from domain.runs.run import RepositoryRef
from memory.deployments.deployments import DeploymentOrder

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


def build_order(
    admitted_by: str, repository: RepositoryRef, environment: str = "staging", sha: str = "a", **more: Any
) -> DeploymentOrder:
    """An order of carol's for a commit, whose SHA is one character over and over."""
    values: dict[str, Any] = {"number": 1, "cause": Cause.merge, "risk": RiskLevel.low, **more}
    return DeploymentOrder(
        admitted_by=f"{admitted_by}#{environment}",
        repository=repository,
        environment=environment,
        is_production=environment == "production",
        sha=sha * 40,
        sender=Sender(id=5, login="carol"),
        **values,
    )
