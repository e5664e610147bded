"""Every text Forge writes on GitHub about a review, in one place: short, what, why, what to do next."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from domain.errors import ForgeError
from domain.paths import is_source, is_test
from domain.review.findings import Finding, Severity
from domain.review.review import Decision, Review, find_repeated
from domain.runs.run import REVIEW_CHECK, ReasonCode
from domain.text.escaping import escape, inline_code, inline_path, name_count
from domain.verbs import Verb, find_role
from domain.verdicts import Reason
from messages.earlier_tests import render_section, render_under_way
from messages.inline_comments import ICONS, link_rule
from messages.proofs import note_proof
from messages.review_details import render_details, render_locks, render_worklist
from safety.gates import find_role_to_review
from safety.review_decision import BLOCKING

CHECK_NAME = REVIEW_CHECK
SHOWN_IN_SUMMARY = 40  # findings in the summary's table; the rest is in the details
SHOWN_IN_DETAILS = 400
_MOST_CHILDREN = 20  # of a reason that are shown
_OUTCOME = re.compile(r"\A\*\*.*?\.\*\*")


@dataclass(frozen=True)
class CheckText:
    """What a check run says: its title, its summary and its details, the latter two in Markdown."""

    title: str
    summary: str
    text: str = ""


QUEUED = CheckText("Waiting to be reviewed", "The review starts as soon as a worker is free.")


def render_progress(doing: str) -> CheckText:
    return CheckText(doing, f"{doing}. Forge updates this check as the review proceeds.")


def render_earlier_tests(review: Review, posted: Sequence[Finding], posted_before: int, doing: str) -> CheckText:
    """While the tests of before run on the code: the verdict so far.

    :param posted: the findings that have an inline comment.
    :param posted_before: how many findings an earlier review of this pull request already carries.
    :param doing: a few words of Forge's own.
    """
    so_far = f"**So far:** {_tell_so_far(review)}."
    table = _findings_table(review, {finding.id for finding in posted}, posted_before)
    parts = [render_under_way(doing), so_far, render_change(review), table]
    return CheckText("Running the tests of before on the new code", "\n\n".join(filter(None, parts)))


def render_paused(by: str) -> CheckText:
    return CheckText(
        "Paused",
        f"{inline_code(by)} paused Forge in this repository, so Forge did not review this head.\n\n"
        "**Next:** an admin writes `/forge unpause`, then `/forge review`.",
    )


def explain_left_alone(by: str) -> str:
    """Why a pull request is not reviewed that somebody told Forge to leave alone."""
    return f"{inline_code(by)} told Forge to leave this pull request alone; `/forge unpause here` takes that back."


def render_excluded(reason: str, problem: str | None = None, *, is_required: bool = False) -> CheckText:
    """:param is_required: the base branch requires the check, so it does not pass unread."""
    asked = (
        "**Next:** a branch to which this could be merged requires the check: write `/forge review` to have it "
        f"reviewed (role {find_role(Verb.review)})."
    )
    parts = [reason, "Forge checked nothing on this head.", *([asked] if is_required else []), *_warning(problem)]
    return CheckText("Not reviewed", "\n\n".join(parts))


def render_merge_group(number: int, head_sha: str, review: Review | None, *, is_excluded: bool = False) -> CheckText:
    """For the temporary head of a merge queue."""
    if is_excluded:
        what = (
            f"Head {inline_code(head_sha[:7])} of pull request {number} is excluded from reviews here; see its check."
        )
        return CheckText("Not reviewed", what)
    if review is None:
        what = f"Head {inline_code(head_sha[:7])} of pull request {number} has no finished review."
        return CheckText("Not reviewed", f"{what} Take it out of the queue and let the review finish first.")
    return CheckText(
        name_outcome(review),
        f"The verdict of head {inline_code(head_sha[:7])} of pull request {number}; see its check.",
    )


def render_same_head(number: int, own: CheckText) -> CheckText:
    """For a check that would pass, while another pull request with the same head does not."""
    why = (
        f"#{number} has the same head, and its review has not passed. A check counts for every pull "
        "request with its head.\n\n**Next:** resolve that one first, then press **Review again** here."
    )
    return CheckText(f"Blocked by #{number}", f"{why}\n\n{own.summary}", own.text)


def render_over_quota(reason: str) -> CheckText:
    return CheckText(
        "Too many reviews",
        f"{escape(reason)}, so Forge did not review this head.\n\n"
        "**Next:** press **Review again** when you want it reviewed.",
    )


def render_cancelled(reason: ReasonCode) -> CheckText:
    """For a run that something else put an end to."""
    match reason:
        case ReasonCode.closed:
            return CheckText("Pull request closed", "The pull request was closed before the review finished.")
        case ReasonCode.access_lost:
            return CheckText("Ended", "Forge was uninstalled or suspended here before the review finished.")
        case ReasonCode.aborted:
            return CheckText(
                "Stopped", "A person stopped the review with `/forge cancel`. `/forge review full` starts a new one."
            )
        case ReasonCode.paused:
            return CheckText(
                "Paused", "A person paused Forge in this repository. `/forge unpause` lets the review continue."
            )
        case _:
            return CheckText("Superseded", "A newer head or a newer run of this pull request took over. See its check.")


def render_retargeted(base: str) -> CheckText:
    """For the check of a verdict on a merge into another branch than the one the pull request goes into now."""
    return CheckText(
        "The base changed",
        f"The pull request now targets {inline_code(base)}, so this verdict no "
        "longer applies. Another check has the "
        "verdict for the new base.",
    )


def render_failure(error: ForgeError, run_id: str) -> CheckText:
    """For a run that could not be finished. This is never an approval."""
    advice = escape(error.advice) or "Press **Review again**; if it happens again, ask the operator of Forge."
    return CheckText(
        "Forge could not finish the review",
        f"**What happened:** {escape(error.message)}\n\n**What to do:** {advice}\n\nRun {inline_code(run_id)}. "
        "Forge did not approve this head.",
    )


def render_outcome(
    review: Review,
    posted: Sequence[Finding],
    posted_before: int,
    problem: str | None = None,
    gates: str = "",
    *,
    has_server: bool = True,
    is_tested: bool = False,
    offer: str = "",
) -> CheckText:
    """The finished check run, or what stands in its place where no server could take an answer.

    :param posted: the findings that the pull-request review carries as inline comments.
    :param posted_before: how many findings an earlier review of this pull request already carries.
    :param problem: what is wrong with the repository's configuration.
    :param gates: the section on what people were asked.
    :param has_server: buttons and commands are there for the reader.
    :param is_tested: a check of this head shows what came of its tests.
    :param offer: the line about a branch that conflicts with its base.
    """
    inline = {finding.id for finding in posted}
    parts = [
        *_warning(problem),
        _verdict(review, has_server=has_server, is_tested=is_tested),
        f"**Only moved**, with the same content: {name_count(review.moved, 'file')}." if review.moved else "",
        offer,
        gates,
        render_change(review),
        render_locks(review.locks),
        _findings_table(review, inline, posted_before),
        render_section(review.earlier, review.dismissed),
        _in_history(review, has_server=has_server),
        render_details(review),
        render_worklist(review.findings),
    ]
    return CheckText(name_outcome(review), "\n\n".join(part for part in parts if part), _details(review))


def render_body(review: Review, posted: Sequence[Finding], posted_before: int, marker: str) -> str:
    """The body of the pull-request review."""
    others = len(review.findings) - len(posted) - posted_before
    lines = [f"**{tell_outcome(review)}.**", *filter(None, [tell_risk(review)])]
    if others > 0:
        lines.append(f"{name_count(others, 'more finding')} in the check `{CHECK_NAME}`.")
    if posted_before > 0:
        lines.append(f"{name_count(posted_before, 'finding')} from an earlier push already commented, not repeated.")
    return "\n\n".join(part for part in (" ".join(lines), render_change(review), marker) if part)


def tell_risk(review: Review) -> str:
    """The level of risk where it tells changes apart; nearly all others are of medium risk, which asks nobody."""
    return f"Risk {review.risk.level.value}." if review.risk.level.is_high else ""


def tell_outcome(review: Review) -> str:
    """The verdict as the body of a review tells it: without approval, as long as tests are still to be asked."""
    is_final = review.earlier is not None or not any(map(is_test, review.changed))
    return name_outcome(review) if is_final else _tell_so_far(review).capitalize()


def render_overtaken(body: str, head_sha: str) -> str:
    """The body of a review once a newer head has one: that it was overtaken is all that still holds of it."""
    marker = body[body.rfind("<!--") :] if "<!--" in body else ""
    told = f"**Overtaken by {inline_code(head_sha[:7])}: see the check `{CHECK_NAME}`.**"
    return "\n\n".join(filter(None, (told, marker)))


def replace_outcome(body: str, told: str) -> str:
    """The body of a review with another verdict.

    :param told: one line, in Markdown.
    """
    return _OUTCOME.sub(lambda _: f"**{told}.**", body, count=1)


def render_change(review: Review) -> str:
    """What the change does, and whether its issue asks for that, as a model tells it; nothing if none read it."""
    told = [escape(line, 300) for line in review.summary]
    parts = [f"**What it does:** {told[0]}"] if len(told) == 1 else []
    if len(told) > 1:
        parts.append("\n".join(["**What it does:**", "", *(f"- {line}" for line in told)]))
    if review.issue is not None:
        parts.append(f"**What #{review.issue.number} asks:** {escape(review.issue.told, 300)}")
    return "\n\n".join(parts)


def explain_unposted(error: ForgeError) -> str:
    """For the summary, when GitHub lets nobody comment, e.g. where the conversation is locked."""
    return f"Forge could not post the comments, so the findings are only here. {error}"


UNPLACED = "GitHub did not accept the position of a comment, so there are none."
"""For the check, when GitHub takes the review and not the places of its comments."""


def render_unplaced_body(review: Review, posted: Sequence[Finding], marker: str) -> str:
    """The body when GitHub refuses the positions of the comments: nothing is lost, it is listed instead."""
    listed = "\n".join(render_bullet(finding) for finding in posted)
    head = (
        f"**{name_outcome(review)}.** GitHub did not accept the position of a comment, so the findings are listed here."
    )
    return f"{head}\n\n{listed}\n\n{marker}"


def render_annotation(finding: Finding) -> tuple[str, str]:
    """Title and message of an annotation; GitHub shows them as plain text."""
    message = " ".join(finding.message.split())
    return f"{finding.severity.value.capitalize()}: {finding.rule} ({finding.id})"[:255], message[:4000]


def render_reasons(tree: Sequence[Reason], depth: int = 0) -> str:
    """A tree of reasons as a nested list."""
    lines: list[str] = []
    for reason in tree:
        lines.append(f"{'  ' * depth}- {escape(reason.text)}")
        if reason.children:
            lines.append(render_reasons(reason.children[:_MOST_CHILDREN], depth + 1))
        if len(reason.children) > _MOST_CHILDREN:
            lines.append(f"{'  ' * (depth + 1)}- and {len(reason.children) - _MOST_CHILDREN} more")
    return "\n".join(lines)


def _tell_so_far(review: Review) -> str:
    """The verdict without a word of approval, which nobody gave yet."""
    if review.decision in (Decision.approve, Decision.unread):
        return name_count(len(review.findings), "finding") if review.findings else "no findings"
    return name_outcome(review)


def _warning(problem: str | None) -> list[str]:
    return [] if problem is None else [f"⚠️ {escape(problem)}"]


def name_outcome(review: Review) -> str:
    blocking = sum(
        finding.severity.rank >= Severity.error.rank or finding.fingerprint in review.judged.confirmed
        for finding in review.findings
    )
    if review.decision is Decision.request_changes:
        return f"Changes requested: {name_count(blocking, 'finding')} to fix"
    if review.decision is Decision.require_human:
        return _human_title(review)
    found = name_count(len(review.findings), "finding")
    if review.decision is Decision.approve and any(reason.code == "gate.approved" for reason in review.reasons):
        return f"Approved by a person, with {found}" if review.findings else _BY_PERSON
    if review.unread.paths:
        nobody = f"no linter or model read {name_count(len(review.unread.paths), 'file')}"
        return f"{found if review.findings else 'Nothing found'}; {nobody}"
    if review.unread.logic:
        which = f" of {name_count(len(review.unread.logic), 'file')}" if review.read_by_model else ""
        nobody = f"no model read the logic{which}"
        if len(review.unread.gone) == len(review.unread.logic):
            nobody = "no model read why files of tests were deleted"
        return f"{found if review.findings else 'Linters found nothing'}; {nobody}"
    if not review.is_thought_over:  # nothing in it can change what the program does
        return f"{found}, none blocks" if review.findings else "No findings"
    return f"Approved, with {found}" if review.findings else "Approved: no findings"


_BY_PERSON = "Approved by a person: no other findings"


def _human_title(review: Review) -> str:
    codes = {reason.code for reason in review.reasons}
    if "gate.rejected" in codes:
        return "Rejected by a person"
    if "gate.expired" in codes:
        return "Expired: nobody answered in time"
    if codes & {"credential.history", "gate.waiting"} == {"credential.history"}:
        return "A credential is in the history: was it revoked?"
    is_own = codes & {"gate.own", "gate.waiting"} == {"gate.own"}
    return "Protected files wait for the approval of their author" if is_own else "Needs a human review"


def _verdict(review: Review, *, has_server: bool, is_tested: bool) -> str:
    codes = {reason.code for reason in review.reasons}
    without = None if has_server else next((text for code, text in _NEXT_ALONE.items() if code in codes), None)
    asked = review.decision is Decision.require_human
    todo = without if asked and without else _next(review, has_server=has_server, is_tested=is_tested)
    return f"{render_reasons(list(map(_drop_listed, review.reasons)))}\n\n**Next:** {todo}"


def _drop_listed(reason: Reason) -> Reason:
    """A reason without the findings that the table below lists."""
    return reason.model_copy(update={"children": ()}) if reason.code == BLOCKING else reason


_NEXT_ALONE = {
    "credential.history": "revoke the credential where it was issued, and have a person confirm that before a merge.",
    "tool.failed": "run the review again; if a tool keeps failing, what ran below says why.",
}
"""What to do about a reason where nobody can press a button or answer with a command."""
_NEXT = {
    "gate.rejected": "see the reason above. Push a commit to get a new review.",
    "gate.expired": "press **Review again** to ask again, or `/forge review full`.",
    "credential.history": (
        "revoke the credential where it was issued, then have a person confirm that as shown below."
    ),
    "tool.failed": "press **Review again**; if a tool keeps failing, ask the operator of Forge.",
    "findings.cut": (
        "fix the listed findings and push; Forge then lists the rest. Or have a person review this change."
    ),
    "layer.missing": "have a person review this change.",
    "gate.unasked": "wait a moment: Forge now asks the questions it postponed while findings blocked.",
    "gate.waiting": "someone with permission decides at the gate, with its buttons or a comment.",
    "gate.own": "press **Approve** at the check `Forge / gate: protected_paths`, or comment `/forge approve`.",
}
"""What to do about a reason, the first that applies."""


def _next(review: Review, *, has_server: bool, is_tested: bool) -> str:
    codes = {reason.code for reason in review.reasons}
    if review.decision is Decision.request_changes:
        return "fix the findings marked error or critical, and push."
    if todo := next((text for code, text in _NEXT.items() if code in codes), None):
        return todo
    if review.decision is Decision.require_human:
        return f"have a person with the role {find_role_to_review(review)} review this change."
    if review.decision is Decision.approve and "gate.approved" in codes:
        accepted = "; what was found is listed below, and stays as it is." if review.findings else "."
        return f"merge when you are ready{accepted}"
    if review.unread.paths or review.unread.logic:
        which = "the files named above" if review.unread.paths else "the change"
        tests = _tell_tests(review, has_server=has_server, is_tested=is_tested)
        return f"have a person read {which} before you merge.{tests}"
    if review.findings:
        return "read the findings; none of them blocks."
    return "nothing here. Merge once the other checks are green."


def _tell_tests(review: Review, *, has_server: bool, is_tested: bool) -> str:
    """That no test ran either, and how one would; or where it is said what came of them. Of code only."""
    if is_tested:
        return " What its tests say is in the check `Forge / test`."
    if not any(map(is_source, review.changed)):
        return ""
    if review.earlier is not None and (review.earlier.holding or review.earlier.tests):
        return ""
    is_tried = review.earlier is not None and bool(review.earlier.not_run)
    how = ": `/forge test` runs them" if has_server and not is_tried else ""
    lacks = f": {review.earlier.lacks}" if review.earlier is not None and review.earlier.lacks else ""
    return f" Forge ran no test{lacks or how}."


def _findings_table(review: Review, inline: set[str], posted_before: int) -> str:
    if not review.findings:
        return ""
    shown = review.findings[:SHOWN_IN_SUMMARY]
    table = _render_table([each for each in shown if not each.is_note], review, inline)
    notes = _render_table([each for each in shown if each.is_note], review, inline)
    folded = f"<details><summary>Notes, which ask for nothing</summary>\n\n{notes}\n\n</details>" if notes else ""
    left = len(review.findings) - len(shown)
    tail = [f"\n{name_count(left, 'more finding')} in the details below."] if left > 0 else []
    if posted_before:
        tail.append(f"\n{name_count(posted_before, 'finding')} already commented by an earlier review.")
    return "\n".join(["### Findings", *(f"\n{part}" for part in (table, folded) if part), *tail])


def _render_table(findings: Sequence[Finding], review: Review, inline: set[str]) -> str:
    repeated = find_repeated(findings)
    also = {each.id: [other for other in findings if repeated.get(other.id) == each] for each in findings}
    shown = [each for each in findings if each.id not in repeated]
    rows = [_row(each, each.id in inline, _find_note(each, review), also[each.id]) for each in shown]
    return "\n".join(["| | where | what | rule |", "| --- | --- | --- | --- |", *rows]) if rows else ""


def _in_history(review: Review, *, has_server: bool) -> str:
    """Credentials that a later push deleted."""
    if not review.in_history:
        return ""
    rows = [
        f"- {inline_path(f.where)} contained it ({link_rule(f)})."
        + (f" Once it is revoked: `/forge dismiss {f.id} revoked`" if has_server else "")
        for f in review.in_history[:20]
    ]
    left = len(review.in_history) - len(rows)
    intro = (
        "A credential was in an earlier commit. Deleting the line does not help, because the history keeps it: revoke "
        "it."
        + (
            f" Then someone else with the role {find_role(Verb.dismiss)} confirms that, or the author where "
            "nobody else has it."
            if has_server
            else ""
        )
    )
    return "\n".join(["### In the history", "", intro, "", *rows, *([f"- and {left} more"] if left > 0 else [])])


def _find_note(finding: Finding, review: Review) -> str:
    """What people said about a finding, or else what running a test did."""
    judged, mark = review.judged, finding.fingerprint
    said = judged.confirmed.get(mark) or judged.disputed.get(mark) or judged.lapsed.get(mark)
    return said or note_proof(finding)


def _row(finding: Finding, inline: bool, note: str, also: Sequence[Finding]) -> str:
    """:param note: plain text; :param also: what says the same."""
    where = inline_path(finding.where) + (" 💬" if inline else "")
    said = f"<br>{escape(note, 200)}" if note else ""
    what = f"{escape(finding.message, 160)} <sub>{finding.id}</sub>{said}"
    rules = ", ".join([link_rule(finding), *(f"also {link_rule(each)} <sub>{each.id}</sub>" for each in also)])
    return f"| {ICONS[finding.severity]} {finding.severity.value} | {where} | {what} | {rules} |"


def _details(review: Review) -> str:
    rest = review.findings[SHOWN_IN_SUMMARY:SHOWN_IN_DETAILS]
    if not rest:
        return ""
    left = len(review.findings) - SHOWN_IN_SUMMARY - len(rest)
    tail = [f"- and {left} more; `forge review` on a checkout lists them all"] if left > 0 else []
    alike: defaultdict[tuple[Severity, str, str], list[Finding]] = defaultdict(list)
    for each in rest:
        alike[each.severity, each.rule, each.message].append(each)
    return "\n".join(["### More findings", "", *map(_render_alike, alike.values()), *tail])


def _render_alike(findings: Sequence[Finding]) -> str:
    """What says the same, in one line with all its places."""
    if len(findings) == 1:
        return render_bullet(findings[0])
    first, places = findings[0], ", ".join(f"{inline_path(each.where)} {each.id}" for each in findings)
    return f"- {ICONS[first.severity]} {escape(first.message, 200)} ({link_rule(first)}): {places}"


def render_bullet(finding: Finding) -> str:
    message = escape(finding.message, 200)
    return f"- {ICONS[finding.severity]} {inline_path(finding.where)} {message} ({link_rule(finding)}, {finding.id})"
