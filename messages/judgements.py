"""Every text about what people say of findings of giving up: that they are right, false alarms, or may pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from domain.review.avoidance import INSTEAD, LEGITIMATE, TITLES, AvoidanceKind, DetectorRecord
from domain.review.changes import FileChange
from domain.review.findings import Finding
from domain.review.judgements import FindingJudgement, JudgementKind, Lapse, Whitelisting
from domain.text.escaping import escape, inline_code, inline_path
from messages.changes import render_diff

_LAPSES = {
    Lapse.time: "its time is over",
    Lapse.file: "its file was gone in between",
    Lapse.version: "its detector works differently now",
    Lapse.undone: "it was taken back",
}
_SAID = {
    JudgementKind.reported: "says that it is a false alarm",
    JudgementKind.needs_review: "wants it to be looked at",
    JudgementKind.legitimate: "said that it is a false alarm",
    JudgementKind.violation: "said that it is right",
}
_MOST_LINES = 20


@dataclass(frozen=True)
class DetectorHistory:
    """What a detector found in a repository, and what became of it.

    :param record: in all of the repository, for as long as it counts.
    :param here: what was said about its findings in the same file, oldest first.
    :param whitelists: of this detector, also those that ended.
    """

    finding: Finding
    record: DetectorRecord
    here: Sequence[FindingJudgement]
    whitelists: Sequence[Whitelisting]


# --- what is added to a finding -----------------------------------------------------------------------------------


def describe_judgement(said: FindingJudgement) -> str:
    """Who said what about a finding, plain text."""
    words = f": {said.words}" if said.words else ""
    return f"{said.by_login} {_SAID[said.kind]}{words}"


def describe_whitelisting(listed: Whitelisting) -> str:
    """Why a finding passes, plain text."""
    where = "this file" if listed.path else "this repository"
    return f"{listed.by_login} let such findings in {where} pass until {_day(listed.until)}: {listed.words}"


def describe_lapse(listed: Whitelisting, why: Lapse) -> str:
    """Why a finding does not pass any more, plain text."""
    return f"{listed.by_login} let such findings pass on {_day(listed.at)}, which no longer holds: {_LAPSES[why]}"


# --- answers to commands ------------------------------------------------------------------------------------------


def no_avoidance(finding: Finding, verb: str) -> str:
    """For a command that is about another kind of finding."""
    return (
        f"{finding.id} is no finding of giving up in disguise, which `/forge {verb}` is for. "
        f"`/forge dismiss {finding.id} reason` dismisses it."
    )


def which_findings(verb: str) -> str:
    """For a command without a finding where no gate waits for it."""
    return (
        f"`/forge {verb}` needs the id of a finding here, because `false_positive` does not wait: "
        f"`/forge {verb} F-ID why`."
    )


def ask_for_justification(verb: str, finding: Finding | None) -> str:
    """For a decision without words, which is kept with its reason."""
    name = "F-ID" if finding is None else finding.id
    return f"Nothing was decided: this is kept with your reason. Write `/forge {verb} {name} why`."


def confirm_legitimate(found: Sequence[Finding], words: str) -> str:
    """The receipt for a false alarm."""
    one = len(found) == 1
    return (
        f"{_names(found)} {'is' if one else 'are'} kept as {'a false alarm' if one else 'false alarms'}, with your "
        f"reason: {escape(words, 300)}. {'It counts' if one else 'They count'} no more in this pull request, and what "
        f"found {'it' if one else 'them'} is believed less in this repository for 90 days. {_undo(found)}"
    )


def refuse_to_overrule(finding: Finding, said: FindingJudgement) -> str:
    """For who would take back what somebody else said against the change."""
    return (
        f"Refused: about {finding.id}, {escape(describe_judgement(said), 400)}. Taking that back is for "
        f"{inline_code(said.by_login)}, or for somebody with the role maintain, and not for the author of the change."
    )


def confirm_taking_back(finding: Finding) -> str:
    """For ``undismiss`` of a finding of giving up."""
    return (
        f"What was said about {finding.id} is taken back, and so are whitelists by which it passes. It counts as Forge "
        "found it."
    )


def not_there(finding: Finding) -> str:
    """For a judgement of what the newest head does not have any more."""
    return f"The newest head that was reviewed does not have {finding.id} any more, so there is nothing to judge."


def nothing_to_report(found: Sequence[Finding]) -> str:
    """For who may not decide and reports what asks nobody."""
    one = len(found) == 1
    return (
        f"{_names(found)} {'blocks' if one else 'block'} nothing and {'asks' if one else 'ask'} nobody, so nobody is "
        f"asked. Somebody else with the role write can call {'it' if one else 'them'} a false alarm."
    )


def look_again() -> str:
    """For a judgement after the run is over, which nothing looks at before the next one."""
    return "The last run is over, so the check stays as it is until `/forge review full` or a push."


def _undo(found: Sequence[Finding]) -> str:
    return (
        " ".join(f"`/forge undismiss {each.id}` takes it back." for each in found[:1])
        if len(found) == 1
        else ("`/forge undismiss F-ID` takes it back for each.")
    )


def confirm_violation(found: Sequence[Finding]) -> str:
    """The receipt for a confirmed finding."""
    verb = "is" if len(found) == 1 else "are"
    return (
        f"{_names(found)} {verb} confirmed: the check fails until that is mended, and what found it is believed more "
        f"here. {_undo(found)}"
    )


def confirm_whitelisting(finding: Finding, listed: Whitelisting) -> str:
    """The receipt for a whitelist."""
    where = inline_path(listed.path) if listed.path else "this repository"
    return (
        f"{finding.id} is kept as a false alarm, and findings of {inline_code(finding.rule)} in {where} pass until "
        f"{_day(listed.until)}, in changes of people. They are listed in the check with your reason. Earlier than that "
        f"it ends if the file goes or the detector changes, or with `/forge undismiss {finding.id}`."
    )


def ask_author(found: Sequence[Finding], words: str, author: str) -> str:
    """What somebody who decides wants to know first; it mentions the author, once.

    :param author: empty: an App, which nobody mentions.
    """
    asked = escape(words, 500) if words else "Why is this right?"
    return (
        f"{f'@{author}, about' if author else 'About'} {_names(found)}: {asked}\n\nAnswer here, or write "
        f"`/forge legitimate {found[0].id} why`; somebody with the role write decides."
    )


def confirm_report(found: Sequence[Finding]) -> str:
    """For who may not decide and says that it is a false alarm."""
    return (
        f"Your reason is kept with {_names(found)}. You cannot decide it yourself, so `false_positive` asks the "
        "others with the role write."
    )


def refuse_scope(needed: str, held: str) -> str:
    """For a whitelist of the whole repository by somebody with a lower role."""
    return (
        f"Refused: letting such findings pass in the whole repository needs the role {needed}; you have "
        f"{escape(held)}. `file` instead of `repository` works."
    )


# --- looking at findings ------------------------------------------------------------------------------------------


def render_places(found: Sequence[Finding], files: Sequence[FileChange], head_sha: str) -> str:
    """Answers ``diff`` about findings: their files before and after."""
    rows = [f"- {each.id} {inline_path(each.where)}: {escape(each.message, 300)}" for each in found[:_MOST_LINES]]
    more = [f"- and {len(found) - len(rows)} more"] if len(found) > len(rows) else []
    block, rest = render_diff(files)
    cut = f"\n\n{rest} more lines are left out; see *Files changed*." if rest else ""
    head = f"Before and after, at {inline_code(head_sha[:7])}:"
    return "\n\n".join([head, "\n".join([*rows, *more]), block + cut])


def nothing_to_compare(found: Sequence[Finding]) -> str:
    """For findings whose places the present head does not have any more."""
    return f"{_names(found)}: the present head changes none of these files, so there is nothing to compare."


def no_places(gate: str) -> str:
    """For a gate that is about no findings."""
    return f"{inline_code(gate)} is about no findings in the change. `/forge view {gate}` shows what it is about."


def render_history(history: DetectorHistory) -> str:
    """Answers ``history`` about a finding."""
    finding, record = history.finding, history.record
    kind = inline_code(finding.rule)
    counted = (
        f"In 90 days {kind} found {_count(record.found, 'place')} in this repository. People called {record.dismissed} "
        f"of them wrong and {record.confirmed} right, so it is believed at {record.reliability:.0%} of what it states."
    )
    said = [
        f"- {_day(each.at)} #{each.number} {each.name}: {escape(describe_judgement(each), 300)}"
        for each in history.here[-_MOST_LINES:]
    ]
    passed = [f"- {_describe_past(each)}" for each in history.whitelists[-_MOST_LINES:]]
    nothing = f"Nobody said anything about {kind} in {inline_path(finding.path)} so far."
    parts = [
        counted,
        *([f"In {inline_path(finding.path)}:", "\n".join(said)] if said else [nothing]),
        *(["Whitelists:", "\n".join(passed)] if passed else []),
    ]
    return "\n\n".join(parts)


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


def _describe_past(listed: Whitelisting) -> str:
    where = inline_path(listed.path) if listed.path else "the repository"
    ended = "" if listed.ended is None else f"; ended: {_LAPSES[listed.ended]}"
    words = escape(listed.words, 300)
    return f"{where}, by {escape(listed.by_login)} from {_day(listed.at)} to {_day(listed.until)}: {words}{ended}"


def _where(found: Sequence[Finding], kind: AvoidanceKind) -> str:
    places = [inline_path(each.where) for each in found if each.rule == kind.rule]
    more = f" and {len(places) - 5} more" if len(places) > 5 else ""
    return ", ".join(places[:5]) + more


def _names(found: Sequence[Finding]) -> str:
    return ", ".join(each.id for each in found)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _day(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%d")
