"""What people say without words: what became of a finding that they did not dismiss."""

from enum import StrEnum

from domain.review.findings import Finding


class Uptake(StrEnum):
    """How a finding that had a comment came to be gone."""

    applied = "applied"  # its suggestion stands in the code
    otherwise = "otherwise"  # it had a suggestion, and something else was done
    fixed = "fixed"  # it had none


def classify_uptake(finding: Finding, content: str) -> Uptake:
    """How a finding was taken up.

    :param content: of its file, as it is now; empty if it is gone.
    """
    if finding.fix is None:
        return Uptake.fixed
    wanted = [line.strip() for line in finding.fix.replacement.split("\n") if line.strip()]
    lines = [line.strip() for line in content.split("\n") if line.strip()]
    starts = range(len(lines) - len(wanted) + 1)
    stands = any(lines[start : start + len(wanted)] == wanted for start in starts)
    return Uptake.applied if stands else Uptake.otherwise
