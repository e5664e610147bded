"""Every text about the change that fixes Forge's own findings, asked for with `/forge fix`."""

import re
from collections.abc import Sequence

from domain.review.findings import Finding
from domain.text.escaping import escape, inline_code, inline_path
from domain.text.naming import name_some

MOST_WRITTEN = 10
"""For how many findings a model is asked at once."""

_MOST_ROWS = 100
_PLAIN = re.compile(r"[^\w./-]+")
_BY_HAND = "Fix it by hand."
AS_SUGGESTED, BY_MODEL = "fixed as suggested", "fixed by a model"
"""What became of a finding."""


def name_change(fixed: Sequence[Finding]) -> str:
    """What a change is called that fixes these."""
    return f"Fix {fixed[0].id}" if len(fixed) == 1 else f"Fix {len(fixed)} findings"


def name_place(finding: Finding) -> str:
    """A finding in a commit message, as plain words."""
    rule, path = (_PLAIN.sub(" ", text)[:200] for text in (finding.rule, finding.path))
    return f"{finding.id}: {rule} in {path}."


def name_work(ids: Sequence[str]) -> str:
    """What is to be done, for who does it."""
    return f"Fix what the review found: {', '.join(ids)}."


def summarise(fixed: Sequence[str], count: int, said: str) -> str:
    """What is different now.

    :param fixed: the ids of what is fixed; :param count: of how many findings.
    :param said: by the agent; empty where none was asked.
    """
    of_all = f"{len(fixed)} of {_count(count)}" if len(fixed) < count else _count(count)
    which = "" if count == 1 else f"{of_all}: "
    return " ".join(filter(None, [f"Fixes {which}{name_some(fixed)}." if fixed else "", said]))


def render_outcomes(outcomes: Sequence[tuple[Finding, str]]) -> str:
    """A table of findings with what became of each."""
    rows = [
        f"| **{finding.id}** | {inline_path(finding.where)} | {became} |" for finding, became in outcomes[:_MOST_ROWS]
    ]
    table = "\n".join(["| finding | where | |", "| --- | --- | --- |", *rows])
    left = len(outcomes) - len(rows)
    return f"{table}\n\nand {left} more" if left else table


def report_none(outcomes: Sequence[tuple[Finding, str]]) -> str:
    """Where nothing can be fixed.

    :param outcomes: all findings with why not.
    """
    return f"Nothing is fixed of {_count(len(outcomes))}.\n\n{render_outcomes(outcomes)}"


def report_unfixed(finding: Finding, why: str) -> str:
    """Where the one finding cannot be fixed.

    :param why: one of the explanations below.
    """
    return f"No fix of **{finding.id}**: {why}"


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


def report_done(done: str) -> str:
    """For a finding that an earlier command fixed.

    :param done: by what, as a clause.
    """
    return f"Done already: {done}."


def explain_commit(commit: str, ids: Sequence[str]) -> str:
    """What fixed findings, as a clause: a commit on the branch."""
    return f"{commit} fixes {name_some(ids)}"


def explain_proposal(number: int, ids: Sequence[str]) -> str:
    """What fixes findings, as a clause: an open pull request into the branch."""
    return f"#{number} proposes a fix of {name_some(ids)}; merge it, or close it and ask again"


def explain_unfixed(why: str) -> str:
    """What became of a finding: nothing."""
    return f"not fixed: {why}"


def explain_credential() -> str:
    """Why there is no fix: no change of the code revokes a credential."""
    return "a credential that was pushed stays in the history. Revoke it where it was issued, then remove the line."


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


def explain_kept_code() -> str:
    """Why there is no fix: no model may see any code."""
    return f"`review.model: never` keeps code from models. {_BY_HAND}"


def explain_no_model(why: str) -> str:
    """Why there is no fix: no model can be asked."""
    return f"no model can write one. {escape(why)}"


def explain_overlap(other: Finding) -> str:
    """Why a finding is not fixed: another one's fix changes its lines."""
    return f"the fix of **{other.id}** changes the same lines. Ask again when that is in."


def explain_clash() -> str:
    """Why a finding is not fixed: its fix and the others break the file."""
    return "together with the other fixes the file could not be parsed. Ask again when those are in."


def explain_moved(head_sha: str) -> str:
    """Why a finding is not fixed: its lines are others by now."""
    return f"its lines changed since they were reviewed. Ask again when {inline_code(head_sha[:7])} is reviewed."


def explain_too_many() -> str:
    """Why a finding is not fixed: a model was asked for as many as it is asked for at once."""
    return f"a model is asked for {MOST_WRITTEN} findings at once. Ask again when these are in."


def explain_unwritten() -> str:
    """Why a finding is not fixed: whoever was to fix it did not, or not all of it, and says why elsewhere."""
    return "see above"


def _count(number: int) -> str:
    return f"{number} open finding{'' if number == 1 else 's'}"
