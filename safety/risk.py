"""Scores the risk of a change from 0 to 100, with every part of the score named (CONTRACT, Risk)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from domain.changes import Change, ChangeStatus, FileChange
from domain.findings import RawFinding, Severity
from domain.globs import matches
from domain.review import Risk, RiskLevel, RiskPart


@dataclass(frozen=True)
class Author:
    """What is known about whoever opened the pull request."""

    from_fork: bool = False
    first_time: bool = False


@dataclass(frozen=True)
class Area:
    """Paths where a mistake costs more than elsewhere."""

    code: str
    points: int
    text: str
    pattern: re.Pattern[str]


def _area(code: str, points: int, text: str, pattern: str) -> Area:
    return Area(code, points, text, re.compile(pattern, re.IGNORECASE))


_AREAS = (
    _area(
        "access",
        20,
        "Touches authentication, permissions, cryptography or payments",
        r"^(?!docs?/|.*\.(md|rst|txt|in|lock|po|svg|png)$).*"
        r"(^|[/_.-])(o?auth[nz2]?|auth(enticat|ori[sz])\w*|login|session|permission\w*|crypto\w*|secrets?|passwords?"
        r"|payments?|billing)([/_.-]|$)",
    ),
    _area(
        "pipeline", 15, "Touches continuous integration", r"^\.github/(workflows|actions)/|^\.gitlab-ci|Jenkinsfile$"
    ),
    _area("owners", 15, "Touches who must review what", r"(^|/)CODEOWNERS$"),
    _area("migration", 12, "Touches database migrations", r"(^|/)(migrations?|alembic)/.*\.(py|sql|rb)$|schema\.sql$"),
    _area(
        "infrastructure",
        10,
        "Touches how the software is built or deployed",
        r"(^|/)Dockerfile[^/]*$|docker-compose|\.tf$|(^|/)(deploy|k8s|helm|terraform|ansible)/",
    ),
    _area(
        "dependencies",
        6,
        "Touches dependencies",
        r"(^|/)(requirements[^/]*\.(txt|in)|requirements/.*\.(txt|in)|setup\.(py|cfg)|pyproject\.toml|Pipfile"
        r"|package\.json|go\.mod|Cargo\.toml|Gemfile|[^/]+\.gemspec|pom\.xml)$",
    ),
)
_SENSITIVE = 20  # points for a path the repository calls sensitive
_MOST_FOR_AREAS = 40

_SIZES = ((1000, 20), (500, 14), (200, 8), (50, 3))  # changed lines above → points
_SPREADS = ((50, 10), (20, 6), (10, 3))  # files above → points
_FINDINGS = {Severity.critical: (40, 60), Severity.error: (12, 30), Severity.warning: (2, 10)}  # each, at most

_SILENCING = 4  # points for comments that keep a tool from speaking

_TEST = re.compile(r"(^|/)(tests?|spec|__tests__)/|(^|/)(test_[^/]+|[^/]+_test|[^/]+[._-](test|spec))\.\w+$")
_SOURCE = re.compile(r"\.(py|js|jsx|ts|tsx|go|rs|java|kt|rb|php|cs|c|cc|cpp|h|hpp|swift|scala|sh)$")


def is_test(path: str) -> bool:
    """Whether a path looks like a test."""
    return _TEST.search(path) is not None


def level(score: int) -> RiskLevel:
    """CONTRACT: low 0–24, medium 25–49, high 50–74, critical 75–100."""
    for floor, name in ((75, RiskLevel.critical), (50, RiskLevel.high), (25, RiskLevel.medium)):
        if score >= floor:
            return name
    return RiskLevel.low


def assess(
    change: Change,
    findings: Sequence[RawFinding],
    author: Author = Author(),
    sensitive: Sequence[str] = (),
    silencing: int = 0,
) -> Risk:
    """The risk of a change.

    :param findings: what the layers found so far.
    :param sensitive: glob patterns of the repository's configuration (``paths.sensitive``).
    :param silencing: how many added lines hold a comment that keeps a tool from speaking.
    """
    parts = [
        *_size(change),
        *_areas(change.paths or [file.path for file in change.files], sensitive),
        *_from_findings(findings),
        *_tests(change.files),
        *_coverage(change),
        *_silencing(silencing),
        *_author(author),
    ]
    return _total(parts)


def reassess(risk: Risk, findings: Sequence[RawFinding]) -> Risk:
    """The risk of the same change with other findings."""
    kept = [part for part in risk.parts if not part.code.startswith("findings.")]
    return _total([*kept, *_from_findings(findings)])


def _total(parts: Sequence[RiskPart]) -> Risk:
    score = min(100, sum(part.points for part in parts))
    return Risk(score=score, level=level(score), parts=tuple(sorted(parts, key=lambda part: -part.points)))


def _size(change: Change) -> list[RiskPart]:
    lines = change.additions + change.deletions
    points = next((points for above, points in _SIZES if lines > above), 0)
    spread = next((points for above, points in _SPREADS if change.total_files > above), 0)
    return [
        *([RiskPart(code="size", points=points, text=f"{lines:,} changed lines")] if points else []),
        *([RiskPart(code="spread", points=spread, text=f"{change.total_files:,} files")] if spread else []),
    ]


def _areas(changed: Sequence[str], sensitive: Sequence[str]) -> list[RiskPart]:
    parts: list[RiskPart] = []
    left = _MOST_FOR_AREAS
    marked = [path for path in changed if matches(path, sensitive)]
    hits = [(_SENSITIVE, "sensitive", "Touches paths this repository calls sensitive", marked)]
    for area in _AREAS:
        paths = [path for path in changed if area.pattern.search(path) and not is_test(path)]
        hits.append((area.points, area.code, area.text, paths))
    for points, code, text, paths in hits:
        if paths:  # named also where the most that areas may count is reached
            counted = min(points, left)
            parts.append(RiskPart(code=f"area.{code}", points=counted, text=f"{text}: {_named(paths)}"))
            left -= counted
    return parts


def _from_findings(findings: Sequence[RawFinding]) -> list[RiskPart]:
    parts: list[RiskPart] = []
    for severity, (each, most) in _FINDINGS.items():
        count = sum(finding.severity is severity for finding in findings)
        if count:
            noun = "finding" if count == 1 else "findings"
            parts.append(
                RiskPart(
                    code=f"findings.{severity.value}",
                    points=min(each * count, most),
                    text=f"{count} {noun} of severity {severity.value}",
                )
            )
    return parts


def _tests(files: Sequence[FileChange]) -> list[RiskPart]:
    parts: list[RiskPart] = []
    added = sum(file.additions for file in files if _SOURCE.search(file.path) and not is_test(file.path))
    tested = any(is_test(file.path) and file.status is not ChangeStatus.deleted for file in files)
    if added > 30 and not tested:
        parts.append(RiskPart(code="tests.none", points=8, text=f"{added} new lines of source and no test changed"))
    gone = [
        file.path
        for file in files
        if is_test(file.path) and file.status is ChangeStatus.deleted and not file.path.endswith("/__init__.py")
    ]
    if gone:
        parts.append(RiskPart(code="tests.deleted", points=10, text=f"Deletes tests: {_named(gone)}"))
    return parts


def _coverage(change: Change) -> list[RiskPart]:
    unseen = [entry for entry in change.not_looked_at if entry.matters]
    if not unseen:
        return []
    return [
        RiskPart(code="unseen", points=25, text=f"Source that was not looked at: {_named([e.path for e in unseen])}")
    ]


def _silencing(lines: int) -> list[RiskPart]:
    if not lines:
        return []
    noun = "line" if lines == 1 else "lines"
    return [RiskPart(code="silencing", points=_SILENCING, text=f"Silences checks on {lines:,} {noun}")]


def _author(author: Author) -> list[RiskPart]:
    if author.first_time:
        return [RiskPart(code="author.first_time", points=8, text="First contribution of this author")]
    if author.from_fork:
        return [RiskPart(code="author.fork", points=4, text="Comes from a fork")]
    return []


def _named(paths: Sequence[str]) -> str:
    shown = ", ".join(paths[:3])
    return shown if len(paths) <= 3 else f"{shown} and {len(paths) - 3} more"
