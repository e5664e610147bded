"""Limits how many findings a review weighs: keeps the most severe of each file and tool, and counts the rest."""

from collections import Counter
from collections.abc import Mapping, Sequence

from domain.review.findings import Finding, Layer, Severity

PER_FILE = 200  # of one tool
PER_TOOL = 400
PER_REVIEW = 500


def limit_findings(
    findings: Sequence[Finding], *, per_file: int = PER_FILE, per_tool: int = PER_TOOL, per_review: int = PER_REVIEW
) -> tuple[tuple[Finding, ...], Mapping[Layer, int]]:
    """The kept findings, and the number of dropped ones by layer.

    A file or tool can push out another one's findings only with more severe ones. Dropped findings of severity ``info``
    are not counted, because they never affect the decision.

    :param findings: the most severe first.
    """
    kept: list[Finding] = []
    cut: Counter[Layer] = Counter()
    of_file: Counter[tuple[str, str]] = Counter()
    of_tool: Counter[str] = Counter()
    for finding in findings:
        tool = finding.rule.partition("/")[0]
        if of_file[tool, finding.path] < per_file and of_tool[tool] < per_tool and len(kept) < per_review:
            of_file[tool, finding.path] += 1
            of_tool[tool] += 1
            kept.append(finding)
        else:
            cut[finding.layer] += finding.severity is not Severity.info
    return tuple(kept), cut
