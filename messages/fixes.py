"""Every text about a change that fixes a finding because somebody asked for it with `/forge fix`."""

import re
from collections.abc import Sequence
from itertools import chain

from domain.review.findings import Finding
from domain.review.line_edits import LineEdit, split_lines
from domain.slash.verbs import Verb
from domain.text.escaping import code_block, escape, inline_code, inline_path, suggestion_block
from messages.automation import RUN_TRAILER

_LONGEST = 600  # characters of what a model says
_MOST_MISTAKES = 3
_BY_HAND = "Fix it by hand, or ask again after the next push."
_TRIED = "The test that shows the finding passes with it; no other test was run."
_PLAIN = re.compile(r"[^\w./-]+")


def suggest(finding: Finding, edit: LineEdit, summary: str, is_known: bool, is_tried: bool = False) -> str:
    """A comment on the lines that the suggestion replaces.

    :param is_tried: the test that shows the finding passes with it.
    """
    advice = _advise(is_known, is_tried)
    return "\n\n".join([_introduce(finding, summary, is_known), suggestion_block(edit.after), advice])


def confirm_suggestion(finding: Finding, edit: LineEdit) -> str:
    """The answer where the suggestion, which says what it does, is on other lines than the finding's thread."""
    return f"The fix of **{finding.id}** is a suggestion on {inline_path(finding.path)}, {_name_lines(edit)}."


def confirm_reply(finding: Finding, is_known: bool) -> str:
    """The answer where the suggestion is a reply in the finding's thread."""
    how = "had a fix already; it" if is_known else "has a fix that"
    return f"**{finding.id}** {how} is a suggestion in its thread now."


def show_fix(
    finding: Finding,
    edits: Sequence[LineEdit],
    why: str,
    summary: str,
    is_known: bool = False,
    is_tried: bool = False,
) -> str:
    """A change as text, for whoever applies it by hand.

    :param why: why it is only text, as a clause.
    :param is_tried: the test that shows the finding passes with it.
    """
    head = _introduce(finding, summary, is_known)
    return "\n\n".join(
        [
            head,
            render_diff(finding.path, edits),
            f"Only shown here, because {escape(why)}. {_advise(is_known, is_tried)}",
        ]
    )


def render_diff(path: str, edits: Sequence[LineEdit]) -> str:
    """The changes of one file as a block."""
    lines = list(chain.from_iterable(map(_show_edit, edits)))
    return code_block("\n".join([f"--- {path}", f"+++ {path}", *lines]), "diff")


def confirm_pull_request(finding: Finding, number: int, branch: str, summary: str) -> str:
    """The answer where the change is a pull request into the one with the finding."""
    return (
        f"{_introduce(finding, summary, False)} It does not fit one suggestion, so #{number} proposes it for "
        f"{inline_code(branch)}. That is reviewed like every pull request; merge it or close it."
    )


def confirm_renewal(finding: Finding, number: int, summary: str) -> str:
    """The answer where an open pull request got this change instead of an earlier one."""
    return (
        f"{_introduce(finding, summary, False)} #{number} proposed one for the file as it was before; it has this one "
        "now and is reviewed again. Merge it or close it."
    )


def point_to_proposal(finding: Finding, number: int, *, is_touched: bool) -> str:
    """The answer where an open pull request of Forge proposes a fix already.

    :param is_touched: somebody else pushed to it.
    """
    if is_touched:
        return (
            f"#{number} proposes a fix of **{finding.id}**, and somebody else has changed it since, so Forge leaves it "
            "alone. Bring it up to date by hand, or close it and ask again."
        )
    return (
        f"#{number} proposes a fix of **{finding.id}** already, and {inline_path(finding.path)} is as it was then. "
        "Merge it; or close it and ask again for another one."
    )


def report_unopened(finding: Finding, branch: str, why: str) -> str:
    """For a branch from which GitHub takes no pull request."""
    return (
        f"The fix of **{finding.id}** is on the branch {inline_code(branch)}, but GitHub took no pull request: "
        f"{escape(why)} Open one from the branch, or delete it."
    )


def render_pull_request(
    finding: Finding, number: int, summary: str, login: str, is_tried: bool = False
) -> tuple[str, str]:
    """The title and the description.

    :param is_tried: the test that shows the finding passes with it.
    """
    advice = " ".join(["A model wrote it; look at it before you merge it.", *([_TRIED] if is_tried else [])])
    body = "\n\n".join(
        [
            f"**{finding.id}** in #{number}, {inline_path(finding.where)}: {escape(finding.message, _LONGEST)}",
            escape(summary, _LONGEST),
            f"{inline_code(login)} asked for it with `/forge fix`. {advice}",
        ]
    )
    return f"Fix {finding.id} in #{number}", body


def render_commit_message(finding: Finding, run_id: str) -> str:
    """The message of the commit, in which nothing of a model's text stands."""
    return f"Fix {finding.id}\n\n{name_place(finding)}\n\n{RUN_TRAILER}: {run_id}\n"


def name_place(finding: Finding) -> str:
    """The rule and the file of a finding, as plain words of a commit message."""
    rule, path = (_PLAIN.sub(" ", text)[:200] for text in (finding.rule, finding.path))
    return f"{rule} in {path}"


def report_unfixed(finding: Finding, why: str, advice: str) -> str:
    """The answer where there is no fix.

    :param why: one of the explanations below.
    """
    return f"No fix of **{finding.id}**: {why} {advice}".rstrip()


def explain_refusal(why: str) -> str:
    """Why there is no fix: the model writes no change for it."""
    return f"the model declined. {escape(why, _LONGEST)}"


def explain_unfit(mistakes: Sequence[str]) -> str:
    """Why there is no fix: the change cannot be made, also not after the model was told why.

    :param mistakes: in sentences of Forge's own.
    """
    return f"the change that was written cannot be made. {' '.join(mistakes[:_MOST_MISTAKES])}"


def explain_no_model(why: str) -> str:
    """Why there is no fix: no model can be asked, or it gives no answer."""
    return f"no model wrote one. {escape(why)}"


def advise_by_hand(then: str = "") -> str:
    """What to do where a model's change would have helped.

    :param then: what lets a model write it, in sentences.
    """
    return f"{escape(then)} {_BY_HAND}".lstrip()


def advise_to_disagree(finding: Finding) -> str:
    """What to do where a model sees nothing to fix."""
    return f"If the finding is wrong: `/forge dismiss {finding.id} reason`."


def report_gone(name: str, head_sha: str) -> str:
    """For a finding that the newest review of this head does not have."""
    what = f"**{name}**" if name else "The finding of this thread"
    return (
        f"{what} is not in a finished review of {inline_code(head_sha[:7])}, so there is nothing to fix. "
        "`/forge view` lists the findings; while a review runs, ask again when it is done."
    )


def explain_credential() -> str:
    """Why there is no fix: no change of the code revokes a credential."""
    return "a credential that was pushed stays in the history. Revoke it where it was issued, then remove the line."


def report_unread_head(verb: Verb, head_sha: str) -> str:
    """For a head that no run is about."""
    return (
        f"{inline_code(head_sha[:7])} has not been reviewed yet. Write `/forge review`, then "
        f"{inline_code(f'/forge {verb}')}."
    )


def refuse_without_ok(verb: Verb) -> str:
    """For the head of a fork that nobody with write permission allowed Forge to run."""
    return (
        f"Nobody with the role write has allowed this head of a fork yet, so {inline_code(f'/forge {verb}')} does "
        "nothing here. Look at the change; `/forge review` allows this head."
    )


def report_lost_permission(verb: Verb) -> str:
    """For somebody who lost the role while the model worked."""
    return f"Nothing was done: who wrote {inline_code(f'/forge {verb}')} may not do that any more."


def report_moved_head() -> str:
    """For a head that was replaced while the model worked."""
    return "Nothing was done: the pull request changed meanwhile. Ask again when its new head is reviewed."


def report_failure(verb: Verb, message: str) -> str:
    """For an error on the way."""
    return f"{inline_code(f'/forge {verb}')} failed: {escape(message)} Ask again later."


def _introduce(finding: Finding, summary: str, is_known: bool) -> str:
    if is_known:
        return f"**{finding.id}** has a fix already."
    return f"A fix for **{finding.id}**: {escape(summary, _LONGEST)}" if summary else f"A fix for **{finding.id}**."


def _advise(is_known: bool, is_tried: bool) -> str:
    if is_known:
        return ""
    if is_tried:
        return f"A model wrote it: look at it before you take it. {_TRIED}"
    return "A model wrote it and it was not run: look at it before you take it."


def _name_lines(edit: LineEdit) -> str:
    if edit.start_line == edit.end_line:
        return f"line {edit.start_line}"
    return f"lines {edit.start_line} to {edit.end_line}"


def _show_edit(edit: LineEdit) -> list[str]:
    old, new = edit.before.split("\n"), split_lines(edit.after)
    head = f"@@ -{edit.start_line},{len(old)} +{len(new)} lines @@"
    return [head, *(f"-{line}" for line in old), *(f"+{line}" for line in new)]
