"""Workflow runs, as GitHub shows them."""

from pydantic import BaseModel

from domain.github.workflow_runs import WorkflowRun


class RunShown(BaseModel):
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
