"""GitHub's comparison of the dependencies of two commits."""

from typing import Literal

from pydantic import BaseModel, ConfigDict


class Vulnerability(BaseModel):
    """A known vulnerability of a dependency, as GitHub's advisory database names it."""

    model_config = ConfigDict(frozen=True)

    severity: Literal["low", "moderate", "high", "critical"]
    advisory: str
    summary: str
    url: str


class DependencyChange(BaseModel):
    """One dependency that a pull request adds or removes."""

    model_config = ConfigDict(frozen=True)

    added: bool
    manifest: str
    ecosystem: str
    name: str
    version: str
    licence: str | None = None
    vulnerabilities: tuple[Vulnerability, ...] = ()
