"""Groups findings of one rule into inline comments."""

from collections.abc import Sequence

from domain.review.findings import Finding, Layer, Severity

Remark = tuple[Finding, ...]
"""The findings of one comment, placed at the first one."""

MOST_FIXABLE = 3  # comments of one rule that each have a suggestion to click on


def group_remarks(findings: Sequence[Finding]) -> list[Remark]:
    """Groups findings into comments, in their order.

    The first few findings of a rule with a one-click fix get a comment each. All others of
    the rule share one. A model's findings never share a comment, since its rules are only topics.

    :param findings: the most severe first.
    """
    placed: list[list[Finding]] = []
    shared: dict[tuple[str, Severity], list[Finding]] = {}
    fixable: dict[str, int] = {}
    for finding in findings:
        key = finding.rule, finding.severity
        is_alone = finding.layer is Layer.model
        if finding.fix is not None and not is_alone:
            fixable[finding.rule] = fixable.get(finding.rule, 0) + 1
            is_alone = fixable[finding.rule] <= MOST_FIXABLE
        if not is_alone and key in shared:
            shared[key].append(finding)
            continue
        placed.append([finding])
        if not is_alone:
            shared[key] = placed[-1]
    return [tuple(group) for group in placed]
