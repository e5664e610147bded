"""Decides which findings one inline comment carries: those of one rule together, so that it is said once."""

from collections.abc import Sequence

from domain.review.findings import Finding, Layer, Severity

Remark = tuple[Finding, ...]
"""The findings of one comment, which stands at the first of them."""

MOST_FIXABLE = 3  # comments of one rule that each have a suggestion to click on


def group_remarks(findings: Sequence[Finding]) -> list[Remark]:
    """The comments that say these findings, in their order.

    The first few of a rule that can be fixed by a click have a comment each: that is done at its place. All others of
    the rule share one. What a model says is never shared: its rules are topics, and each of its findings is its own.

    :param findings: the gravest first.
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
