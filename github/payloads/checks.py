"""Check runs, statuses and workflow runs, as GitHub shows them: the App's own, and those that fail."""

from typing import ClassVar

from pydantic import Field

from domain.github.checks import RED, FailingCheck, WorkflowRun
from domain.github.commits import AN_APP
from domain.value import Value
from github.payloads.parsing import AccountShown


class _OutputShown(Value):
    annotations_count: int


class AnnotatedShown(Value):
    """A check run, of which only the number of annotations is read."""

    output: _OutputShown


class AnnotationShown(Value):
    path: str
    start_line: int
    end_line: int
    annotation_level: str | None
    title: str | None = None
    message: str | None


class _App(Value):
    id: int
    slug: str = ""


class _Output(Value):
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations_count: int = 0


class SpokenRun(Value):
    """A check run of any App with its output."""

    id: int
    name: str
    status: str
    conclusion: str | None
    app: _App | None
    output: _Output = _Output()

    @property
    def is_pending(self) -> bool:
        return self.status != "completed"

    @property
    def outcome(self) -> str:
        return "pending" if self.is_pending else self.conclusion or "pending"

    @property
    def app_id(self) -> int | None:
        return None if self.app is None else self.app.id

    def to_domain(self) -> FailingCheck | None:
        """None if it does not fail."""
        if self.outcome not in RED:
            return None
        said = [each for each in (self.output.title, self.output.summary, self.output.text) if each]
        return FailingCheck(
            id=self.id,
            name=self.name,
            app=self.app.slug if self.app else "",
            said="\n".join(said),
            annotated=self.output.annotations_count,
        )


class SpokenStatus(Value):
    """A commit status with its description."""

    app_id: ClassVar[None] = None  # GitHub tells none

    name: str = Field(alias="context")
    state: str
    description: str | None = None
    creator: AccountShown | None = None

    @property
    def is_pending(self) -> bool:
        return self.state == "pending"

    @property
    def outcome(self) -> str:
        return self.state

    def to_domain(self) -> FailingCheck | None:
        """None if it does not fail."""
        if self.state not in RED:
            return None
        by = self.creator.id if self.creator is not None and self.creator.type == "User" else AN_APP
        return FailingCheck(id=None, name=self.name, said=self.description or "", by=by)


class RunShown(Value):
    id: int
    name: str | None = None
    head_sha: str
    path: str
    event: str
    status: str | None
    conclusion: str | None
    run_attempt: int = 0  # where GitHub leaves it out
    html_url: str
    display_title: str | None = None

    def to_domain(self) -> WorkflowRun:
        return WorkflowRun(
            id=self.id,
            name=self.name or self.path,
            status=self.status or "unknown",
            conclusion=self.conclusion,
            attempt=self.run_attempt,
            event=self.event,
            url=self.html_url,
            path=self.path,
        )
