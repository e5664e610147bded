"""Forge's check runs: content, annotations and buttons."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from domain.review.review import Conclusion


class Annotation(BaseModel):
    """An annotation of a check run. Lines are 1-based at head."""

    model_config = ConfigDict(frozen=True)

    path: str
    start_line: int
    end_line: int
    level: Literal["notice", "warning", "failure"]
    title: str
    message: str


class Button(BaseModel):
    """A button of a completed check run. GitHub: label ≤ 20, description ≤ 40, identifier ≤ 20 characters."""

    model_config = ConfigDict(frozen=True)

    label: str
    description: str
    identifier: str


class CheckRun(BaseModel):
    """The content of a check run. With a ``conclusion`` it is completed.

    Any number of annotations may be given: the adapter sends them 50 at a time.
    """

    model_config = ConfigDict(frozen=True)

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


class CheckRunRef(BaseModel):
    """A check run of ours that exists on GitHub."""

    model_config = ConfigDict(frozen=True)

    id: int
    external_id: str
    head_sha: str
    is_completed: bool
    conclusion: str | None
