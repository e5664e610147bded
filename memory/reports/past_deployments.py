"""Finds past deployments of all repositories, with their names."""

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import func, select

from domain.deployments.deployment import Deployment, DeploymentState, Step
from memory.db.engine import Database
from memory.db.tables.deployments import DeploymentRow
from memory.db.tables.runs import RunRow
from memory.deployments.deployments import parse_deployment

_THERE = [state.value for state in DeploymentState if state.is_there]


@dataclass(frozen=True)
class PastDeployment:
    """A deployment, and the repository's name when it was ordered.

    :param steps: that were rolled out, in order.
    """

    deployment: Deployment
    repository: str
    steps: Sequence[Step] = ()


async def list_past(
    database: Database,
    *,
    repository_ids: Sequence[int] | None = None,
    environment: str | None = None,
    ending: str = "",
    limit: int = 20,
) -> Sequence[PastDeployment]:
    """The latest deployments, newest first.

    :param repository_ids: of these only; None: of all.
    :param environment: to this one only; None: to all.
    :param ending: of the id.
    """
    query = (
        select(DeploymentRow, RunRow.owner, RunRow.name)
        .join(RunRow, RunRow.id == DeploymentRow.run_id)
        .where(DeploymentRow.run_id.endswith(ending, autoescape=True))
        .order_by(DeploymentRow.created_at.desc(), DeploymentRow.run_id.desc())
        .limit(limit)
    )
    if repository_ids is not None:
        query = query.where(DeploymentRow.repository_id.in_(repository_ids))
    if environment is not None:
        query = query.where(DeploymentRow.environment == environment)
    return [
        PastDeployment(parse_deployment(row), f"{owner}/{name}", tuple(Step.model_validate(each) for each in row.steps))
        for row, owner, name in await database.rows(query)
    ]


async def list_there(database: Database, repository_id: int) -> Sequence[Deployment]:
    """What each environment of a repository runs as far as Forge knows, by the environment's name."""
    newest = (
        select(func.max(DeploymentRow.run_id))
        .where(DeploymentRow.repository_id == repository_id, DeploymentRow.state.in_(_THERE))
        .group_by(DeploymentRow.environment)
    )
    query = select(DeploymentRow).where(DeploymentRow.run_id.in_(newest)).order_by(DeploymentRow.environment)
    return [parse_deployment(row) for row in await database.scalars(query)]


async def count_by_state(database: Database) -> dict[DeploymentState, int]:
    """How many deployments there are in each state."""
    query = select(DeploymentRow.state, func.count()).group_by(DeploymentRow.state)
    return {DeploymentState(state): count for state, count in await database.rows(query)}
