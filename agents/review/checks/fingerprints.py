"""Gives findings their fingerprints, and keeps one of several that say the same about a line."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from domain.review.anchors import Anchor
from domain.review.findings import (
    Category,
    Finding,
    Layer,
    RawFinding,
    compute_fingerprint,
    compute_location_key,
    compute_secondary_fingerprint,
)
from domain.review.identity import Statements


def add_fingerprints(findings: Sequence[RawFinding], lines: Mapping[str, Sequence[str]]) -> tuple[Finding, ...]:
    """The findings at head with their fingerprints.

    :param findings: all at head, including old ones: equal findings are numbered from the top of the file, and the
        numbers must not depend on which of them the change introduced.
    :param lines: path → lines at head.
    """
    seen: Counter[str] = Counter()
    named: dict[int, Finding] = {}
    known: dict[str, Statements] = {}
    for index, finding in sorted(enumerate(findings), key=lambda pair: (pair[1].path, pair[1].line or 0, pair[0])):
        text = lines.get(finding.path, ())
        first = compute_fingerprint(finding.rule, finding.path, text, finding.line, 0)
        mark = (
            first
            if not seen[first]
            else compute_fingerprint(finding.rule, finding.path, text, finding.line, seen[first])
        )
        seen[first] += 1
        is_said = finding.layer is Layer.model
        statements = known.setdefault(finding.path, Statements(text))
        own, around = statements.digest_lines(finding.line, finding.end_line)
        named[index] = Finding(
            **dict(finding),
            fingerprint=mark,
            trail=compute_secondary_fingerprint(finding.rule, finding.path, finding.message + finding.mark),
            place=compute_location_key(finding.category, finding.path, text, finding.line),
            spot=Anchor.of(finding.category, finding.message, text, finding.line) if is_said else None,
            statement=statements.digest(finding.line, finding.end_line),
            statement_lines=own,
            surroundings=around,
            statements_around=statements.list_around(finding.line),
        )
    return tuple(named[index] for index in range(len(findings)))


def drop_repetitions(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Keeps one of several findings about the same thing on the same line: the most severe and most certain."""
    best: dict[tuple[str, int | None, str], Finding] = {}
    for finding in findings:
        key = (finding.path, finding.line, _topic(finding))
        known = best.get(key)
        if known is None or _weight(finding) > _weight(known):
            best[key] = finding
    return tuple(finding for finding in findings if best[finding.path, finding.line, _topic(finding)] is finding)


def _topic(finding: Finding) -> str:
    """What a finding is about; distinct for findings that do not repeat each other."""
    tool, _, code = finding.rule.partition("/")
    number = re.fullmatch(r"[SB](\d{3})", code)
    if tool == "secret" or finding.rule == "docker/secret-in-image":
        return "credential"
    if tool in ("ruff", "bandit") and number and finding.category is Category.security:
        # flake8-bandit, which ruff implements, took its numbers from bandit.
        return "credential" if number[1] in ("105", "106", "107") else f"bandit/{number[1]}"
    return f"{finding.rule}: {finding.message}"


def _weight(finding: Finding) -> tuple[bool, int, float, int]:
    """Ranks repetitions. A ``secret/`` finding wins, because Forge follows it into the history."""
    return finding.is_credential, finding.severity.rank, finding.confidence, finding.layer
