"""Every text with which Forge answers a ``/forge`` command, in one place: what happened, why, what to do next."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType

from domain.gates import STANDARD_GATES
from domain.money import LimitUse, Usage, format_usd
from domain.review.feedback import FindingFeedback
from domain.review.findings import Finding, Severity
from domain.review.reading import EffortCost
from domain.review.review import Review
from domain.runs.run import ReasonCode, Run, RunState
from domain.slash import LONGEST_TEXT, LONGEST_WORDS, MOST_COMMANDS, Problem, SlashCommand, SlashMistake
from domain.text.escaping import code_block, escape, format_moment, inline_code, inline_path, link
from domain.verbs import (
    FIRST,
    FIRST_ON_ISSUE,
    INSTRUCTING,
    SUBJECTS,
    VERBS,
    HelpSubject,
    RequiredRole,
    Verb,
    VerbRow,
)
from messages.memory import describe_learned
from messages.review import name_outcome, render_reasons
from safety.authorization import CommandRefusal, RefusalCode
from safety.authorship import Doubt

MOST_LINES = 30  # rows of a table in an answer
_MOST_CHOICES = 5  # findings that are named instead of one that does not exist
_NOTHING: Mapping[str, Finding] = MappingProxyType({})
_NO_REVIEWS: Mapping[str, Review] = MappingProxyType({})
_NO_NAMES: Mapping[str, str] = MappingProxyType({})

_STATES = {
    RunState.pending: "waiting for a free worker",
    RunState.running: "running",
    RunState.waiting: "waiting",
    RunState.completed: "completed",
    RunState.failed: "failed",
    RunState.cancelled: "cancelled",
}
_REASONS = {
    ReasonCode.superseded: "a newer push or run took over",
    ReasonCode.closed: "the pull request was closed",
    ReasonCode.aborted: "a person stopped it",
    ReasonCode.paused: "Forge is paused here",
    ReasonCode.rate_limited: "GitHub asked Forge to wait",
    ReasonCode.commit_gone: "the commit is gone",
    ReasonCode.excluded: "left out here",
    ReasonCode.access_lost: "Forge lost access",
    ReasonCode.gate: "for a person",
    ReasonCode.watching: "watching what was deployed",
    ReasonCode.deployed: "deployed",
    ReasonCode.rolled_back: "rolled back",
    ReasonCode.gate_rejected: "a person rejected it",
    ReasonCode.gate_timeout: "nobody answered in time",
    ReasonCode.halted: "the operator halted Forge",
    ReasonCode.breaker: "a circuit breaker tripped",
    ReasonCode.budget: "a budget is used up",
    ReasonCode.guard: "a guard stopped it",
    ReasonCode.stuck: "it got stuck",
    ReasonCode.planned: "only a plan was requested",
    ReasonCode.answered: "only a question was asked",
    ReasonCode.questions: "it leaves questions open",
    ReasonCode.in_review: "its pull request is being reviewed and tested",
    ReasonCode.contract: "another run is changing the same contract",
    ReasonCode.turn: "an earlier instruction here is not done yet",
    ReasonCode.committed: "there is a commit on the branch",
    ReasonCode.proposed: "there is a pull request",
    ReasonCode.untested: "its pull request could not be tested; it becomes ready once `/forge test` there passes",
    ReasonCode.unchanged: "it changed nothing",
    ReasonCode.branch_moved: "a person pushed to its branch",
    ReasonCode.error: "an error",
}


@dataclass(frozen=True)
class Answer:
    """What Forge says about one line of a comment.

    :param asked: the line, as it is shown above the answer.
    :param text: Markdown, already neutral.
    """

    asked: str
    text: str


@dataclass(frozen=True)
class PastRun:
    """A run and when it began and ended."""

    run: Run
    began: datetime
    ended: datetime | None


@dataclass(frozen=True)
class Spending:
    """What one model cost in one phase of what runs did for the same reason. ``amount`` in micro-USD.

    :param what: they did, as plain text.
    """

    what: str
    phase: str
    model: str
    calls: int
    usage: Usage
    amount: int


MOST_TOGETHER = 30_000  # characters of the answers to one comment, if it asks for more than one


def compose(answers: Sequence[Answer], marker: str) -> str:
    """The one comment that answers a comment; with several commands each answer stands below what it answers.

    :param answers: those that have a text.
    """
    if len(answers) == 1:
        return f"{answers[0].text}\n\n{marker}"
    parts, said, room = list[str](), set[str](), MOST_TOGETHER
    for answer in answers:
        text = answer.text
        if text in said:
            text = "The same as above."
        elif len(text) > room:
            text = "Left out, because these answers are too long for one comment. Ask this in a separate comment."
        said.add(answer.text)
        room -= len(text)
        parts.append(f"**{inline_code(answer.asked)}**\n\n{text}")
    return "\n\n".join([*parts, marker])


def name_command(asked: SlashCommand | SlashMistake) -> str:
    """How a line is named above its answer."""
    if isinstance(asked, SlashMistake):
        return asked.written
    named = (getattr(asked, part, None) for part in ("finding", "gate", "checkpoint", "environment", "wish"))
    everything = ["all"] if getattr(asked, "everything", False) else []
    return " ".join(["/forge", asked.verb, *(name for name in named if isinstance(name, str)), *everything])


_INTRO = (
    "Write a command at the start of a line, one per line; words of your own go on below it up to the next command. "
    "Edited comments, quotes and code are not read. "
    f"`/forge help VERB` says more about one. They take the role {RequiredRole().least} where no "
    "other is named."
)
_NAMES = (
    "`F-…` is a finding, `C-…` a commit of Forge, `M-…` something it learned, and `GATE` a question that it asks "
    "people: each stands in the comment about it. In a reply to a finding its name can be left out, and where only one "
    "question waits, that of the question."
)


def render_help(is_pull_request: bool, silent: Collection[HelpSubject] = ()) -> str:
    """Answers ``help``: first what people come for, and the rest folded, by subject.

    :param silent: subjects about which there is nothing here; their commands are only named.
    """
    first = FIRST if is_pull_request else FIRST_ON_ISSUE
    head = ["| command | what it does | for example |", "| --- | --- | --- |"]
    parts = [
        _INTRO,
        "\n".join([*head, *(_render_first(VERBS[verb]) for verb in first)]),
        "<details><summary>All other commands</summary>",
    ]
    for subject, verbs in SUBJECTS.items():
        left = [verb for verb in verbs if verb not in first]
        parts += _render_subject(subject, left, is_named=subject in silent) if left else []
    return "\n\n".join([*parts, _NAMES, "</details>"])


def _render_first(row: VerbRow) -> str:
    who = "" if row.role == RequiredRole() else f" (role: {describe_role(row.role)})"
    example = inline_code(f"/forge {row.example}") if " " in row.example else ""
    return f"| {inline_code('/forge ' + row.usage)} | {row.meaning}{who} | {example} |"


def _render_subject(subject: HelpSubject, verbs: Sequence[Verb], *, is_named: bool) -> list[str]:
    if is_named:
        return [f"**{subject}** (none here now): {', '.join(inline_code(verb) for verb in verbs)}"]
    rows = [
        "| command | minimum role | meaning |",
        "| --- | --- | --- |",
        *(render_verb(VERBS[verb]) for verb in verbs),
    ]
    return [f"**{subject}**", "\n".join(rows)]


def explain_verb(verb: Verb) -> str:
    """Answers ``help`` about one verb: what it does, an example, and what happens then."""
    row = VERBS[verb]
    parts = [
        f"{inline_code('/forge ' + row.usage)} (role: {describe_role(row.role)}): {row.meaning}.",
        f"Example: {inline_code('/forge ' + (row.example or verb))}",
        f"Then: {row.then}" if row.then else "",
    ]
    return "\n\n".join(filter(None, parts))


def render_status(
    last: PastRun | None,
    doing: str = "",
    until: datetime | None = None,
    paused_by: str | None = None,
    waits: str = "",
    mode: str = "",
    remark: str = "",
    review: Review | None = None,
) -> str:
    """Answers ``status``.

    :param last: the newest run here.
    :param review: what it came to.
    :param doing: what it does at this moment, or what it waits for.
    :param until: when it goes on by itself.
    :param waits: the gates it waits at, already neutral.
    :param mode: in which it changes files, and who chose that.
    :param remark: what else people should know of it, already neutral.
    """
    lines = [] if paused_by is None else [already_paused(paused_by)]
    if last is None:
        return "\n\n".join([*lines, "Nothing has run here yet."])
    run = last.run
    text = (
        f"Run {inline_code(run.id)} of {inline_code(run.head_sha[:7])}: **{describe_outcome(run, review)}**, since "
        f"{format_moment(last.ended or last.began)}."
    )
    if doing:
        text += f" {escape(doing)}."
    if until is not None:
        text += f" It continues at {format_moment(until)}."
    if waits:
        text += f" {waits}"
    if mode:
        text += f" Mode: {mode}."
    return "\n\n".join(part for part in (*lines, text, remark) if part)


def render_cost(spending: Sequence[Spending], budgets: Sequence[LimitUse]) -> str:
    """Answers ``cost``."""
    parts = [_render_spending(spending)] if spending else ["Forge asked no model here: 0 tokens, 0.00 USD."]
    if budgets:
        rows = [
            f"| {escape(one.name)} | {format_usd(one.used)} | {format_usd(one.limit)} | {_render_left(one)} |"
            for one in budgets
        ]
        parts.append("\n".join(["| limit | used | of | left |", "| --- | --- | --- | --- |", *rows]))
    return "\n\n".join(parts)


def render_history(
    runs: Sequence[PastRun], reviews: Mapping[str, Review] = _NO_REVIEWS, named: Mapping[str, str] = _NO_NAMES
) -> str:
    """Answers ``history``; the newest run comes first.

    :param reviews: what runs came to, by their ids.
    :param named: what instructions ask for, in a few words, by the ids of their runs.
    """
    if not runs:
        return "Nothing has run here yet."
    rows = [
        f"| {format_moment(past.began)} | {inline_code(past.run.head_sha[:7])} | {_name_begin(past.run, named)} | "
        f"{describe_outcome(past.run, reviews.get(past.run.id))} | {_seconds(past)} |"
        for past in runs[:MOST_LINES]
    ]
    table = "\n".join(["| began | head | trigger | end | took |", "| --- | --- | --- | --- | --- |", *rows])
    return table + _more(len(runs), "run")


def _name_begin(run: Run, named: Mapping[str, str]) -> str:
    return inline_code(named[run.id]) if run.id in named else run.trigger.value.replace("_", " ")


def render_verdict(review: Review | None, dismissed: Mapping[str, FindingFeedback]) -> str:
    """Answers ``view`` where no gate waits: the last verdict.

    :param dismissed: by the finding's id.
    """
    if review is None:
        return "No review has finished here yet. `/forge review` starts one."
    level = review.risk.level
    risk = f", risk {level.value} ({review.risk.score} of 100)" if level.is_high else ""
    head = f"Head {inline_code(review.head_sha[:7])}: **{review.decision.value.replace('_', ' ')}**{risk}."
    return "\n\n".join(part for part in (head, render_reasons(review.reasons), _findings(review, dismissed)) if part)


@dataclass(frozen=True)
class EarlierHead:
    """The head that a finding is about, where that is not the newest one.

    :param found_at: where it was found last.
    :param is_reviewed: whether the newest one is, too, and does not have it any more.
    :param is_kept: whether its statement still stands in its file; None if that is not known.
    """

    found_at: str
    newest: str
    is_reviewed: bool
    is_kept: bool | None

    @property
    def sentence(self) -> str:
        newest = inline_code(self.newest[:7])
        told = f"{newest} does not have it any more" if self.is_reviewed else f"{newest} is not reviewed yet"
        lines = {True: " Its code is unchanged.", False: " Its code changed.", None: ""}[self.is_kept]
        return f"Found at {inline_code(self.found_at[:7])}. {told}.{lines}"


def explain_finding(
    finding: Finding, dismissal: FindingFeedback | None = None, earlier: EarlierHead | None = None
) -> str:
    """Answers ``explain`` where no model does: what became of a finding, then what it is."""
    rule, what = link(finding.rule, finding.help_url), escape(finding.message, 2000, is_cell=False)
    head = f"**{finding.id}** · {finding.severity.value} · {finding.category.value} · {inline_path(finding.where)}"
    origin = f"Rule {rule}, confidence {finding.confidence:.0%}."
    if dismissal is not None:
        return "\n\n".join([head, f"{_describe_dismissal(dismissal)}. It does not count.", what, origin])
    if earlier is not None:
        return "\n\n".join([head, earlier.sentence, f"It said: {what}", origin])
    blocks = "It blocks" if finding.severity.rank >= Severity.error.rank else "It does not block"
    fix = [] if finding.fix is None else ["Suggested fix:\n\n" + code_block(finding.fix.replacement)]
    wrong = f"Wrong or not wanted? `/forge dismiss {finding.id} reason` ({describe_role(VERBS[Verb.dismiss].role)})."
    return "\n\n".join([head, f"Open. {blocks} the pull request.", what, origin, *fix, wrong])


def ask_to_explain(finding: Finding) -> str:
    """The question that ``explain`` is to a model."""
    return f"Explain {finding.id}: why is it a problem, what happens if it stays, and how is it best fixed?"


def confirm_resolved_dismissal(remark: Sequence[Finding], login: str, taught: Mapping[str, Finding] = _NOTHING) -> str:
    """The receipt for a thread that a person resolved without a change.

    :param remark: what its comment says.
    :param taught: see :func:`messages.memory.describe_learned`.
    """
    first = remark[0]
    named, is_one = name_findings(remark), len(remark) == 1
    return (
        f"{inline_code(login)} resolved this thread without a change, so {named} "
        f"{'is' if is_one else 'are'} dismissed. "
        f"{mention_memories(taught)}`/forge undismiss {first.id if is_one else 'F-ID'}` undoes this; "
        f"`/forge dismiss {first.id if is_one else 'F-ID'} reason` adds why."
    )


def name_findings(remark: Sequence[Finding]) -> str:
    return ", ".join(f"**{finding.id}**" for finding in remark)


def confirm_undismissal(finding: Finding) -> str:
    """The receipt for ``undismiss``."""
    return f"**{finding.id}** counts again: the check says so now, and its thread opens with the next push."


def already_dismissed(finding: Finding, dismissal: FindingFeedback) -> str:
    return f"**{finding.id}** is dismissed already. {_describe_dismissal(dismissal)}"


def not_dismissed(finding: Finding) -> str:
    return f"**{finding.id}** is not dismissed, so there is nothing to undo."


def no_such_finding(name: str, near: Sequence[str] = (), there: Sequence[Finding] = ()) -> str:
    """For a finding this pull request does not have.

    :param near: ids that look like it.
    :param there: those that it could have named.
    """
    if near:
        meant = f"Did you mean {' or '.join(map(inline_code, near))}?"
    elif there:
        more = (
            f" and {len(there) - _MOST_CHOICES} more, which `/forge view` lists" if len(there) > _MOST_CHOICES else ""
        )
        named = (f"{inline_code(each.id)} ({inline_path(each.where)})" for each in there[:_MOST_CHOICES])
        meant = f"There {'is' if len(there) == 1 else 'are'} {', '.join(named)}{more}."
    else:
        meant = "None is open: `/forge view` shows the last verdict."
    return f"There is no finding {inline_code(name)} here. {meant}"


def which_finding(verb: Verb) -> str:
    """For a reply in a thread that is not a finding's own."""
    return f"This is not the thread of a finding. Name the finding: {inline_code('/forge ' + VERBS[verb].usage)}."


def confirm_review(head_sha: str, full: bool = False, is_ok: bool = False, cost: EffortCost | None = None) -> str:
    """The receipt for ``review``.

    :param cost: of the effort that was asked for.
    """
    text = f"Reviewing {inline_code(head_sha[:7])}{' from scratch' if full else ''}; the check shows the progress."
    allowed = " This also allows checks of this head, and only of this one." if is_ok else ""
    return text + (f" {_tell_cost(cost)}" if cost is not None else "") + allowed


def _tell_cost(cost: EffortCost) -> str:
    """Before it is spent: which model reads, what the last time took, and where it ends."""
    if not cost.model:
        return f"Effort {inline_code(cost.effort.value)} changes nothing: no model can be asked."
    used = f"{cost.last_tokens:,} tokens and {format_usd(cost.last_cost)} with {inline_code(cost.last_model)}"
    last = f" The last review here took {used};" if cost.last_model else ""
    end = f" this one takes {format_usd(cost.most)} at most (`budgets.phase.review`), and its check says what it took."
    told = f"Effort {inline_code(cost.effort.value)}: {inline_code(cost.model)} reads it."
    return told + last + (end if last else end.replace(" this", " This", 1))


def confirm_test(head_sha: str, is_ok: bool = False) -> str:
    """The receipt for ``test``."""
    text = f"Testing {inline_code(head_sha[:7])}; the check `Forge / test` shows the progress."
    return text + (" This also allows checks of this head, and only of this one." if is_ok else "")


def not_looked_at(head_sha: str) -> str:
    """For a head that no run is about, which therefore nobody can account for."""
    return f"{inline_code(head_sha[:7])} has not been reviewed yet. Write `/forge review`, then `/forge test`."


def not_reviewed_again(head_sha: str, why: str) -> str:
    """:param why: that this head was reviewed before, or is being reviewed."""
    return f"{inline_code(head_sha[:7])}: {why}; see its check. `/forge review full` starts again."


def budget_waits() -> str:
    """For somebody who may not let a stopped run go on, and asks for a new one."""
    role = STANDARD_GATES["guard"].role
    return f"A guard or a budget here is waiting for a person with the role {role}, so a new review is not allowed."


NOTHING_TO_REVIEW = "There is no open pull request here to review."


def head_moved(head_sha: str) -> str:
    """For a command about a head that is not the newest any more (T-F3)."""
    return f"The head moved to {inline_code(head_sha[:7])} after you wrote this. Look at it, then ask again."


def confirm_cancel(run: Run, verb: Verb | None = None) -> str:
    """:param verb: by which the run was asked for; None: of the review or the issue's run."""
    again = verb or (Verb.run if run.is_of_issue else Verb.review)
    stopped = f"Run {inline_code(run.id)} was stopped. Its comments stay."
    return f"{stopped} {inline_code(f'/forge {again}')} starts another one."


TESTS_STOPPED = "The tests were stopped. `/forge test` starts them again."


def nothing_to_cancel(deployed_to: Sequence[str] = ()) -> str:
    """That no run is here to cancel.

    :param deployed_to: environments that something is being deployed to from here.
    """
    if not deployed_to:
        return "Nothing is running here."
    commands = " and ".join(inline_code(f"/forge deploy {name} cancel") for name in deployed_to)
    return f"Nothing is running here but deployments. {commands} ends them."


def confirm_pause(stopped: int) -> str:
    """The receipt for ``pause``.

    :param stopped: how many runs it ended.
    """
    ended = {0: "nothing was running", 1: "one run was stopped"}.get(stopped, f"{stopped} runs were stopped")
    return f"Forge is paused in this repository ({ended}). It does nothing here until `/forge unpause`."


UNPAUSED = "Forge works again in this repository. `/forge review` reviews heads pushed during the pause."
NOT_PAUSED = "Forge was not paused."


def only_on_pull_requests(verb: Verb) -> str:
    return f"{inline_code('/forge ' + verb)} works on pull requests only."


def only_on_issues(verb: Verb) -> str:
    return f"{inline_code('/forge ' + verb)} works on issues only."


NO_ANSWER = ""
"""Answers what needs no words: the run of an issue that begins shows that in a comment of its own."""
RESUMED = "The run continues from its work so far and pays for nothing again. Its comment above shows the progress."
"""For a run of an issue that goes on after it ended; its comment stands further up."""


def not_begun(outcome: str) -> str:
    """:param outcome: why no run begins, as a clause about the issue."""
    return f"Not started: {outcome}. `/forge status` shows what Forge is doing here."


RUNS_OFF = "Not started: `issues.run: false` in `.github/forge.yml` switches this off here. `/forge plan` still plans."
"""Where a repository does not want issues to be carried out."""


def ask_to_resolve_too(refusal: CommandRefusal) -> str:
    """Where it takes two people to resolve a thread."""
    return (
        f"Noted: resolving this takes two people, because {explain_doubt(refusal)}. The findings count until somebody "
        f"else with the role {refusal.needed} opens this thread and resolves it again."
    )


def refuse(refusal: CommandRefusal, login: str) -> str:
    """For somebody who may not do what they ask."""
    command, who = inline_code(f"/forge {refusal.verb}"), inline_code(login)
    match refusal.code:
        case RefusalCode.app:
            return f"Refused: {command} from an App. Only people can give commands."
        case RefusalCode.edited:
            return f"Refused: {command} in an edited comment. Write a new one."
        case RefusalCode.author:
            return f"Refused: {command} is not for the author of the change. {_somebody_else(refusal)} {AUTHORS}"
        case RefusalCode.second:
            return (
                f"Noted: {command} takes two people here, because {explain_doubt(refusal)}. It takes effect "
                f"once somebody else with the role {refusal.needed} writes the same."
            )
        case RefusalCode.requester:
            return f"Refused: {command} is not for the requester. {_somebody_else(refusal)}"
        case RefusalCode.role:
            why = ", because it lets the code of a fork run" if refusal.fork else ""
            also = ", or whoever opened it" if VERBS[refusal.verb].role.or_author else ""
            return f"Refused: {command} needs the role {refusal.needed}{also}{why}; {who} has {escape(refusal.held)}."


AUTHORS = "Its authors are whoever opened it, pushed to it, or asked Forge for a commit to it."
"""Who counts as one, for somebody who does not see themselves as one."""


def explain_doubt(refusal: CommandRefusal) -> str:
    """Why one person is not enough."""
    match refusal.doubt:
        case Doubt.app:
            return "an App pushed part of the change, and nobody knows who made it do that"
        case Doubt.unknown:
            return "GitHub does not say who pushed part of the change"
        case _:
            return f"everybody with the role {refusal.needed} wrote part of the change, or had Forge commit to it"


ASK_TO_REPEAT = (
    "Forge was updated while this comment waited for GitHub: its commands may be done, in part or not "
    "at all. `/forge status` shows the current state; repeat what is missing."
)
"""For a comment that waited while Forge was updated, so that nobody knows how far it was carried out."""


def too_many_comments(login: str, why: str) -> str:
    """For somebody without a role here who comments too much; told once in an hour, then nothing is answered.

    :param why: what was counted.
    """
    return (
        f"Nothing was done: {escape(why)}. Forge listens to {inline_code(login)} again in "
        "an hour and ignores such comments until then."
    )


def cannot_ask(login: str) -> str:
    """For a moment in which GitHub does not say what somebody may do: nothing is done (T-P10)."""
    return (
        f"GitHub did not say what {inline_code(login)} may do here, so Forge did nothing. Write the command again "
        "later."
    )


def report_failure(message: str) -> str:
    """For a command that was allowed and failed."""
    return f"This failed, at least in part: {escape(message)} `/forge status` shows the current state."


def explain_mistake(made: SlashMistake) -> str:
    """For a line that begins with ``/forge`` and is no command."""
    said, usage = inline_code(made.written), inline_code(made.usage or "/forge help")
    match made.problem:
        case Problem.no_verb:
            return "What should Forge do? `/forge help` lists the commands."
        case Problem.unknown_verb:
            meant = f"Did you mean {usage}?" if made.verb else "`/forge help` lists the commands."
            return f"{said} is not a command. {meant}{_point_to_do(made)}"
        case Problem.merges:
            return f"{said} is not a command: people merge, on GitHub. `/forge update` takes the base into the branch."
        case Problem.near_miss:
            return (
                f"{said} is not a command. It has to begin with `/forge` in plain letters and a plain blank, and some "
                f"character there is another one, missing or too many. Usage: {usage}."
            )
        case Problem.no_finding:
            return (
                f"{said} does not name a finding. Usage: {usage}. `/forge view` lists the findings.{_point_to_do(made)}"
            )
        case Problem.too_long:
            longest = LONGEST_WORDS if made.verb in INSTRUCTING else LONGEST_TEXT
            return f"{said} is too long: a text can have {longest:,} characters."
        case Problem.too_many:
            return f"A comment can have {MOST_COMMANDS} commands. Skipped: {said} and everything after it."
        case Problem.malformed:
            return f"{said} is not valid. Usage: {usage}."


def _point_to_do(made: SlashMistake) -> str:
    return " To have something done in your own words: `/forge do …`." if made.has_words and _may_be_do(made) else ""


def _may_be_do(made: SlashMistake) -> bool:
    """Whether it may be an instruction: what is about a finding is not, but for what is to be fixed."""
    return made.problem is Problem.unknown_verb or made.verb is Verb.fix


def mention_memories(taught: Mapping[str, Finding]) -> str:
    return f"{describe_learned(taught)} " if taught else ""


def _somebody_else(refusal: CommandRefusal) -> str:
    return f"Someone else here has the role {refusal.needed}, and can."


def render_verb(row: VerbRow) -> str:
    """One row of the table of verbs, for ``help`` and for the docs."""
    return f"| {inline_code('/forge ' + row.usage)} | {describe_role(row.role)} | {row.meaning} |"


def describe_role(needed: RequiredRole) -> str:
    """The least role for a verb, and the cases that need another one."""
    cases = {
        "on a fork": needed.on_fork,
        "to set it": needed.to_set,
        "production": needed.in_production,
        "here": needed.here,
    }
    least = "the gate's role" if needed.is_gates else needed.least
    least += ", not the author where others have it" if needed.not_author else ""
    least += ", or the author" if needed.or_author else ""
    return "; ".join([least, *(f"{case}: {role}" for case, role in cases.items() if role)])


def name_state(state: RunState) -> str:
    """The word for where a run stands."""
    return _STATES[state]


def describe_outcome(run: Run, review: Review | None) -> str:
    """Where a run stands; if it is over and came to a verdict, that verdict, as its check says it."""
    return describe_state(run) if review is None or run.state is not RunState.completed else name_outcome(review)


def describe_state(run: Run) -> str:
    """Where a run stands, and why."""
    why = _REASONS.get(run.reason)
    return name_state(run.state) + (f" ({why})" if why else "")


def _seconds(past: PastRun) -> str:
    return "" if past.ended is None else f"{(past.ended - past.began).total_seconds():.0f} s"


def _render_spending(spending: Sequence[Spending]) -> str:
    rows = [
        f"| {escape(one.what, 100)} | {escape(one.phase)} | {inline_code(one.model)} | {one.calls} | "
        f"{one.usage.input_tokens:,} | {one.usage.output_tokens:,} | {format_usd(one.amount)} |"
        for one in spending[:MOST_LINES]
    ]
    head = ["| what | phase | model | calls | tokens in | tokens out | cost |", f"|{' --- |' * 7}"]
    calls, amount = sum(one.calls for one in spending), sum(one.amount for one in spending)
    total = f"| **all** | | | {calls} | | | {format_usd(amount)} |"
    return "\n".join([*head, *rows, total])


def _render_left(budget: LimitUse) -> str:
    return format_usd(max(0, budget.limit - budget.used))


def _findings(review: Review, dismissals: Mapping[str, FindingFeedback]) -> str:
    everything = review.all_findings
    held = {each.finding.id for each in review.held}
    if not everything:
        return "No findings."
    rows = [
        f"| {finding.id} | {finding.severity.value} | {inline_path(finding.where)} | {escape(finding.message, 160)} | "
        f"{'suppressed' if finding.id in held else _dismissal_cell(dismissals.get(finding.id))} |"
        for finding in everything[:MOST_LINES]
    ]
    head = ["| finding | severity | where | what | |", "| --- | --- | --- | --- | --- |"]
    return "\n".join([*head, *rows]) + _more(len(everything), "finding")


def _dismissal_cell(dismissal: FindingFeedback | None) -> str:
    return "" if dismissal is None else f"dismissed by {inline_code(dismissal.by)}"


def _describe_dismissal(dismissal: FindingFeedback) -> str:
    when, why = format_moment(dismissal.at), escape(dismissal.reason, LONGEST_TEXT)
    return f"Dismissed by {inline_code(dismissal.by)} on {when}: {why}"


def confirm_left_alone(*, is_stopped: bool) -> str:
    """The receipt for ``pause here``."""
    ended = " What was running is stopped." if is_stopped else ""
    return f"Forge leaves this alone until `/forge unpause here`.{ended} It still answers commands."


LOOKED_AFTER = "Forge looks after this again. `/forge review` reviews what was pushed meanwhile."
NOT_LEFT_ALONE = "Forge was not told to leave this alone."


def already_paused(by: str) -> str:
    return f"Forge is paused in this repository by {inline_code(by)}; `/forge unpause` lets it work again."


def _more(count: int, noun: str) -> str:
    left = count - MOST_LINES
    return f"\n\nand {left} more {noun}{'' if left == 1 else 's'}" if left > 0 else ""
