"""Every text about the automation ladder: levels, what they allow, and what Forge did unasked."""

from collections.abc import Mapping, Sequence
from datetime import datetime

from domain.review.findings import Finding
from domain.text.escaping import escape, format_moment, inline_code
from domain.verbs import VERBS, Verb
from domain.verdicts import Reason

WINDOW_MINUTES = 10
"""How long people have to stop a merge they were told of."""

AT_LEVEL_0 = "automation is at level 0 here"
"""How the reason begins why no run of an issue begins there."""

_ALLOWS = {
    0: "Forge reviews and shows its findings in the check. It comments only if someone asks for "
    "the review, and never opens a pull request.",
    1: "Forge comments; people fix, approve and merge.",
    2: "Forge also commits fixes of formatting and simple lint, and approves changes of low risk.",
    3: f"Forge also merges changes of low risk, {WINDOW_MINUTES} minutes after announcing it.",
    4: "Forge also merges changes of low risk at once. People decide about production.",
}
_BOUNDS = "Never without green required checks, never in forks, never a change of protected paths."


def render_change(before: int, after: int, why: str) -> str:
    """One line of a check's summary."""
    return f"Automation level {before} → {after}: {escape(why)}"


NO_COMMENTS = "Automation is at level 0 here, so Forge commented nothing unasked: the findings are only in this check."
"""For a review's summary at level 0."""


def explain_level_0(max_level: int, pinned: int | None) -> str:
    """Why no run of an issue begins at level 0, as a clause, and how to raise it.

    :param max_level: what the configuration allows; ``pinned`` what it holds.
    """
    if pinned == 0:
        how = "the configuration pins it (`ladder.pinned: 0`)"
    elif max_level == 0:
        how = "the configuration allows no higher level (`ladder.max_level: 0`)"
    else:
        how = "an admin raises it with `/forge level 1`"
    return f"{AT_LEVEL_0}, at which Forge opens no pull request; {how}, and `/forge plan` only plans"


def render_level(level: int, name: str, reason: Reason, max_level: int, pinned: int | None, earned: int) -> str:
    """Answers ``level``.

    :param level: the one that holds.
    :param reason: what was measured for it and for the next one, as children.
    :param pinned: by the configuration.
    :param earned: the one that was reached or set, whatever the configuration allows.
    """
    parts = [f"Automation level **{level}** ({name}) of at most {max_level}. {_ALLOWS[level]} {_BOUNDS}"]
    if pinned is not None:
        parts.append(f"The configuration pins it: `ladder.pinned: {pinned}`. Level {earned} was reached.")
    elif earned > level:
        parts.append(f"Level {earned} was reached; the configuration allows {max_level}.")
    parts.append(f"{escape(reason.text)}.")
    if reason.children:
        parts.append("\n".join(f"- {escape(child.text)}" for child in reason.children))
    parts.append("An admin sets it with `/forge level N`.")
    return "\n\n".join(parts)


def confirm_level(before: int, after: int, name: str) -> str:
    """The receipt for ``level N``."""
    if before == after:
        return f"Automation level **{after}** ({name}) was set already; its numbers start again now. {_ALLOWS[after]}"
    return f"Automation level {before} → **{after}** ({name}). {_ALLOWS[after]} {_BOUNDS}"


def refuse_level(wanted: int, max_level: int) -> str:
    """For a level that the configuration or the operator does not allow."""
    return (
        f"Level {wanted} is not set: the highest one allowed here is {max_level}. "
        "The limit is `ladder.max_level` in `.github/forge.yml` on the default branch, its preset, or the "
        "operator's ceiling."
    )


def refuse_pinned_level(level: int) -> str:
    """For a level that is pinned by the configuration."""
    return (
        f"The level was not changed: the configuration pins it with `ladder.pinned: {level}`. Change it in "
        "`.github/forge.yml` on the default branch."
    )


def confirm_missed_bug(number: int, run_id: str | None) -> str:
    """The receipt for ``missed``."""
    about = f"run {inline_code(run_id)} of #{number}" if run_id else f"#{number}, which has no finished run"
    return f"Noted as a critical bug that Forge missed, for {about}. It counts for the automation level."


WHAT_WAS_MISSED = (
    "Nothing was noted: this does not tell what was missed. Name the file, with the line if you know it, or say in "
    f"a few more words what goes wrong, such as `/forge {VERBS[Verb.missed].example}`."
)
"""For ``missed`` with words that tell nobody what to look for."""
KNOWN_BUG = "This is noted already."


def describe_revert(title: str) -> str:
    """The description of a missed bug that a revert shows."""
    return f"Reverted by: {title}"[:1000]


def cite_rule(text: str, rule: str) -> str:
    """Which level and rule allowed an act.

    :param text: of the reason of ``safety.allowed_actions``, which names the level.
    """
    return f"{text} (rule `{rule}`)."


def render_commit_message(findings: Sequence[Finding], text: str, rule: str, run_id: str) -> str:
    """The message of a commit with fixes; nothing in it is a word that GitHub acts upon.

    :param text: of the reason that allowed it.
    """
    noun = "finding" if len(findings) == 1 else "findings"
    rows = [f"- {finding.id} {finding.rule} in {_place(finding)}" for finding in findings]
    return "\n".join(
        [
            f"Correct {len(findings)} {noun} of formatting and simple lint",
            "",
            *rows,
            "",
            f"{text} (rule {rule}).",
            "To undo it, revert this commit.",
            "",
            f"{RUN_TRAILER}: {run_id}",
            "",
        ]
    )


RUN_TRAILER = "Forge-Run"
"""The trailer by which a commit of Forge's is known."""


def render_approval(text: str, rule: str, head_sha: str, checks: Sequence[str], marker: str) -> str:
    """The body of an approving review."""
    green = f"Green: {', '.join(map(inline_code, checks[:20]))}." if checks else "The branch requires no checks."
    head = f"Approved without being asked, for head {inline_code(head_sha[:7])} only."
    return f"{head}\n\n{cite_rule(text, rule)} {green}\n\n{marker}"


def explain_withdrawal(head_sha: str) -> str:
    """Why an approval of Forge's own is dismissed."""
    return (
        f"Forge approved head {head_sha[:7]} as it was then. The pull request has changed since, so that "
        "approval no longer applies."
    )


def announce_merge(text: str, rule: str, head_sha: str, until: datetime | None, marker: str) -> str:
    """The comment that tells people of a merge.

    :param until: from when on it may be merged; None: at once.
    """
    if until is None:
        head = f"**Forge merges** {inline_code(head_sha[:7])} now."
        return f"{head}\n\n{cite_rule(text, rule)}\n\n{marker}"
    head = f"**Forge merges** {inline_code(head_sha[:7])} after {format_moment(until)}, if nothing changes until then."
    stop = (
        "To stop it until then: `/forge reject reason` or `/forge cancel` (write), `/forge pause` (admin), a review "
        "that requests changes, or a push."
    )
    return f"{head}\n\n{cite_rule(text, rule)}\n\n{stop}\n\n{marker}"


def report_merge(text: str, rule: str, head_sha: str, sha: str, marker: str) -> str:
    """What became of the announcement: it was done."""
    return (
        f"**Forge merged** {inline_code(head_sha[:7])} as "
        f"{inline_code(sha[:7])}.\n\n{cite_rule(text, rule)}\n\n{marker}"
    )


def report_queued(text: str, rule: str, head_sha: str, branch: str, marker: str) -> str:
    """What became of the announcement: the merge queue has it."""
    return (
        f"**Forge put** {inline_code(head_sha[:7])} **into the merge queue** of {inline_code(branch)}. The queue "
        f"merges it once its checks are green there, or takes it out.\n\n{cite_rule(text, rule)}\n\n{marker}"
    )


_DEQUEUED = {
    "MERGE_CONFLICT": "it conflicts with the branch, or with what was ahead of it",
    "CI_FAILURE": "checks failed there",
    "CI_TIMEOUT": "checks did not end in time there",
    "QUEUE_CLEARED": "the queue was cleared",
    "ROLL_BACK": "a merge ahead of it was rolled back",
    "BRANCH_PROTECTIONS": "it no longer meets what the branch requires",
    "GIT_TREE_INVALID": "GitHub could not make its merge",
    "INVALID_MERGE_COMMIT": "GitHub could not make its merge",
}


def explain_dequeued(reason: str, login: str) -> str:
    """Why a merge queue took a pull request out, as a clause.

    :param reason: GitHub's word for it.
    :param login: who took it out, if somebody did.
    """
    if reason == "MANUAL":
        return f"{login} asked for that"
    return _DEQUEUED.get(reason, f"GitHub says {reason}")


ALREADY_MERGED, CLOSED = "it is merged already.", "the pull request is closed."
"""Why nothing is left that anybody could merge."""


def report_no_merge(head_sha: str, why: str, marker: str) -> str:
    """What became of the announcement: it was not done."""
    left = "" if why in {ALREADY_MERGED, CLOSED} else "\n\nA person can merge it."
    return f"**Forge does not merge** {inline_code(head_sha[:7])}: {escape(why)}{left}\n\n{marker}"


MERGE_STOPPED = "The announced merge is stopped. Forge does nothing more with this head unless asked."
"""Answers a command that stopped an announced merge."""


def render_changes(changes: Sequence[Mapping[str, object]]) -> str:
    """The lines on changes of level for a check's summary."""
    lines = [render_change(_number(one["before"]), _number(one["level"]), str(one["text"])) for one in changes]
    return "\n\n".join(lines)


def report_refusal(why: str | None) -> str:
    """The paragraph of a check's summary on an automatic fix that GitHub did not take.

    :param why: GitHub's words, and what they mean; None if it took it, or there was none.
    """
    return "" if why is None else f"**GitHub did not take an automatic fix of this head:** {escape(why, 800)}"


def _number(value: object) -> int:
    return int(str(value))


def _place(finding: Finding) -> str:
    """Where it is; a path with anything but plain characters is left out, since commit messages command GitHub."""
    plain = all(letter.isascii() and (letter.isalnum() or letter in "/._-") for letter in finding.path)
    return finding.where if plain else "a changed file"
