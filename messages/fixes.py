"""Every text about the change that fixes Forge's own findings, asked for with `/forge fix`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePosixPath

from domain.review.findings import Finding
from domain.text.escaping import escape, inline_code, inline_path, name_some
from messages.pull_request import LONGEST_SUBJECT, render_headline

MOST_WRITTEN = 10
"""For how many findings a model is asked at once."""

_MOST_ROWS = 100
_PLAIN = re.compile(r"[^\w./-]+")
_LONGEST_LINE = 100  # characters
_BY_HAND = "Fix it by hand."


class FixState(StrEnum):
    """What became of a finding."""

    fixed = "fixed"  # by this change
    done = "done already"  # the code does not have it any more
    proposed = "proposed already"  # a pull request that fixes it is open
    unconfirmed = "gone by the model's word"  # which does not lift what blocks
    left = "left"


@dataclass(frozen=True)
class FixOutcome:
    """What became of a finding.

    :param why: what fixed it before, or why it is left, as a clause; empty where it is fixed now.
    """

    finding: Finding
    state: FixState
    why: str = ""


def name_change(fixed: Sequence[Finding]) -> str:
    """What a change is called that fixes these: what was wrong, as plain text; its body has their names."""
    return render_headline(f"Fix{':' if len(fixed) == 1 else ''} {_tell_wrong(fixed)}", LONGEST_SUBJECT)


def name_part(begun: Sequence[Finding]) -> str:
    """What a change is called that fixes none of these for good."""
    return render_headline(f"Part of a fix: {_tell_wrong(begun)}", LONGEST_SUBJECT)


def _tell_wrong(findings: Sequence[Finding]) -> str:
    if len(findings) == 1:
        return findings[0].message.partition(". ")[0]
    first, *others = dict.fromkeys(PurePosixPath(each.path).name for each in findings)
    more = f" and {len(others)} more file{'' if len(others) == 1 else 's'}" if others else ""
    return f"{len(findings)} findings in {first}{more}"


def name_goal(findings: Sequence[Finding]) -> str:
    """The task of fixing these, for who does it."""
    return f"Fix {findings[0].id}" if len(findings) == 1 else f"Fix {len(findings)} findings"


def name_place(finding: Finding) -> str:
    """A finding in a commit message, as plain words."""
    rule, path = (_PLAIN.sub(" ", text)[:200] for text in (finding.rule, finding.path))
    return f"{finding.id}: {rule} in {path}."


def name_work(ids: Sequence[str]) -> str:
    """What is to be done, for who does it."""
    return f"Fix what the review found: {', '.join(ids)}."


def summarise(outcomes: Sequence[FixOutcome], said: str) -> str:
    """What is different now: the one count.

    :param said: by the agent; empty where none was asked.
    """
    if len(outcomes) > 1:
        return " ".join(filter(None, [count_states(outcomes), said]))
    [only] = outcomes
    if only.state is FixState.fixed:
        told = f"Fixes {only.finding.id}."
    else:
        told = "" if only.state is FixState.left else _report_state(only)
    return " ".join(filter(None, [told, said]))


def count_states(outcomes: Sequence[FixOutcome]) -> str:
    """How many findings became what, as a sentence; empty for none."""
    if not outcomes:
        return ""
    counts = [(sum(each.state is state for each in outcomes), state.value) for state in FixState]
    total = f"{len(outcomes)} finding{'' if len(outcomes) == 1 else 's'}"
    return f"Of {total}: {', '.join(f'{count} {name}' for count, name in counts if count)}."


def render_table(outcomes: Sequence[FixOutcome], where: str = "") -> str:
    """A table of findings with what became of each; empty for one, of which the summary says it.

    :param where: what fixes some of them: a commit, a pull request, or a patch.
    """
    if len(outcomes) < 2:
        return ""
    rows = [
        f"| **{each.finding.id}** | {inline_path(each.finding.where)} | {_tell_state(each, where)} |"
        for each in outcomes[:_MOST_ROWS]
    ]
    table = "\n".join(["| finding | where | |", "| --- | --- | --- |", *rows])
    left = len(outcomes) - len(rows)
    return f"{table}\n\nand {left} more" if left else table


def _tell_state(outcome: FixOutcome, where: str) -> str:
    match outcome.state:
        case FixState.fixed:
            return f"fixed in {where}"
        case FixState.done | FixState.proposed | FixState.unconfirmed:
            return f"{outcome.state}: {outcome.why}"
        case FixState.left:
            return f"left, because {outcome.why}"


def report_all(outcomes: Sequence[FixOutcome]) -> str:
    """Where there is nothing to change.

    :param outcomes: of all findings.
    """
    if len(outcomes) == 1:
        [only] = outcomes
        return report_unfixed(only.finding, only.why) if only.state is FixState.left else _report_state(only)
    return f"{count_states(outcomes)}\n\n{render_table(outcomes)}"


def report_unfixed(finding: Finding, why: str) -> str:
    """Where the one finding cannot be fixed.

    :param why: one of the explanations below.
    """
    return f"**{finding.id}** is left, because {why}"


def report_gone(name: str, head_sha: str) -> str:
    """For a finding that the newest review of this head does not have."""
    return (
        f"**{name}** is not in a finished review of {inline_code(head_sha[:7])}, so there is nothing to fix. "
        "`/forge view` lists the findings; while a review runs, ask again when it is done."
    )


def report_unreviewed(head_sha: str) -> str:
    """For a head of which no review has ended, nor of a commit that it builds on."""
    return f"{inline_code(head_sha[:7])} has no finished review, so there is nothing to fix yet. Ask again when it has."


def report_nothing_open(head_sha: str, done: Sequence[str]) -> str:
    """For a review without findings.

    :param done: what fixed some before, as clauses.
    """
    why = f": {'; '.join(done)}" if done else ""
    return f"{inline_code(head_sha[:7])} has no open finding, so there is nothing to fix{why}."


def _report_state(outcome: FixOutcome) -> str:
    """For a finding that needs no fix any more."""
    return f"{outcome.state.capitalize()}: {outcome.why}."


def explain_commit(commit: str, ids: Sequence[str]) -> str:
    """What fixed findings, as a clause: a commit on the branch."""
    return f"{commit} fixes {name_some(ids)}"


def explain_proposal(number: int, ids: Sequence[str]) -> str:
    """What fixes findings, as a clause: an open pull request into the branch."""
    return f"#{number} proposes a fix of {name_some(ids)}; merge it, or close it and ask again"


def explain_passing(head_sha: str) -> str:
    """Why there is nothing to fix, as a clause: the test that showed it passes."""
    return f"the test that showed it passes on {inline_code(head_sha[:7])}"


def explain_made(head_sha: str) -> str:
    """Why there is nothing to fix, as a clause: somebody made the change that fixes it."""
    return f"{inline_code(head_sha[:7])} has its lines as the fix would make them"


def explain_gone(head_sha: str) -> str:
    """Why there is nothing to fix, as a clause: whoever was to fix it looked, and it is not there."""
    return f"{inline_code(head_sha[:7])} does not have it any more"


UNCONFIRMED = "as it blocks, a review looks for itself: `/forge review full`"
"""What becomes of a finding that blocks, as a clause, where whoever was to fix it finds it gone."""
CREDENTIAL = "a credential that was pushed stays in the history. Revoke it where it was issued, then remove the line."
"""Why there is no fix: no change of the code revokes a credential."""


def explain_protected(finding: Finding) -> str:
    """Why there is no fix: people decide about such a file by itself."""
    path = inline_code(finding.path)
    return (
        f"{path} is protected, so it is changed by itself: {inline_code(f'/forge fix {finding.id}')} asks people first."
    )


def explain_unwritable(path: str) -> str:
    """Why there is no fix: of the file's kind or name."""
    return f"Forge does not write to {inline_code(path)}. {_BY_HAND}"


def explain_kept_file(path: str) -> str:
    """Why there is no fix: no model may see the file."""
    return f"`review.never_send` keeps {inline_code(path)} from models. {_BY_HAND}"


CODE_KEPT = f"`review.model: never` keeps code from models. {_BY_HAND}"
"""Why there is no fix: no model may see any code."""


def explain_no_model(why: str) -> str:
    """Why there is no fix: no model can be asked."""
    return f"no model can write a fix. {escape(why)}"


def explain_overlap(other: Finding) -> str:
    """Why a finding is not fixed: another one's fix changes its lines."""
    return f"the fix of **{other.id}** changes the same lines. Ask again when that is in."


CLASH = "together with the other fixes the file could not be parsed. Ask again when those are in."
"""Why a finding is not fixed: its fix and the others break the file."""


def explain_moved(finding: Finding, there: str, head_sha: str) -> str:
    """Why a finding is not fixed: its file is another one by now.

    :param there: what stands in the place of its lines; may be empty.
    """
    line = next((each.strip() for each in there.splitlines() if each.strip()), "")
    now = f"where its fix would change a line, there is {inline_code(line[:_LONGEST_LINE])}" if line else ""
    gone = "the lines that its fix would change are gone"
    ask = f"Ask again when {inline_code(head_sha[:7])} is reviewed."
    return f"{inline_code(finding.path)} changed since it was reviewed: {now or gone}. {ask}"


TOO_MANY = f"a model fixes at most {MOST_WRITTEN} findings at a time. Ask again when these are in."
"""Why a finding is not fixed: a model was asked for as many as it is asked for at once."""


def explain_ended(why: str) -> str:
    """Why a finding is not fixed: whoever was to fix it was stopped.

    :param why: a sentence, which may be empty.
    """
    return f"the work on it ended. {why}".strip()


UNWRITTEN = "the model did not fix it; it says why above."
"""Why a finding is not fixed: whoever was to fix it did not, or not all of it, and says why elsewhere."""
