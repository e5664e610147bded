"""The text of inline comments: a finding, several of one rule, or all that is said of the same lines."""

import re
from collections.abc import Collection, Sequence

from domain.review.findings import Finding, Severity
from domain.review.review import Remark, split_topics
from domain.runs.run import REVIEW_CHECK
from domain.text.escaping import escape, inline_code, inline_path, link, suggestion_block
from messages.proofs import render_proof
from safety.gates import find_role_to_dismiss

ICONS = {Severity.critical: "⛔", Severity.error: "🔴", Severity.warning: "🟡", Severity.info: "🔵"}
OUTDATED = "**No longer applies**"
SHOWN_IN_COMMENT = 30  # places that one comment lists
_LINES = re.compile(r":\d+(?:-\d+)?(?=`)")
_GONE_HERE = " *(no longer here)*"


def render_comment(remark: Sequence[Finding], gone: Collection[str] = (), *, has_server: bool = True) -> str:
    """An inline comment: of one finding, with a one-click suggestion where a fix is known, or of several.

    Those of one rule are listed, and what else is said of the same lines follows, the gravest first.

    :param remark: the first is where the comment stands.
    :param gone: names of those that are not there any more.
    :param has_server: somebody takes an answer to it.
    """
    is_one = len(remark) == 1
    topics = split_topics(remark, gone)
    lines = {topic[0].line for topic in topics if topic[0].id not in gone}
    shown = [_render_topic(topic, () if is_one else gone, named=len(lines) > 1) for topic in topics]
    way = f" · {_explain_dismissal(remark)}" if has_server else ""
    return "\n\n---\n\n".join(shown).removesuffix("</sub>") + f"{way}</sub>"


def _explain_dismissal(remark: Sequence[Finding]) -> str:
    role, one = find_role_to_dismiss(remark), "" if len(remark) == 1 else " (with an F-ID: only that one)"
    who = f"Someone else with the role {role} (you, if nobody else has it)"
    return f"Not a problem? {who} replies `/forge dismiss` and why{one}"


def _render_topic(topic: Remark, gone: Collection[str], *, named: bool) -> str:
    """What a comment says of one rule.

    :param named: say the line, because the comment is about several.
    """
    own, same = topic[0], [each for each in topic[1:] if each.layer is not topic[0].layer]
    others = [each for each in topic[1:] if each not in same]
    kind = [f"{ICONS[own.severity]} **{own.severity.value.capitalize()}**", own.category.value]
    kind += [inline_path(own.where)] if named else []
    kind += [f"{1 + len(others)} places"] if others else []
    fix = None if others or own.id in gone else own.fix
    parts = [
        " · ".join(kind),
        escape(own.message, 1500, is_cell=False) + (_GONE_HERE if own.id in gone else ""),
        "" if own.id in gone else render_proof(own),
        "" if fix is None else suggestion_block(fix.replacement),
        _elsewhere((own, *others), gone) if others else "",
        f"<sub>{own.id} · {link_rule(own)}</sub>",
        *(f"<sub>{each.id} · also {link_rule(each)}</sub>" for each in same),
    ]
    return "\n\n".join(part for part in parts if part)


def render_outdated(remark: Sequence[Finding], head_sha: str, passing: Collection[str] = ()) -> str:
    """What becomes of an inline comment when nothing of it is there any more: nothing in it can be applied.

    :param passing: names of findings whose test, which showed them, passes now.
    """
    names = ", ".join(finding.id for finding in remark[:SHOWN_IN_COMMENT])
    more = f" and {len(remark) - SHOWN_IN_COMMENT} more" if len(remark) > SHOWN_IN_COMMENT else ""
    rules = ", ".join(dict.fromkeys(link_rule(topic[0]) for topic in split_topics(remark)))
    what = f"{escape(remark[0].message, 300, is_cell=False)}\n\n<sub>{names}{more} · {rules}</sub>"
    shown = [finding.id for finding in remark if finding.id in passing][:SHOWN_IN_COMMENT]
    sha = inline_code(head_sha[:7])
    why = f": the test that showed {', '.join(shown)} passes on {sha}" if shown else f" ({sha})"
    return f"{OUTDATED}{why}.\n\n{what}"


def sort_as_listed(remark: Remark, body: str) -> Remark:
    """The findings of a comment in the order in which it says them: it stands at the first, wherever that moved.

    :param body: what the comment says now.
    """

    def order(finding: Finding) -> tuple[bool, int]:
        at = body.find(finding.id)
        return f"<sub>{finding.id}" not in body, at if at >= 0 else len(body)

    return tuple(sorted(remark, key=order))


def strip_line_numbers(body: str) -> list[str]:
    """The words of a comment without the lines of its places, which every push may move."""
    return _LINES.sub("", body).split()


def _elsewhere(remark: Sequence[Finding], gone: Collection[str]) -> str:
    """The places of a comment beside its own, each with what differs there."""
    rows = [
        f"- {inline_path(each.where)} {each.id}{_difference(each, remark[0])}{_GONE_HERE if each.id in gone else ''}"
        for each in remark[1:SHOWN_IN_COMMENT]
    ]
    left = len(remark) - 1 - len(rows)
    more = [f"- and {left} more, listed in the check `{REVIEW_CHECK}`"] if left > 0 else []
    return "\n".join(["Also here:", "", *rows, *more])


def _difference(finding: Finding, first: Finding) -> str:
    """The first sentence, where it is another: the rest of it says the same of each."""
    return "" if finding.message == first.message else f": {escape(finding.message.partition('. ')[0], 160)}"


def link_rule(finding: Finding) -> str:
    """Its rule, as a link to what is known of it."""
    return link(finding.rule, finding.help_url) if finding.help_url else inline_code(finding.rule)
