"""Deployments, what is said about them, and dispatched workflows, as GitHub shows them."""

import json
from typing import Literal, cast

from pydantic import AwareDatetime, JsonValue

from bot.github.payloads.parsing import AccountShown
from domain.github.checks import HostDeployment, HostDeploymentState, HostDeploymentStatus
from domain.value import Value


class DeploymentShown(Value):
    id: int
    sha: str
    ref: str
    environment: str
    task: str
    created_at: AwareDatetime
    payload: dict[str, JsonValue] | str | None = None
    creator: AccountShown | None

    def to_domain(self, own_id: int) -> HostDeployment:
        """:param own_id: of the App's own account."""
        return HostDeployment(
            id=self.id,
            sha=self.sha,
            ref=self.ref,
            environment=self.environment,
            task=self.task,
            created_at=self.created_at,
            payload=_to_object(self.payload) if isinstance(self.payload, str) else self.payload or {},
            is_own=self.creator is not None and self.creator.id == own_id,
        )


def _to_object(text: str) -> dict[str, JsonValue] | str:
    """GitHub gives back a payload that was sent as text, also if the text is JSON."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return cast("dict[str, JsonValue]", found) if isinstance(found, dict) else text


class DeploymentStatusShown(Value):
    id: int
    state: HostDeploymentState | Literal["waiting"]
    description: str | None = None
    log_url: str | None = None
    environment_url: str | None = None
    created_at: AwareDatetime

    def to_domain(self) -> HostDeploymentStatus:
        """A deployment is ``waiting`` while the rules of its environment hold it back."""
        return HostDeploymentStatus(
            id=self.id,
            state=HostDeploymentState.pending if self.state == "waiting" else self.state,
            description=self.description or "",
            log_url=self.log_url or "",
            environment_url=self.environment_url or "",
            created_at=self.created_at,
        )


class Dispatched(Value):
    """The answer to a dispatch that asked for the details of the run."""

    workflow_run_id: int
