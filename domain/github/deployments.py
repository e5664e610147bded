"""Deployments on GitHub and what is said about how they went."""

from datetime import datetime
from enum import StrEnum

from pydantic import JsonValue

from domain.value import Value

TASK = "deploy"
KEY = "forge"
"""The field of a deployment's payload by which Forge finds it again."""


class HostDeploymentState(StrEnum):
    """The states of a deployment that GitHub knows.

    https://docs.github.com/rest/deployments/statuses#create-a-deployment-status
    """

    error = "error"  # it could not be tried, or nobody knows how it ended
    failure = "failure"
    inactive = "inactive"  # another one took its place
    in_progress = "in_progress"
    queued = "queued"
    pending = "pending"
    success = "success"


class HostDeployment(Value):
    """A request to deploy a commit.

    :param created_at: in UTC.
    :param payload: what its creator added; text if it was no JSON object.
    :param is_own: the App created it.
    """

    id: int
    sha: str
    ref: str
    environment: str
    task: str
    created_at: datetime
    payload: dict[str, JsonValue] | str
    is_own: bool

    @property
    def key(self) -> str | None:
        """By what Forge finds it again; None where the payload names nothing."""
        found = self.payload.get(KEY) if isinstance(self.payload, dict) else None
        return found if isinstance(found, str) else None


class HostDeploymentStatus(Value):
    """What somebody said about a deployment.

    :param description: at most 140 characters.
    :param log_url: of what was printed; empty if there is none.
    :param environment_url: of what was deployed; empty if there is none.
    """

    id: int
    state: HostDeploymentState
    description: str
    log_url: str
    environment_url: str
    created_at: datetime
