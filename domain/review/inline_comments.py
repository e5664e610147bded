"""Groups findings into inline comments: those of one rule, and those about the same lines."""

from collections.abc import Collection, Hashable, Sequence

from domain.review.findings import Finding, Layer, Severity

Remark = tuple[Finding, ...]
"""The findings of one comment, placed at the first one, which is the gravest."""

MOST_FIXABLE = 3  # comments of one rule that each have a suggestion to click on
MOST_TOPICS = 4  # of one comment
_MOST_SUGGESTED = 20_000  # characters of the suggestions in one comment, which GitHub limits to 65,536 in all


def group_remarks(findings: Sequence[Finding]) -> list[Remark]:
    """Groups findings into comments, in their order.

    Findings of one rule share a comment, except that the first few with a one-click fix get one each. Whatever stands
    on overlapping lines is one comment: tools and a model often say the same of them in other words.

    :param findings: the most severe first.
    """
    joined: list[Remark] = []
    for remark in _group_by_rule(findings):
        place = next((index for index, other in enumerate(joined) if _can_join(other, remark)), None)
        if place is None:
            joined.append(remark)
        else:
            joined[place] = (*joined[place], *remark)
    return joined


def split_topics(remark: Sequence[Finding], gone: Collection[str] = ()) -> list[Remark]:
    """What a comment says, in its order: the findings of one rule together, and each of a model with what repeats it.

    :param gone: names of those that are not there any more; what is left does not repeat them.
    """
    topics: dict[Hashable, list[Finding]] = {}
    repeated = find_repeated(remark, gone)
    for finding in remark:
        topics.setdefault(_get_topic(repeated.get(finding.id, finding)), []).append(finding)
    return [tuple(sorted(topic, key=lambda each: each.id in repeated)) for topic in topics.values()]


def find_repeated(findings: Sequence[Finding], gone: Collection[str] = ()) -> dict[str, Finding]:
    """Name of a tool's finding → the model's that says the same: on its lines, of its category, and no less grave.

    What has a suggestion to click on repeats nothing, nor does a credential.

    :param gone: names of those that are not there any more.
    """
    said = [each for each in findings if each.layer is Layer.model]
    tools = (each for each in findings if each.layer is not Layer.model and each.fix is None and not each.is_credential)
    pairs = ((tool, next((each for each in said if _repeats(tool, each, gone)), None)) for tool in tools)
    return {tool.id: finding for tool, finding in pairs if finding is not None}


def _repeats(tool: Finding, said: Finding, gone: Collection[str]) -> bool:
    if (tool.path, tool.category, tool.id in gone) != (said.path, said.category, said.id in gone):
        return False
    if tool.line is None or said.line is None or tool.severity.rank > said.severity.rank:
        return False
    return tool.line <= (said.end_line or said.line) and said.line <= (tool.end_line or tool.line)


def _get_topic(finding: Finding) -> Hashable:
    """What findings have in common that say the same; a model's rules are only headings."""
    return finding.fingerprint if finding.layer is Layer.model else (finding.rule, finding.severity)


def _can_join(remark: Remark, other: Remark) -> bool:
    """Whether another remark belongs into a comment: it stands on its lines, and would lose no suggestion there."""
    topics = {_get_topic(finding) for finding in remark}
    if remark[0].path != other[0].path or len(topics) == MOST_TOPICS or _get_topic(other[0]) in topics:
        return False
    (start, end), (other_start, other_end) = remark[0].comment_lines, other[0].comment_lines
    if len(other) == 1 and other[0].fix is not None:
        suggested = sum(len(each.fix.replacement) for each in (*remark, *other) if each.fix is not None)
        return (start, end) == (other_start, other_end) and suggested <= _MOST_SUGGESTED
    return start <= other_end and other_start <= end


def _group_by_rule(findings: Sequence[Finding]) -> list[Remark]:
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
