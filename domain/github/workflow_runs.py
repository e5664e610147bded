"""Workflow runs and jobs of GitHub Actions."""

from datetime import datetime

from pydantic import BaseModel, ConfigDict

SLUG = "github-actions"
"""The slug of the App that reports workflow results."""

TESTING_EVENTS = frozenset({"pull_request", "push"})
"""The events of workflows that test a head."""


class WorkflowRun(BaseModel):
    """A run of a workflow, in its newest attempt.

    :param name: of the workflow; its path where it has none.
    :param conclusion: None until it is completed.
    :param attempt: from 1; 0 if GitHub does not say.
    :param event: what started it.
    :param url: for people.
    :param path: of the workflow's file.
    """

    model_config = ConfigDict(frozen=True)

    id: int
    name: str
    status: str
    conclusion: str | None
    attempt: int
    event: str
    url: str
    path: str

    @property
    def is_completed(self) -> bool:
        return self.status == "completed"


class Job(BaseModel):
    """A job of a workflow run.

    :param conclusion: None until it is completed.
    :param failed_step: name of the first step that failed; empty where none did.
    """

    model_config = ConfigDict(frozen=True)

    id: int
    name: str
    status: str
    conclusion: str | None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    failed_step: str = ""

    @property
    def is_completed(self) -> bool:
        return self.status == "completed"
