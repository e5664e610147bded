"""How a commented finding disappeared without a dismissal."""

from enum import StrEnum

from domain.review.findings import Finding


class Uptake(StrEnum):
    """How a commented finding disappeared."""

    applied = "applied"  # its suggestion was applied
    otherwise = "otherwise"  # it had a suggestion, but was fixed otherwise
    fixed = "fixed"  # it had none


def classify_uptake(finding: Finding, content: str) -> Uptake:
    """Classifies how a finding disappeared.

    :param content: of its file now; empty if the file is gone.
    """
    if finding.fix is None:
        return Uptake.fixed
    replacement = [line.strip() for line in finding.fix.replacement.split("\n") if line.strip()]
    lines = [line.strip() for line in content.split("\n") if line.strip()]
    starts = range(len(lines) - len(replacement) + 1)
    stands = any(lines[start : start + len(replacement)] == replacement for start in starts)
    return Uptake.applied if stands else Uptake.otherwise
