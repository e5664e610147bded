"""Layer 2 for dependencies: known vulnerabilities of those a change adds, from GitHub's comparison."""

import re
from collections.abc import Iterator, Sequence

from agents.review.checks.rule_texts import shorten
from domain.github.pull_requests import DependencyChange, Vulnerability
from domain.review.changes import Change, FileChange
from domain.review.findings import Category, Layer, RawFinding, Severity

_SEVERITY = {
    "low": Severity.info,
    "moderate": Severity.warning,
    "high": Severity.error,
    "critical": Severity.critical,
}


def find_vulnerable(change: Change, dependencies: Sequence[DependencyChange]) -> tuple[RawFinding, ...]:
    """One finding per known vulnerability of a dependency that the change adds or moves to a vulnerable version."""
    before = {
        (dependency.ecosystem, dependency.name, vulnerability.advisory)
        for dependency in dependencies
        if not dependency.added
        for vulnerability in dependency.vulnerabilities
    }
    found: dict[tuple[str, str, str], RawFinding] = {}
    for dependency in dependencies:
        for vulnerability in dependency.vulnerabilities if dependency.added else ():
            if (dependency.ecosystem, dependency.name, vulnerability.advisory) not in before:
                key = (dependency.manifest, dependency.name, vulnerability.advisory)
                found.setdefault(key, _finding(change, dependency, vulnerability))
    return tuple(found.values())


def _finding(change: Change, dependency: DependencyChange, vulnerability: Vulnerability) -> RawFinding:
    line = next(_find_naming_lines(change.file(dependency.manifest), dependency), None)
    return RawFinding(
        rule=f"dependency/{shorten(vulnerability.advisory, 60)}",
        category=Category.dependencies,
        severity=_SEVERITY[vulnerability.severity],
        confidence=0.95,
        path=dependency.manifest,
        line=line,
        end_line=line,
        message=shorten(
            f"{dependency.name} {dependency.version} has a known vulnerability ({vulnerability.severity}): "
            f"{vulnerability.summary.rstrip('.')}. Use a version that fixes it, see {vulnerability.advisory}."
        ),
        layer=Layer.security,
        help_url=vulnerability.url,
    )


def _find_naming_lines(file: FileChange | None, dependency: DependencyChange) -> Iterator[int]:
    """Added lines of the manifest that name the dependency, those with its version first."""
    if file is None:
        return
    name = re.compile(rf"(?<![\w.-]){re.escape(dependency.name)}(?![\w-])", re.IGNORECASE)
    naming = [line for line, text in file.added_lines.items() if name.search(text[:2000])]
    yield from (line for line in naming if dependency.version in file.added_lines[line])
    yield from naming
