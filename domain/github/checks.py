"""Check runs of Forge's own and of other Apps, runs of workflows, and deployments, as GitHub has them."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from domain.github.commits import AN_APP
from domain.review.review import Conclusion
from domain.value import Value

TASK = "deploy"


class Annotation(Value):
    """An annotation of a check run. Lines are 1-based at head."""

    path: str
    start_line: int
    end_line: int
    level: Literal["notice", "warning", "failure"]
    title: str
    message: str


class Button(Value):
    """A button of a completed check run. GitHub: label ≤ 20, description ≤ 40, identifier ≤ 20 characters."""

    label: str
    description: str
    identifier: str


class CheckRun(Value):
    """The content of a check run. With a ``conclusion`` it is completed.

    Any number of annotations may be given: the adapter sends them 50 at a time.
    """

    name: str
    head_sha: str
    external_id: str
    status: Literal["queued", "in_progress", "completed"]
    title: str
    summary: str
    text: str = ""
    conclusion: Conclusion | None = None
    annotations: tuple[Annotation, ...] = ()
    buttons: tuple[Button, ...] = ()


class CheckRunRef(Value):
    """A check run of ours that exists on GitHub."""

    id: int
    external_id: str | None = None
    head_sha: str
    status: str
    conclusion: str | None = None

    @property
    def is_completed(self) -> bool:
        return self.status == "completed"


RED = frozenset({"failure", "timed_out", "startup_failure", "error"})
"""Conclusions of check runs, and states of statuses, that mean a failure."""


class FailingCheck(Value):
    """A check that fails, by its newest result.

    :param id: of the check run; None for a commit status. That of a job is the job's.
    :param app: the slug of its App; empty for a commit status.
    :param said: its title and summary, or the status's description; untrusted, and may be long.
    :param annotated: how many annotations it has.
    :param by: who reported it; :data:`domain.github.commits.AN_APP` if an App did.
    """

    id: int | None
    name: str
    app: str = ""
    said: str = ""
    annotated: int = 0
    by: int = AN_APP


SLUG = "github-actions"
"""The slug of the App that reports workflow results."""

TESTING_EVENTS = frozenset({"pull_request", "push"})
"""The events of workflows that test a head."""


class WorkflowRun(Value):
    """A run of a workflow, in its newest attempt.

    :param name: of the workflow; its path where it has none.
    :param conclusion: None until it is completed.
    :param attempt: from 1; 0 if GitHub does not say.
    :param event: what started it.
    :param url: for people.
    :param path: of the workflow's file.
    """

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


class Job(Value):
    """A job of a workflow run.

    :param conclusion: None until it is completed.
    :param failed_step: name of the first step that failed; empty where none did.
    """

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


KEY = "forge"
"""The field of a deployment's payload by which Forge finds it again."""
