"""The open findings of a review as one list that a person can hand to a coding agent: id, place, problem, test."""

from collections.abc import Sequence

from domain.paths import escape_unprintable
from domain.review.findings import Finding
from domain.text.escaping import code_block, strip_invisible
from domain.text.redaction import redact_outgoing
from messages.proofs import find_shown_test

_MOST, _LONGEST, _MOST_TEXT = 40, 1_500, 20_000  # findings; characters of a message and of the list
_TASK = "Fix each of these at its cause, and keep all other behaviour."


def render_worklist(findings: Sequence[Finding]) -> str:
    """The list, folded; empty without findings. It belongs where every push writes anew, so that its lines are right.

    :param findings: the gravest first.
    """
    entries: list[str] = []
    for finding in findings[:_MOST]:
        entry = _render_entry(finding)
        if sum(map(len, entries)) + len(entry) > _MOST_TEXT:
            break
        entries.append(entry)
    if not entries:
        return ""
    left = len(findings) - len(entries)
    rest = [f"{left} more: see the check of the next head."] if left else []
    wish = code_block("\n\n".join([_TASK, *entries, *rest]))
    return f"<details><summary>For your coding agent</summary>\n\n{wish}\n\n</details>"


def _render_entry(finding: Finding) -> str:
    message = strip_invisible(redact_outgoing(finding.message[:_LONGEST])).strip()
    told = f"{finding.id} {escape_unprintable(finding.where)} ({finding.severity.value}): {message}"
    test = find_shown_test(finding)
    if test is None:
        return told
    shown = strip_invisible(test.text).strip()
    path = escape_unprintable(test.path)
    return f"{told}\nThis test fails now and has to pass. Add it as {path}:\n\n{shown}"
