"""What the tester needs of GitHub Actions: which workflows ran on a head, how their jobs ended, what they printed."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from domain.runs import RepositoryRef

SLUG = "github-actions"
"""Of the App that reports what workflows do."""

TESTING_EVENTS = frozenset({"pull_request", "push"})
"""What starts a workflow that tests a head; others see the base branch, a schedule or what a person typed."""


class WorkflowRun(BaseModel):
    """A run of a workflow, in its newest attempt.

    :param name: of the workflow; its path where it has none.
    :param conclusion: None until it is completed.
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


class Actions(Protocol):
    """What the repository's own workflows did. The rules of ``CodeHost`` hold."""

    async def workflow_runs(self, repository: RepositoryRef, head_sha: str) -> Sequence[WorkflowRun]:
        """All workflow runs on a head, newest first, each in its newest attempt."""
        ...

    async def jobs(self, repository: RepositoryRef, run_id: int) -> Sequence[Job]:
        """All jobs of the newest attempt of a workflow run.

        :raises NotFound: there is no such run (any more).
        """
        ...

    async def job_log(self, repository: RepositoryRef, job_id: int, most: int) -> str | None:
        """The end of what a job printed, whole lines; None where GitHub has no log of it (any more).

        :param most: bytes at most.
        """
        ...
