"""Files of a repository and changes of its dependencies, as GitHub shows them."""

from typing import Literal

from domain.github.pull_requests import DependencyChange, Vulnerability
from domain.value import Value


class FileShown(Value):
    """An entry of the contents endpoint; files above 1 MB come with encoding ``none`` and must be read as a blob."""

    type: str
    sha: str
    size: int
    encoding: str | None = None
    content: str | None = None


class BlobShown(Value):
    encoding: Literal["base64"]
    content: str
    size: int


class _Advisory(Value):
    severity: Literal["low", "moderate", "high", "critical"]
    advisory_ghsa_id: str
    advisory_summary: str
    advisory_url: str


class DependencyShown(Value):
    change_type: Literal["added", "removed"]
    manifest: str
    ecosystem: str
    name: str
    version: str
    license: str | None = None
    vulnerabilities: tuple[_Advisory, ...] = ()

    def to_domain(self) -> DependencyChange:
        return DependencyChange(
            added=self.change_type == "added",
            manifest=self.manifest,
            ecosystem=self.ecosystem,
            name=self.name,
            version=self.version,
            licence=self.license,
            vulnerabilities=tuple(
                Vulnerability(
                    severity=one.severity,
                    advisory=one.advisory_ghsa_id,
                    summary=one.advisory_summary,
                    url=one.advisory_url,
                )
                for one in self.vulnerabilities
            ),
        )
