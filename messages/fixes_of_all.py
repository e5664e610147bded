"""Every text about the change that fixes what can be fixed of a pull request, asked for with `/forge fix all`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.review.findings import Finding
from domain.review.line_edits import LineEdit
from domain.text.escaping import escape, inline_code, inline_path
from messages.automation import RUN_TRAILER
from messages.fixes import name_place, render_diff

MOST_WRITTEN = 10
"""For how many findings a model is asked at once."""

_LONGEST = 300  # characters of what a model says
_MOST_ROWS = 100
_MOST_SHOWN = 30_000  # characters of a diff in a comment, which GitHub lets have 65,536


@dataclass(frozen=True)
class FixOutcome:
    """What became of one finding.

    :param why_not: why it is not fixed, in sentences; empty if it is.
    :param is_known: the fix is the finding's own and not a model's.
    :param summary: what a model says of its fix.
    :param is_tried: the test that shows the finding passes with it.
    """

    finding: Finding
    why_not: str = ""
    is_known: bool = False
    summary: str = ""
    is_tried: bool = False


def report_unfinished(head_sha: str) -> str:
    """For a head whose review has not ended."""
    return f"{inline_code(head_sha[:7])} has no finished review, so there is nothing to fix yet. Ask again when it has."


def report_nothing_open(head_sha: str) -> str:
    """For a review without findings."""
    return f"{inline_code(head_sha[:7])} has no open finding, so there is nothing to fix."


def confirm(outcomes: Sequence[FixOutcome], number: int, branch: str, *, is_renewed: bool = False) -> str:
    """The answer where the change is a pull request into the one with the findings.

    :param is_renewed: the pull request was open with an earlier version of the change.
    """
    where = f"has fixes now of {_count(outcomes)}" if is_renewed else f"proposes fixes of {_count(outcomes)}"
    told = f"#{number} {where} for {inline_code(branch)}, in one commit. It is reviewed like every pull request"
    return "\n\n".join([f"{told}; merge it or close it.{_warn(outcomes)}", _render_table(outcomes)])


def point_to_proposal(outcomes: Sequence[FixOutcome], number: int) -> str:
    """The answer where an open pull request has just this change."""
    return f"#{number} proposes these fixes already. Merge it or close it.\n\n{_render_table(outcomes)}"


def point_to_touched(number: int) -> str:
    """The answer where somebody else pushed to the open pull request with an earlier version of the change."""
    return (
        f"#{number} proposes fixes, and somebody else has changed it since, so Forge leaves it alone. Merge it, bring "
        "it up to date by hand, or close it and ask again."
    )


def show(outcomes: Sequence[FixOutcome], edits: Mapping[str, Sequence[LineEdit]], why: str) -> str:
    """The change as text, for whoever applies it by hand.

    :param edits: path → its changes.
    :param why: why it is only text, as a clause.
    """
    head = f"Fixes of {_count(outcomes)}. They are only shown here, because {escape(why)}.{_warn(outcomes)}"
    shown, left = list[str](), _MOST_SHOWN
    for path, each in edits.items():
        block = render_diff(path, each)
        left -= len(block)
        shown.append(block if left >= 0 else f"The change of {inline_path(path)} is too long to show.")
    return "\n\n".join([head, _render_table(outcomes), *shown])


def report_none(outcomes: Sequence[FixOutcome]) -> str:
    """Where nothing can be fixed."""
    return f"Nothing is fixed of {_name_number(len(outcomes))}.\n\n{_render_table(outcomes)}"


def report_unopened(outcomes: Sequence[FixOutcome], branch: str, why: str) -> str:
    """For a branch from which GitHub takes no pull request."""
    told = (
        f"The fixes are on the branch {inline_code(branch)}, but GitHub took no pull request: {escape(why)} Open one "
        "from the branch, or delete it."
    )
    return f"{told}\n\n{_render_table(outcomes)}"


def render_pull_request(outcomes: Sequence[FixOutcome], number: int, login: str) -> tuple[str, str]:
    """The title and the description."""
    fixed = [each.finding for each in outcomes if not each.why_not]
    who = f"{inline_code(login)} asked for it with `/forge fix all`.{_warn(outcomes)}"
    title = f"Fix {_name_number(len(fixed), 'finding')} in #{number}"
    return title, "\n\n".join([f"Fixes {_count(outcomes)} in #{number}.", _render_table(outcomes), who])


def render_commit_message(outcomes: Sequence[FixOutcome], run_id: str) -> str:
    """The message of the commit, in which nothing of a model's text stands."""
    fixed = [each.finding for each in outcomes if not each.why_not]
    lines = "\n".join(f"{finding.id}: {name_place(finding)}" for finding in fixed)
    return f"Fix {_name_number(len(fixed), 'finding')}\n\n{lines}\n\n{RUN_TRAILER}: {run_id}\n"


def explain_overlap(other: Finding) -> str:
    """Why a finding is not fixed: another one's fix changes its lines."""
    return f"the fix of **{other.id}** changes the same lines. Ask again when that is in."


def explain_clash() -> str:
    """Why a finding is not fixed: its fix and the others break the file."""
    return "together with the other fixes the file could not be parsed. Ask again when those are in."


def explain_too_many() -> str:
    """Why a finding is not fixed: a model was asked for as many as it is asked for at once."""
    return f"a model is asked for {MOST_WRITTEN} findings at once. Ask again when these are in."


def _render_table(outcomes: Sequence[FixOutcome]) -> str:
    rows = [
        f"| **{each.finding.id}** | {inline_path(each.finding.where)} | {_describe(each)} |"
        for each in outcomes[:_MOST_ROWS]
    ]
    table = "\n".join(["| finding | where | |", "| --- | --- | --- |", *rows])
    left = outcomes[_MOST_ROWS:]
    fixed = sum(not each.why_not for each in left)
    return f"{table}\n\nand {len(left)} more, of which {fixed} are fixed" if left else table


def _describe(outcome: FixOutcome) -> str:
    if outcome.why_not:
        return f"not fixed: {outcome.why_not}"
    if outcome.is_known:
        return "fixed as suggested"
    by = "fixed by a model, and the test that shows it passes" if outcome.is_tried else "fixed by a model"
    return f"{by}: {escape(outcome.summary, _LONGEST)}" if outcome.summary else by


def _count(outcomes: Sequence[FixOutcome]) -> str:
    fixed = sum(not each.why_not for each in outcomes)
    whole = _name_number(len(outcomes))
    return whole if fixed == len(outcomes) else f"{fixed} of {whole}"


def _name_number(count: int, noun: str = "open finding") -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _warn(outcomes: Sequence[FixOutcome]) -> str:
    written = [each for each in outcomes if not each.why_not and not each.is_known]
    if not written:
        return ""
    is_tried = all(each.is_tried for each in written)
    told = "A model wrote some of it" if is_tried else "What a model wrote was not run"
    return f" {told}: look at it before you take it."
