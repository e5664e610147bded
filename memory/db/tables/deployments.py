"""The table of deployments, which says who works in each environment."""

from datetime import datetime
from typing import Any

from sqlalchemy import JSON, Index, Text, false
from sqlalchemy.orm import Mapped, mapped_column

from memory.db.engine import TableRow


class DeploymentRow(TableRow):
    """One deployment, which is carried out by the run with the same id."""

    __tablename__ = "deployments"
    __table_args__ = (Index("deployments_by_environment", "repository_id", "environment", "created_at"),)

    run_id: Mapped[str] = mapped_column(primary_key=True)
    repository_id: Mapped[int]
    number: Mapped[int]
    environment: Mapped[str]
    is_production: Mapped[bool]
    sha: Mapped[str]
    previous_sha: Mapped[str]
    cause: Mapped[str]
    ordered_by: Mapped[str]  # login
    risk: Mapped[str | None]
    state: Mapped[str]
    percentage: Mapped[int]
    detail: Mapped[str] = mapped_column(Text)  # for people
    wish: Mapped[str | None]  # what a person asked of it; None once it was done
    wished_by: Mapped[str]
    github_id: Mapped[int | None]  # of the deployment on GitHub
    steps: Mapped[list[dict[str, Any]]] = mapped_column(JSON)  # what was deployed and watched
    kept: Mapped[dict[str, Any]] = mapped_column(JSON)  # what later executions of the run need, by name
    holds: Mapped[bool] = mapped_column(server_default=false())  # it works in its environment; nobody else may
    created_at: Mapped[datetime]
    finished_at: Mapped[datetime | None]
