"""Every text by which the result of an issue's run reaches people: commits, the pull request, why GitHub refused."""

import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from domain.money import format_usd
from domain.runs.next_step import ReviewState, SendBack
from domain.runs.patches import RED_CHECK
from domain.runs.plan import Plan, RatedPlan, Task
from domain.runs.run import Phase
from domain.text.escaping import cut_text, escape, flatten_text, inline_code, name_count
from domain.text.redaction import redact_outgoing
from domain.verdicts import Reason
from messages.audit import end_with_spent, render_spent
from messages.automation import RUN_TRAILER
from messages.plan import StepState

TASK_TRAILER = "Forge-Task"
"""The trailer that names the task a commit is for."""

LONGEST_TITLE = 256  # characters GitHub takes
LONGEST_SUBJECT = 72
LONGEST_BODY = 65_536
_LONGEST = 60_000  # of a description that is written anew: what it came to needs room, too
_WIDTH = 72
_MENDED = 20
_LEFT = 10


@dataclass(frozen=True)
class TaskReport:
    """What became of a task.

    :param done: what the implementer says it did; empty if it did nothing.
    :param not_done: why the task, or a part of it, was not done; empty if it was.
    """

    task: Task
    done: str = ""
    not_done: str = ""


@dataclass(frozen=True)
class PullRequestDescription:
    """All that the description of a pull request says.

    :param issue: number of the issue it closes.
    :param work: of every task of the plan, in order.
    :param tests: paths of tests that were added.
    :param models: names of those that planned and implemented it.
    :param conditions: those under which people approved, in their words.
    """

    issue: int
    weighed: RatedPlan
    work: Sequence[TaskReport]
    tests: Sequence[str]
    models: Sequence[str]
    conditions: Sequence[str] = ()


@dataclass(frozen=True)
class Progress:
    """How far the run of an issue is.

    :param approval: None if nobody has to approve the plan.
    :param done: tasks of which the work is over.
    :param tasks: how many there are; 0 before there is a plan.
    :param number: of the pull request, once there is one.
    :param send_backs: how often the change was sent back.
    """

    planning: StepState = StepState.now
    approval: StepState | None = None
    implementation: StepState = StepState.next
    done: int = 0
    tasks: int = 0
    pull_request: StepState = StepState.next
    number: int | None = None
    review: StepState = StepState.next
    testing: StepState = StepState.next
    send_backs: int = 0


# --- the pull request ----------------------------------------------------------------------------------------


def render_title(issue: int, issue_title: str, plan: Plan) -> str:
    """The title of the pull request, of at most 256 characters, in which nothing acts.

    It names the change: as the plan does, or its only task. The issue's own title, which names the fault, comes last.
    It is no Markdown, and becomes the subject of the commit where the pull request is squashed.
    """
    only_task = plan.tasks[0].title if len(plan.tasks) == 1 else ""
    headlines = (render_headline(each, LONGEST_TITLE) for each in (plan.title, only_task, issue_title))
    return next(filter(None, headlines), f"Work on issue {issue}")


def render_body(proposed: PullRequestDescription, marker: str) -> str:
    """The description of the pull request, which closes this issue and no other; outlined where it is too long.

    :param marker: by which Forge knows it again; the last line.
    """
    whole = _body(proposed, marker, _WHOLE)
    return whole if len(whole) <= _LONGEST else _body(proposed, marker, _OUTLINE)


@dataclass(frozen=True)
class _Size:
    """How much is said, in characters of each text and in entries of each list."""

    summary: int
    title: int
    words: int  # 0: what was done is left out
    reason: int
    rows: int
    note: str = ""


_WHOLE = _Size(summary=600, title=120, words=600, reason=300, rows=20)
_OUTLINE = _Size(
    summary=300,
    title=80,
    words=0,
    reason=100,
    rows=8,
    note="This is too long for one description, so it leaves out the work on each task, decisions and "
    "more. See the commits.",
)


def _body(proposed: PullRequestDescription, marker: str, size: _Size) -> str:
    weighed = proposed.weighed
    parts = [
        f"Closes #{proposed.issue}",
        _escape_foreign(weighed.plan.summary, size.summary),
        size.note,
        _list("### What was done", [_render_task(each, size) for each in proposed.work]),
        _list("### Conditions", [_escape_foreign(each, size.reason) for each in proposed.conditions], size.rows),
        _decisions(weighed, size) if size.words else "",
        _list(f"### Risk: {weighed.level.value}", list(_reasons(weighed.reasons, size)), size.rows)
        if weighed.level.is_high
        else "",
        _list("### Tests added", [_quote_foreign(path, 100) for path in proposed.tests] or ["none"], size.rows),
        _result(["Forge is reviewing and testing this change: see the checks below."]),
        f"<sub>{_name_models(proposed.models)}{_ASK}</sub>",
        marker,
    ]
    return "\n\n".join(part for part in parts if part)


def _name_models(models: Sequence[str]) -> str:
    named = ", ".join(_quote_foreign(each, 80) for each in models)
    return f"{'Model' if len(models) == 1 else 'Models'}: {named}. " if models else ""


_BEGIN, _END = "<!-- result -->", "<!-- /result -->"


@dataclass(frozen=True)
class VerifiedResult:
    """What the review and the tests of a proposed change came to.

    :param left: findings of the review that stand, as ``path:line rule``.
    :param tests: the title of the check of the tests; empty if there is none.
    :param coverage: share of the added lines that the tests run, from 0 to 1; None where it was not measured.
    :param send_backs: how often the change was sent back.
    :param conditions: those under which people let it go on since it was proposed, in their words.
    """

    left: Sequence[str]
    tests: str
    coverage: float | None
    send_backs: int
    conditions: Sequence[str] = ()


def add_result(body: str, proved: VerifiedResult, spent: int) -> str | None:
    """The description with what the change came to; None if a person took the place for it out, or left no room.

    Everything else in it stays as people left it.
    """
    start, end = body.find(_BEGIN), body.find(_END)
    if not 0 <= start < end:
        return None
    covered = "" if proved.coverage is None else f"; {proved.coverage:.0%} of the added lines covered"
    rows = [
        f"Tests: {_escape_foreign(proved.tests, 200)}{covered}" if proved.tests else "Tests: not run",
        *(f"Open finding: {_quote_foreign(each, 200)}" for each in proved.left[:_LEFT]),
    ]
    if not proved.left:
        rows.append("The review found nothing that is still open.")
    if len(proved.left) > _LEFT:
        rows.append(f"and {len(proved.left) - _LEFT} more findings, listed in `Forge / review`")
    if proved.send_backs:
        rows.append(f"The change needed {name_count(proved.send_backs, 'fix', 'fixes')}.")
    rows += [f"Condition: {_escape_foreign(each, _WHOLE.reason)}" for each in proved.conditions]
    rows += [f"Spent by the run in total: {format_usd(spent)}."] if spent else []
    whole = f"{body[:start]}{_result(rows)}{body[end + len(_END) :]}"
    return whole if len(whole) <= LONGEST_BODY else None


def _result(rows: Sequence[str]) -> str:
    return f"{_BEGIN}\n{_list('### Review and tests', rows)}\n{_END}"


def _render_task(worked: TaskReport, size: _Size) -> str:
    mark = " " if worked.not_done else "x"
    rows = [f"[{mark}] **{worked.task.id}** {_escape_foreign(worked.task.title, size.title)}"]
    if worked.done and size.words:
        rows.append(f"  - Done: {_escape_foreign(worked.done, size.words)}")
    if worked.not_done:
        rows.append(f"  - Not done: {_escape_foreign(worked.not_done, size.reason)}")
    return "\n".join(rows)


def _decisions(weighed: RatedPlan, size: _Size) -> str:
    decisions = weighed.plan.decisions
    rows = [
        f"{_escape_foreign(each.decision, size.reason)} Why: {_escape_foreign(each.reason, size.reason)}"
        for each in decisions
    ]
    return _list("### Decisions", rows, size.rows)


def _reasons(tree: Sequence[Reason], size: _Size) -> Sequence[str]:
    """The reasons, each with what led to it below; in an outline without that."""
    return [
        "\n".join(
            [
                _escape_foreign(reason.text, size.reason),
                *(f"  - {_escape_foreign(child.text, size.reason)}" for child in reason.children[:10] if size.words),
            ]
        )
        for reason in tree
    ]


def _list(heading: str, entries: Sequence[str], most: int | None = None) -> str:
    """A list under a heading; nothing where there is none."""
    listed = entries[:most]
    more = [f"and {len(entries) - len(listed)} more"] if len(listed) < len(entries) else []
    return "\n".join([heading, "", *(f"- {entry}" for entry in (*listed, *more))]) if entries else ""


# --- commits -------------------------------------------------------------------------------------------------


def render_commit_message(task: Task, run_id: str) -> str:
    """The message of the commit for a task, in which nothing of a model's text acts.

    A message is plain text to git and no Markdown to GitHub, so nothing in it can be made inert by backticks.
    """
    subject = render_headline(task.title, LONGEST_SUBJECT) or f"Work on task {task.id}"
    paragraphs = [_defuse(task.description, 1_000), f"Done when: {_defuse(task.acceptance, 500)}"]
    wrapped = [_wrap(each) for each in paragraphs]
    trailers = f"{RUN_TRAILER}: {run_id}\n{TASK_TRAILER}: {task.id}"
    return "\n\n".join([subject, *(each for each in wrapped if each), trailers]) + "\n"


def render_change_message(title: str, summary: str, run_id: str) -> str:
    """The message of a commit that says what is different now, in which nothing of a model's text acts."""
    subject = render_headline(title, LONGEST_SUBJECT) or "Do what was asked for"
    told = _wrap(_defuse(summary, 1_000))
    return "\n\n".join([subject, *([told] if told else []), f"{RUN_TRAILER}: {run_id}"]) + "\n"


def render_fix_message(sent_back: SendBack, run_id: str) -> str:
    """The message of the commit that mends what a review or tests found, in which nothing of a model's text acts."""
    is_of_checks = bool(sent_back.to_fix) and all(each.rule.startswith(RED_CHECK) for each in sent_back.to_fix)
    found_by_tests = "Fix red checks" if is_of_checks else "Fix failing tests"
    subject = "Fix what the review found" if sent_back.phase is Phase.review else found_by_tests
    rows = [_defuse(f"{each.path} {each.rule}", 200) for each in sent_back.to_fix[:_MENDED]]
    more = [f"and {len(sent_back.to_fix) - len(rows)} more"] if len(sent_back.to_fix) > len(rows) else []
    listed = "\n".join(f"- {row}" for row in (*rows, *more))
    return "\n\n".join([subject, *([listed] if listed else []), f"{RUN_TRAILER}: {run_id}"]) + "\n"


# --- how far it is -------------------------------------------------------------------------------------------


def render_status(progress: Progress, spent: int) -> str:
    """The comment on the issue while its run goes on; it is edited in place.

    :param spent: micro-USD.
    """
    is_over = progress.testing is StepState.done
    begun = "is about to work" if progress.planning is StepState.queued else "is working"
    head = "Forge opened a pull request for this issue" if is_over else f"Forge {begun} on this issue"
    hint = "" if is_over else _ASK
    parts = [f"**{head}**", "\n".join(_phases(progress)), render_spent(spent, hint)]
    return "\n\n".join(part for part in parts if part)


def _phases(progress: Progress) -> Sequence[str]:
    tasks = f", {progress.done} of {name_count(progress.tasks, 'task')}" if progress.tasks else ""
    number = f", #{progress.number}" if progress.number is not None else ""
    phases = [("Planning", progress.planning, "")]
    if progress.approval is not None:
        phases.append(("Approval of the plan", progress.approval, ""))
    fixes = f", {name_count(progress.send_backs, 'fix', 'fixes')}" if progress.send_backs else ""
    phases.append(("Implementation", progress.implementation, f"{tasks}{fixes}"))
    phases.append(("Pull request", progress.pull_request, number))
    phases.append(("Review", progress.review, ""))
    phases.append(("Tests", progress.testing, ""))
    return [
        f"- [{'x' if state is StepState.done else ' '}] {name}: {state.value}{more}" for name, state, more in phases
    ]


# --- why it did not get there --------------------------------------------------------------------------------


def nothing_changed(work: Sequence[TaskReport], *, spent: int) -> str:
    """For a run in which no task changed a file."""
    rows = [f"- **{each.task.id}** {_escape_foreign(each.not_done, 300)}" for each in work if each.not_done]
    parts = [
        "**Nothing was changed, so there is no pull request.**",
        "\n".join(rows),
        f"**Next:** {_NOTHING_LEFT}",
        render_spent(spent),
    ]
    return "\n\n".join(part for part in parts if part)


def report_taken_over(number: int, *, spent: int) -> str:
    """For a draft to whose branch a person pushed: it is theirs."""
    return (
        f"**Someone pushed to the branch of #{number}, so Forge will not push to it any more.** "
        "Forge reviews the pull request like any other.\n\n"
        f"**Next:** continue there, and mark the pull request ready for review when it is.{end_with_spent(spent)}"
    )


def report_closed(number: int, *, is_merged: bool, spent: int) -> str:
    """For a draft that a person merged or closed while Forge still worked on it."""
    if is_merged:
        return f"**#{number} was merged**, so nothing is left to do.{end_with_spent(spent)}"
    return (
        f"**A person closed #{number}**, so Forge stopped.\n\n**Next:** say in a comment what should "
        f"change, then write `/forge run`.{end_with_spent(spent)}"
    )


def report_untested(number: int, *, spent: int) -> str:
    """For a draft whose tests could not be run."""
    return (
        f"**#{number} stays a draft: Forge could not test it.** Its check `Forge / test` says why and what to do."
        "\n\n**Next:** do that and write `/forge test` there: once its tests pass, it becomes ready. Or have a person "
        f"review it and mark it ready.{end_with_spent(spent)}"
    )


def report_given_up(number: int, *, spent: int) -> str:
    """For a draft with faults that nobody wanted tried again."""
    return (
        f"**#{number} stays a draft:** the problems that its review or its tests found are not "
        "fixed.\n\n**Next:** continue there "
        f"by hand, or say in a comment here what should change and write `/forge run`.{end_with_spent(spent)}"
    )


def waits_for_review(number: int, reviewed: ReviewState) -> str:
    """What the comment says below the progress while only a person can bring the review further; else nothing."""
    if reviewed is ReviewState.person:
        question = "has a question that only a person can answer, on that pull request."
        return f"**Waiting for people:** the review of #{number} {question}"
    if reviewed is ReviewState.broken:
        again = "Write `/forge review` there to start a new one, or `/forge cancel` here to end the run."
        return f"**Waiting for people:** the review of #{number} ended without a verdict. {again}"
    return ""


def branch_moved(branch: str, *, spent: int) -> str:
    """For a branch of Forge's that somebody else moved or removed."""
    return (
        f"**Someone changed the branch {inline_code(branch)}, so Forge stopped "
        "pushing to it.** Forge overwrites nothing. Its work since the last push is not on the branch.\n\n"
        "**Next:** continue by hand from there. To have Forge do the work again on its own branch, write "
        f"`/forge run`.{end_with_spent(spent)}"
    )


def push_refused(branch: str, said: str, *, spent: int) -> str:
    """For a push that GitHub does not take.

    :param said: GitHub's reason in its own words.
    """
    allowed = (
        "an admin of the repository allows Forge to create branches named `forge/…` in rulesets and branch protection."
    )
    is_workflow = PushRule.workflows.is_named(said)
    after = UNSIGNED if PushRule.signatures.is_named(said) else WORKFLOWS if is_workflow else allowed
    return (
        f"**GitHub refused the branch {inline_code(branch)}.** "
        f"{_escape_foreign(said, 500) or 'It did not say why.'}\n\n"
        f"**Next:** {after} Then write `/forge run`.{end_with_spent(spent)}"
    )


def names_taken(branch: str, tries: int) -> tuple[str, str]:
    """What happened, and what to do, where others have all the names Forge would give its branch."""
    return (
        f"The branch {branch} exists, and so do {tries - 1} numbered ones.",
        "Delete the ones that nobody needs, then write /forge run.",
    )


def report_foreign_proposal(branch: str, number: int) -> tuple[str, str]:
    """What happened, and what to do, where there is a pull request from the branch that the run did not open."""
    return (
        f"Pull request {number}, which this run did not open, is already open for the branch {branch}.",
        f"Continue in pull request {number}, or close it and write /forge run.",
    )


def not_opened(branch: str, said: str) -> tuple[str, str]:
    """What happened, and what to do, where GitHub does not take the pull request.

    :param said: GitHub's reason.
    """
    return f"GitHub refused a pull request from the branch {branch}: {said}", _BY_HAND


# --- texts of others -----------------------------------------------------------------------------------------

_ASK = "`/forge cancel` on the issue stops the run, `/forge cost` shows its cost."

_NOTHING_LEFT = (
    "say in a comment what is missing, then write `/forge run`. If there is nothing left to do, close the issue."
)
_BY_HAND = (
    "The branch exists: open the pull request by hand. Or check that the repository accepts pull requests and "
    "the App may open them, then write /forge run."
)

_REFERENCE = r"(?=[\w./-]{0,80}[#＃]\d|GH-\d|https?://)"
_CLOSES = re.compile(
    rf"\b(clos(?:e[sd]?|ing)|fix(?:e[sd]|ing)?|resolv(?:e[sd]?|ing))(\s*:\s*|\s+){_REFERENCE}", re.IGNORECASE
)
_MENTION = (re.compile(r"([@＠])(?=\w)"), r"\1 ")
# GitHub pings nobody for a commit message since 2025, and did not before for code between two backticks on one line:
# https://github.com/cue-lang/cue/issues/4026, https://github.com/zulip/zulip/pull/36550
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)")
_DEFUSED: Sequence[tuple[re.Pattern[str], str]] = (
    (re.compile(r"[a-z][a-z0-9+.-]{0,20}://", re.IGNORECASE), ""),
    # An issue, a command of a tracker; not the part of a page, as in /#names
    (re.compile(r"([#＃])(?=\d)|(?<![\w/])([#＃])(?=\w)"), r"\1\2 "),
    (re.compile(r"\bGH-(?=\d)", re.IGNORECASE), "GH "),
    # https://docs.github.com/actions/managing-workflow-runs/skipping-workflow-runs and their like elsewhere
    (re.compile(r"\[([^\[\]]{0,60}(?:skip|no[ _-]?ci)[^\[\]]{0,60})\]", re.IGNORECASE), r"(\1)"),
    (re.compile(r"no_ci", re.IGNORECASE), "no ci"),
    # Trailers: authors, sign-offs, changes, checks to skip, and Forge's own
    (re.compile(r"\b((?:[a-z]{1,20}-){1,3}(?:by|checks|id|run|task))(?:\s*:)+", re.IGNORECASE), r"\1"),
)
# What git takes for a commit to be folded into another, and marks of lists and headings
_LEADING = re.compile(r"(?:\s+|(?:fixup|squash|amend)!|[-–—:;,.#*>|~=•!]+(?:\s+|$))+", re.IGNORECASE)
_TRAILING = " -–—:;,./\\|"


def _escape_foreign(text: str, limit: int) -> str:
    """What a model or a person wrote, as Markdown in which nothing acts.

    A squash makes the description a commit's message, where code closes issues, too: so no closing word is left
    before an issue, wherever it stands.
    """
    return escape(_defuse_closing(_flat(text, limit)), limit)


def _quote_foreign(text: str, limit: int) -> str:
    return inline_code(_defuse_closing(_flat(text, limit)), limit)


def _defuse(text: str, limit: int) -> str:
    """The same for a place where there is no Markdown to make it inert."""
    plain = _defuse_closing(_flat(text, limit))
    for pattern, instead in _DEFUSED:
        plain = pattern.sub(instead, plain)
    return _cut_inert(plain, limit)


def _cut_inert(text: str, limit: int) -> str:
    """The beginning, in which nobody is mentioned, also where the end of some code is lost."""
    shown = _defuse_mentions(cut_text(text, limit))
    return shown if len(shown) <= limit else cut_text(_MENTION[0].sub(_MENTION[1], shown), limit)


def _defuse_mentions(text: str) -> str:
    """What stands in code stays whole."""
    pattern, instead = _MENTION
    shown, end = "", 0
    for code in _CODE.finditer(text):
        inner = code[0] if code[1] == "`" else pattern.sub(instead, code[0])
        shown += pattern.sub(instead, text[end : code.start()]) + inner
        end = code.end()
    return shown + pattern.sub(instead, text[end:])


def _wrap(text: str) -> str:
    """Lines of a commit message; what stands in code stays on one of them."""
    kept = _CODE.sub(lambda code: code[0].replace(" ", "\0"), text)
    return textwrap.fill(kept, _WIDTH, break_long_words=False, break_on_hyphens=False).replace("\0", " ")


def render_headline(text: str, limit: int) -> str:
    """One line of plain text, in which nothing acts, without what does not belong at its ends; may be empty."""
    line = _LEADING.sub("", f" {_defuse(text, 2 * limit)}", count=1)
    return _cut_inert(line.rstrip(_TRAILING), limit)


def _flat(text: str, limit: int) -> str:
    return redact_outgoing(flatten_text(text[: 8 * limit + 4_000]))


def _defuse_closing(text: str) -> str:
    return _CLOSES.sub(r"\1\2issue ", text)


# --- what GitHub refuses --------------------------------------------------------------------------------------

WORKFLOWS = (
    "An owner of the App gives it the permission `workflows` (read and write) in its settings, and whoever installed "
    "it accepts that; or somebody pushes it by hand."
)
UNSIGNED = (
    "GitHub makes Forge's commits and signs them, but did not do so here, as an Enterprise Server that does not sign "
    "web commits. Its admin switches that on, or whoever looks after the repository lets the App bypass the rule that "
    "requires signed commits (ruleset: bypass list)."
)


class PushRule(Enum):
    """What GitHub refuses pushes for, by its words after ``GH006`` (branch protection) or ``GH013`` (rulesets)."""

    signatures = re.compile(r"verified signatures?", re.IGNORECASE)
    no_merges = re.compile(r"must not contain merge commits|linear history", re.IGNORECASE)  # nor in a pull request
    workflows = re.compile(r"without .?workflows.? permission", re.IGNORECASE)  # the App lacks it, on any branch

    def is_named(self, said: str) -> bool:
        return self.value.search(said) is not None


def explain_refused_push(said: str) -> str:
    """GitHub's words, and what they mean for Forge where Forge knows."""
    if PushRule.workflows.is_named(said):
        return f"{said.rstrip('. ')}. {WORKFLOWS}"
    return f"{said.rstrip()} {UNSIGNED}" if PushRule.signatures.is_named(said) else said
