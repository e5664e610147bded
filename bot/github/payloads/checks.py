"""Check runs of the App and their annotations, as GitHub shows them."""

from pydantic import BaseModel

from domain.github.checks import CheckRunRef


class CheckRunShown(BaseModel):
    id: int
    external_id: str | None = None
    head_sha: str
    status: str
    conclusion: str | None = None

    def to_domain(self) -> CheckRunRef:
        return CheckRunRef(
            id=self.id,
            external_id=self.external_id or "",
            head_sha=self.head_sha,
            is_completed=self.status == "completed",
            conclusion=self.conclusion,
        )


class _OutputShown(BaseModel):
    annotations_count: int


class AnnotatedShown(BaseModel):
    """A check run, of which only the number of annotations is read."""

    output: _OutputShown


class AnnotationShown(BaseModel):
    path: str
    start_line: int
    end_line: int
    annotation_level: str | None
    title: str | None = None
    message: str | None
