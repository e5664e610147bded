"""Every text about what people say of findings, by a command or in words: dismissed, disputed or confirmed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.gates import STANDARD_GATES
from domain.review.avoidance import INSTEAD, LEGITIMATE, RULE, TITLES, AvoidanceKind, DetectorRecord
from domain.review.changes import FileChange
from domain.review.feedback import SCOPE_TIME, DismissalScope, FindingFeedback, Lapse, Word
from domain.review.findings import Finding
from domain.slash import LONGEST_TEXT
from domain.text.escaping import escape, format_day, inline_code, inline_path, name_count
from domain.verbs import Verb, find_role
from messages.changes import render_diff
from messages.commands import explain_doubt, mention_memories, name_findings
from safety.authorization import CommandRefusal, RefusalCode
from safety.gate_requests import OVERRULING_ROLE
from safety.gates import find_role_to_dismiss

_LONGEST = 1_200  # characters of what a model says
_LAPSES = {Lapse.time: "its time is over", Lapse.version: "its detector works differently now"}
_SAID = {
    Word.dismissed: "said that it is wrong",
    Word.disputed: "says that it is wrong",
    Word.confirmed: "said that it is right",
}
_WAIVED = " It is your own change: you may, because nobody else here has the role, and the audit says that it was you."
_MOST_LINES = 20


@dataclass(frozen=True)
class DetectorHistory:
    """What a detector found in a repository, and what became of it.

    :param record: in all of the repository, for as long as it counts.
    :param said: about its findings in the same file or in all files, oldest first.
    """

    finding: Finding
    record: DetectorRecord
    said: Sequence[FindingFeedback]


# --- what is added to a finding -----------------------------------------------------------------------------------


def describe_feedback(said: FindingFeedback) -> str:
    """Who said what about a finding, plain text."""
    return f"{said.by} {_SAID[said.word]}: {said.reason}"


def describe_scope(said: FindingFeedback) -> str:
    """Why a finding passes, plain text."""
    where = "this file" if said.scope is DismissalScope.file else "this repository"
    return f"{said.by} let such findings in {where} pass until {format_day(said.until or said.at)}: {said.reason}"


def describe_lapse(said: FindingFeedback, why: Lapse) -> str:
    """Why a finding does not pass any more, plain text."""
    return f"{said.by} let such findings pass on {format_day(said.at)}, which no longer holds: {_LAPSES[why]}"


# --- answers to commands ------------------------------------------------------------------------------------------


def confirm_dismissal(
    found: Sequence[Finding],
    reason: str,
    taught: Mapping[str, Finding] | None = None,
    *,
    scope: DismissalScope | None = None,
    is_waived: bool = False,
) -> str:
    """The receipt for ``dismiss``, of one finding or of all in a comment.

    :param taught: see :func:`messages.memory.describe_learned`.
    :param is_waived: by the author, because nobody else is left who may.
    """
    one, first = len(found) == 1, found[0]
    if not first.rule.startswith(RULE):
        effect = (
            f"Forge does not raise {'it' if one else 'them'} again here, nor where the same rule meets the same code."
        )
    elif scope is None:
        effect = (
            f"{'It counts' if one else 'They count'} no more in this pull request, and what found "
            f"{'it' if one else 'them'} is believed less here for 90 days."
        )
    else:
        where = inline_path(first.path) if scope is DismissalScope.file else "this repository"
        effect = (
            f"Findings of {inline_code(first.rule)} in {where} pass for {SCOPE_TIME.days} days, in changes of people, "
            "and are listed in the check with your reason. It ends earlier if the file goes or the detector changes."
        )
    return (
        f"{name_findings(found)} {'is' if one else 'are'} dismissed: {escape(reason.rstrip('.'), LONGEST_TEXT)}. "
        f"{effect} {mention_memories(taught or {})}{_undo(found)}{_WAIVED if is_waived else ''}"
    )


def confirm_confirmation(found: Sequence[Finding]) -> str:
    """The receipt for ``confirm``."""
    return (
        f"{name_findings(found)} {'is' if len(found) == 1 else 'are'} confirmed: the check fails until that is mended, "
        f"and what found it is believed more here. {_undo(found)}"
    )


def confirm_dispute(found: Sequence[Finding]) -> str:
    """For who may not dismiss and says that it is wrong."""
    return (
        f"Your reason is kept with {_names(found)}. You cannot decide it yourself, so `false_positive` asks the "
        f"others with the role {STANDARD_GATES['false_positive'].role}."
    )


def nothing_to_dispute(found: Sequence[Finding]) -> str:
    """For who may not dismiss what nobody is asked about."""
    one = len(found) == 1
    return (
        f"{_names(found)} {'blocks' if one else 'block'} nothing, so nobody is asked. Somebody else with the role "
        f"{find_role(Verb.dismiss)} can dismiss {'it' if one else 'them'}."
    )


def nothing_left_to_dispute(found: Sequence[Finding]) -> str:
    """For who says that something is wrong which passes as it is."""
    return f"`destructive` was approved with {_names(found)}, so nobody is asked about it again."


def nothing_to_confirm(finding: Finding) -> str:
    """For ``confirm`` of a finding that counts anyway."""
    return (
        f"{finding.id} counts as it is: `/forge confirm` is for findings that a problem was avoided instead of solved."
    )


def refuse_scope_of(finding: Finding) -> str:
    """For a scope where a dismissal has none."""
    return (
        f"Nothing was dismissed: {finding.id} can be dismissed alone (`/forge dismiss {finding.id} reason`). What "
        "linters report in files or as a rule, their own configuration and `.github/forge.yml` switch off."
    )


def refuse_scope(needed: str, held: str) -> str:
    """For the scope of the whole repository, by somebody with a lower role."""
    return (
        f"Refused: letting such findings pass in the whole repository needs the role {needed}; you have "
        f"{escape(held)}. `file:` instead of `repository:` works."
    )


def refuse_to_overrule(finding: Finding, said: FindingFeedback) -> str:
    """For who would take back what somebody else said against the change."""
    return (
        f"Refused: about {finding.id}, {escape(describe_feedback(said), 400)}. Taking that back is for "
        f"{inline_code(said.by)}, or for somebody with the role {OVERRULING_ROLE}, and not for the author of "
        "the change."
    )


def not_there(finding: Finding) -> str:
    """For ``confirm`` of what the newest head does not have any more."""
    return f"The newest head that was reviewed does not have {finding.id} any more, so there is nothing to confirm."


LOOK_AGAIN = "The last run is over, so the check stays as it is until `/forge review full` or a push."
"""For what is said after the run is over, which nothing looks at before the next one."""


def _undo(found: Sequence[Finding]) -> str:
    if len(found) == 1:
        return f"`/forge undismiss {found[0].id}` undoes this."
    return "`/forge undismiss F-ID` undoes one of them."


# --- looking at findings ------------------------------------------------------------------------------------------


def render_places(found: Sequence[Finding], files: Sequence[FileChange], head_sha: str) -> str:
    """Answers ``diff`` about findings: their places before and after."""
    rows = [f"- {each.id} {inline_path(each.where)}: {escape(each.message, 300)}" for each in found[:_MOST_LINES]]
    more = [f"- and {len(found) - len(rows)} more"] if len(found) > len(rows) else []
    head = f"Before and after, at {inline_code(head_sha[:7])}:"
    return "\n\n".join([head, "\n".join([*rows, *more]), _cut_diff(files)])


def render_fix(told: str, files: Sequence[FileChange]) -> str:
    """Answers ``diff`` about a finding that a commit on the branch fixed.

    :param told: which commit, and what it fixes, as a clause.
    """
    return f"{told}:\n\n{_cut_diff(files)}"


def _cut_diff(files: Sequence[FileChange]) -> str:
    block, rest = render_diff(files)
    return block + (f"\n\n{rest} more lines are left out; see *Files changed*." if rest else "")


def nothing_to_compare(found: Sequence[Finding]) -> str:
    """For findings whose places the present head does not have any more."""
    return f"{_names(found)}: the present head changes none of these files, so there is nothing to compare."


def no_places(gate: str) -> str:
    """For a gate that is about no findings."""
    return f"{inline_code(gate)} is about no findings in the change. `/forge view {gate}` shows what it is about."


def no_history(finding: Finding) -> str:
    """For ``history`` of a finding whose detector has no record of its own."""
    return f"`/forge why {finding.id}` shows what led to it, and what dismissals make of it."


def render_history(history: DetectorHistory) -> str:
    """Answers ``history`` about a finding."""
    finding, record = history.finding, history.record
    kind = inline_code(finding.rule)
    counted = (
        f"In 90 days {kind} found {name_count(record.found, 'place')} in this repository. People called "
        f"{record.dismissed} of them wrong and {record.confirmed} right, so it is believed at {record.reliability:.0%} "
        "of what it states."
    )
    said = [
        f"- {format_day(each.at)} #{each.number} {each.name}: {escape(_describe_past(each), 400)}"
        for each in history.said[-_MOST_LINES:]
    ]
    path = inline_path(finding.path)
    if not said:
        return f"{counted}\n\nNobody said anything about {kind} in {path} so far."
    return "\n\n".join([counted, f"In {path}, or everywhere:", "\n".join(said)])


def suggest_alternatives(found: Sequence[Finding]) -> str:
    """Answers ``suggest``: what could be done instead, by kind, and what would make it legitimate."""
    rows = [
        f"| {escape(TITLES[kind])} | {_where(found, kind)} | {INSTEAD.get(kind, 'fix the cause')} | "
        f"{LEGITIMATE[kind]} |"
        for kind in AvoidanceKind
        if any(each.rule == kind.rule for each in found)
    ]
    head = ["| what is done | where | instead | or |", "| --- | --- | --- | --- |"]
    return "\n".join(["What could be done instead:", "", *head, *rows])


def suggest_nothing(gate: str, options: Sequence[str]) -> str:
    """For a gate that is about no action for which there are alternatives."""
    answers = ", ".join(map(inline_code, options))
    return f"{inline_code(gate)} is about nothing that could be done in another way. Its answers: {answers}."


def _describe_past(said: FindingFeedback) -> str:
    if said.scope is None or said.until is None:
        return describe_feedback(said)
    where = "the file" if said.scope is DismissalScope.file else "the repository"
    return f"{describe_feedback(said)} (such findings in {where} pass until {format_day(said.until)})"


def _where(found: Sequence[Finding], kind: AvoidanceKind) -> str:
    places = [inline_path(each.where) for each in found if each.rule == kind.rule]
    more = f" and {len(places) - 5} more" if len(places) > 5 else ""
    return ", ".join(places[:5]) + more


def _names(found: Sequence[Finding]) -> str:
    return ", ".join(each.id for each in found)


# --- answers in the thread of a finding --------------------------------------------------------------------------

READ_AGAIN = "Each push is reviewed by itself. `/forge review full` has all of it read again, from scratch."
"""Somebody asks in words to have all of it looked at again."""


def render_answer(told: str) -> str:
    """The answer to a question."""
    return escape(told, _LONGEST)


def confirm_read_dismissal(receipt: str) -> str:
    """The receipt of a dismissal that was said in a person's own words."""
    return f"Read as a dismissal. {receipt}"


def judge_argument(finding: Finding, why: str, line: int | None, *, is_right: bool) -> str:
    """What the code says of a person's reason against a finding.

    :param why: in the model's words; :param line: of the finding's file, that decides it.
    """
    head = "You are right" if is_right else f"**{finding.id}** stands"
    place = "" if line is None else f" ({inline_path(f'{finding.path}:{line}')})"
    return f"{head}: {escape(why, _LONGEST).rstrip('.')}{place}."


def ask_for_command(finding: Finding, judged: str = "") -> str:
    """Somebody who may dismiss it disagrees with a finding that blocks: a model's reading of words lifts none.

    :param judged: what the code says of their reason; empty if nobody looked.
    """
    then = f"**{finding.id}** blocks, so only a command dismisses it: `/forge dismiss {finding.id} reason`."
    return f"{judged or 'Noted.'} {then}"


def ask_about_dismissal(finding: Finding) -> str:
    """Somebody who may dismiss it seems to disagree."""
    return (
        f"If **{finding.id}** is wrong or not wanted here, `/forge dismiss {finding.id} reason` dismisses "
        "it, and Forge does not raise it again."
    )


def point_to_commands(name: str = "F-ID", *, on_issue: bool = False) -> str:
    """Somebody asks in words for something to be done.

    :param name: of the finding they speak of.
    """
    some = f"`/forge fix {name}` fixes it in a commit, `/forge do INSTRUCTION` carries something out"
    if on_issue:
        some = "`/forge plan` plans this issue, `/forge run` carries it out"
    return (
        f"Words alone start nothing here, so that nothing starts by mistake. {some}; `/forge help` lists all commands."
    )


def confirm_hint(finding: Finding, refused: CommandRefusal | None = None, judged: str = "") -> str:
    """Somebody who may not dismiss it disagrees.

    :param refused: why they may not.
    :param judged: what the code says of their reason; empty if nobody looked.
    """
    noted = f"{judged} **{finding.id}** counts until" if judged else f"Noted as a hint: **{finding.id}** counts until"
    if refused is not None and refused.code is RefusalCode.second:
        return (
            f"{noted} it is dismissed. Dismissing it takes two people, because "
            f"{explain_doubt(refused)}, and words are no first answer: two with the role {refused.needed} write "
            f"`/forge dismiss {finding.id} reason`."
        )
    role = find_role_to_dismiss([finding])
    return (
        f"{noted} someone with the role {role} who did not open this pull request dismisses it with "
        f"`/forge dismiss {finding.id} reason`."
    )
