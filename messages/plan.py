"""Every text about planning an issue: how far it is, the plan or the questions, and why there is none."""

from collections.abc import Sequence
from enum import StrEnum

from domain.errors import ForgeError
from domain.gates import Gate
from domain.money import Refusal
from domain.runs.plan import LONGEST_WORDS, HeldContract, Plan, RatedPlan, Task, sort_tasks
from domain.runs.run import Phase, ReasonCode
from domain.text.escaping import escape, inline_code, join_paragraphs, name_some
from messages.audit import end_with_spent, render_spent
from messages.review import render_reasons

_SHOWN = 12  # files of a task, and areas, that are named
_ALL = 1_000  # characters: no part of a plan has more
_SHORT = 2_000  # characters of a plan that stands open
_LONGEST = 50_000  # characters of a plan; GitHub takes 65,536 in a comment, which says more than that
_ANEW = "`/forge plan` makes a new plan."


class StepState(StrEnum):
    """Where a step of planning stands."""

    done = "done"
    queued = "queued until a worker is free"
    now = "now"
    next = "next"


def render_progress(steps: Sequence[tuple[str, StepState]], spent: int) -> str:
    """The comment while planning goes on; it is edited in place.

    :param steps: what is done in which order, and where each step stands.
    :param spent: micro-USD.
    """
    rows = [
        f"- [{'x' if state is StepState.done else ' '}] {escape(step, 200)}: {state.value}" for step, state in steps
    ]
    hint = "`/forge cancel` stops it."
    if all(state is StepState.done for _, state in steps):
        title, hint = "Forge planned this issue", ""
    elif any(state is StepState.queued for _, state in steps):
        title = "Forge is about to plan this issue"
    else:
        title = "Forge is planning this issue"
    return join_paragraphs([f"**{title}**", "\n".join(rows), render_spent(spent, hint)])


def note_kept(version: int, why: str) -> str:
    """What becomes of the plan that people saw.

    :param why: why it is made anew, as a clause; empty if it is carried out.
    """
    return f"Plans anew: {why} since version {version}." if why else f"Carries out the plan, version {version}."


def render_comment(weighed: RatedPlan, *, version: int, spent: int) -> str:
    """The plan where only that was asked for; folded where it is long, and only its outline where GitHub takes no more.

    :param version: 1 for the first plan of this issue.
    :param spent: what planning cost so far, in micro-USD.
    """
    end = [f"**Next:** {_NEXT} {_CHANGE}", render_spent(spent)]
    title, details = _plan_title(weighed, version), join_paragraphs(_details(weighed))
    whole = _fold(title, details) if len(details) > _SHORT else [f"**{title}**", details]
    return _fit(whole, [f"**{title}**", *_outline(weighed)], end)


def render_details(weighed: RatedPlan, *, version: int) -> str:
    """The plan below how far its run is, to be opened by whoever wants to see it.

    :param version: 1 for the first plan of this issue.
    """
    start = f"<details><summary>{_plan_title(weighed, version)}</summary>"
    return _fit([start, *_details(weighed)], [start, *_outline(weighed)], [_CHANGE, "</details>"])


def render_question(weighed: RatedPlan, *, version: int) -> str:
    """The whole plan in the question whether it may be carried out, which names its risk and the reasons.

    What is long is folded; what GitHub does not take in a comment ends with a whole line.

    :param version: 1 for the first plan of this issue; 0 for that of an instruction.
    """
    title = _plan_title(weighed, version)
    change = _CHANGE if version else _CHANGE_INSTRUCTION
    text = _cut_lines(join_paragraphs(_details(weighed, with_risk=False)), _LONGEST)
    return join_paragraphs([*(_fold(title, text) if len(text) > _SHORT else [f"**{title}**", text]), change])


def _fold(title: str, text: str) -> list[str]:
    return [f"<details><summary><b>{title}</b></summary>", text, "</details>"]


def _cut_lines(text: str, most: int) -> str:
    """As many whole lines as have room: each part of a plan is one, so that none ends within code."""
    lines = text.split("\n")
    while sum(len(line) + 1 for line in lines) > most:
        lines.pop()
    left = text.count("\n") + 1 - len(lines)
    return "\n".join([*lines, *(["", f"…{left:,} more lines"] if left else [])])


def _fit(whole: Sequence[str], outline: Sequence[str], end: Sequence[str]) -> str:
    """The text, or its outline where it would be longer than GitHub takes."""
    text = join_paragraphs([*whole, *end])
    return text if len(text) <= _LONGEST else join_paragraphs([*outline, *end])


def _plan_title(weighed: RatedPlan, version: int) -> str:
    about = f"this issue, version {version}" if version else "this instruction"
    return f"Plan for {about} · risk {weighed.level.value}"


def render_summary(weighed: RatedPlan | None) -> str:
    """The newest plan of an issue, in brief."""
    if weighed is None:
        return "This issue has no plan yet. `/forge plan` asks for one."
    return join_paragraphs(["**The newest plan of this issue**", *_brief(weighed)])


QUESTIONS_ASKED = "**Forge asks before it plans this issue.** Its questions are in the comment below."
"""How far a run is that ended with questions."""


def render_questions(asked: Sequence[str], *, plans_only: bool, spent: int) -> str:
    """What the planner has to know first.

    :param plans_only: whether only a plan was asked for.
    """
    command = "/forge plan" if plans_only else "/forge run"
    rows = [f"{number}. {escape(question, LONGEST_WORDS)}" for number, question in enumerate(asked, 1)]
    return join_paragraphs(
        [
            "**Forge has questions before it can plan this issue**",
            "The issue does not say enough, so a plan would be a guess.",
            "\n".join(rows),
            f"**Next:** answer in a comment or in the issue itself, then write `{command}`.",
            render_spent(spent),
        ]
    )


NOTHING_TO_DO = "**There is nothing to do for this issue.** Why is in the comment below."
"""How far a run is whose planner found nothing to change."""


def render_nothing_to_do(why: str, *, plans_only: bool, spent: int) -> str:
    """Why nothing is planned, in the planner's words.

    :param plans_only: whether only a plan was asked for.
    """
    command = "/forge plan" if plans_only else "/forge run"
    return join_paragraphs(
        [
            f"**Nothing to do:** {escape(why, LONGEST_WORDS)}",
            f"**Next:** close the issue, or say in a comment what is to be changed, then write `{command}`.",
            render_spent(spent),
        ]
    )


def no_model(missing: str = "") -> str:
    """For an issue that cannot be planned, because no model can be asked.

    :param missing: what exactly is missing, one sentence.
    """
    return (
        f"**Not planned: no model is available.** {escape(missing) or 'No key of a provider is set.'}\n\n"
        "**What to do:** the operator of Forge sets the key of a provider, such as `ANTHROPIC_API_KEY`, "
        "and restarts Forge; `forge doctor` checks it. Then give the command again."
    )


CLOSED = "**Not planned: this issue is closed.** Reopen it and write `/forge plan` if it should be planned."
"""For a closed issue."""


def report_stop(why: ReasonCode, *, spent: int) -> str:
    """For a run that something else put an end to before there was a plan."""
    what, now = _STOPPED.get(why, "the run ended"), _NOW.get(why, _ANEW)
    return f"**This run was stopped:** {what}. {now}{end_with_spent(spent)}"


def report_rejection(gate: Gate, *, spent: int) -> str:
    """For a run that people did not let leave a phase.

    :param gate: of the repository's own, at which they said so.
    """
    decision = gate.decision
    by = decision.by_login if decision is not None else ""
    why = (
        f"{inline_code(by)} rejected {inline_code(gate.name)}"
        if by
        else f"nobody answered {inline_code(gate.name)} in time"
    )
    kept = "Nothing was changed." if gate.request.phase is Phase.planning else "Its draft pull request stays as it is."
    return f"**This run was stopped:** {why}. {kept} `/forge run` starts again.{end_with_spent(spent)}"


def report_failure(error: ForgeError, run_id: str, *, spent: int) -> str:
    """For a run that could not be finished."""
    advice = escape(error.advice) or "Write `/forge plan`; if it happens again, ask the operator of Forge."
    return (
        f"**Forge could not finish its work on this issue**\n\n**What happened:** {escape(error.message)}\n\n"
        f"**What to do:** {advice}\n\nRun {inline_code(run_id)}.{end_with_spent(spent)}"
    )


def report_stuck(why: str, *, spent: int) -> str:
    """For a run whose agent does not get on.

    :param why: one sentence.
    """
    return (
        f"**Forge is stuck on this issue.** {escape(why)}\n\n"
        "**What to do:** write `/forge run` or `/forge plan` to try again. It helps if the issue says "
        f"more about the goal, or asks for less at once.{end_with_spent(spent)}"
    )


def waits_for_contracts(held: Sequence[HeldContract]) -> str:
    """What the comment says below the progress while other runs change the same contracts.

    :param held: what they hold.
    """
    return f"**Waiting for other runs:** {_holders(held)}. This run continues once that work is done."


def contracts_held(held: Sequence[HeldContract], *, spent: int) -> str:
    """For a run that waited too long for contracts, because others change them.

    :param held: what others hold.
    """
    return (
        f"**Not started after a day of waiting:** {_holders(held)}. Two runs never change the same contract at "
        "once.\n\n"
        f"**What to do:** write `/forge run` once that work is done.{end_with_spent(spent)}"
    )


def contracts_gone(names: Sequence[str]) -> tuple[str, str]:
    """What happened, and what to do, where contracts were lost between the last look and the push."""
    return (
        f"Another run took the lock on {name_some(names)} before this change was pushed, so Forge did not push it.",
        "Write /forge run once that run is done.",
    )


def contracts_lost(contracts: Sequence[str], *, spent: int) -> str:
    """For a run that held contracts, was not heard of for too long, and lost them to another.

    :param contracts: their names.
    """
    named = f"the contract{'' if len(contracts) == 1 else 's'} {_places(contracts)}"
    return (
        f"**This run was stopped: another run took {named}** after "
        "Forge lost contact with this one. Its "
        "work so far is kept, and Forge pushes nothing more.\n\n"
        "**What to do:** write `/forge run` to start again on top of the other run's work."
        f"{end_with_spent(spent)}"
    )


def nothing_granted(paths: Sequence[str], *, spent: int) -> str:
    """For a plan of which nothing is left, because nobody let agents change protected files.

    :param paths: those files.
    """
    return (
        f"**Nothing was changed:** the plan changes only protected files ({_places(paths)}), and nobody allowed "
        "Forge to change them.\n\n**What to do:** change them by hand, or write `/forge run` to be asked again."
        f"{end_with_spent(spent)}"
    )


def report_refusal(refusal: Refusal, *, spent: int) -> str:
    """For planning that a budget, a breaker or a guard stopped."""
    asks = f" A person decides at {inline_code(refusal.gate)}." if refusal.gate else ""
    advice = escape(refusal.advice) or _ANEW
    return (
        f"**This run was stopped by a limit.** {escape(refusal.message)}\n\n"
        f"**What to do:** {advice}{asks}{end_with_spent(spent)}"
    )


def explain_refusal(refusal: Refusal) -> str:
    """Why a limit stopped it, and what to do, for whoever asked for it on a pull request."""
    if refusal.is_decided:
        return f"At the gate {refusal.check.name} nobody let it use more."
    return f"{refusal.message} {refusal.advice}".strip()


_NEXT = (
    "nothing happens on its own, because you asked only for a plan. `/forge run` carries it out, and "
    "asks for approval first if the risk is high."
)
_CHANGE = "To change it, reply in a comment and write the command again. Forge then makes a new version."
_CHANGE_INSTRUCTION = "To change it, approve it `with:` what it lacks, or reject it and ask in other words."

_STOPPED = {
    ReasonCode.superseded: "a newer run of this issue took over",
    ReasonCode.closed: "the issue was closed",
    ReasonCode.aborted: "a person stopped it",
    ReasonCode.paused: "a person paused Forge in this repository",
    ReasonCode.access_lost: "Forge lost access to the repository",
    ReasonCode.commit_gone: "the commit it looked at is gone",
    ReasonCode.gate_rejected: "a person rejected the plan",
    ReasonCode.gate_timeout: "its question expired, as nobody answered in time",
}
_NOW = {
    ReasonCode.superseded: "See its comment.",
    ReasonCode.aborted: "`/forge plan` makes a new plan; `/forge resume` continues a stopped `/forge run`.",
    ReasonCode.closed: "Reopen it and write `/forge plan` to plan it again.",
    ReasonCode.paused: "After `/forge unpause`, `/forge plan` makes a new plan.",
    ReasonCode.access_lost: "Once it is installed again, `/forge plan` makes a new plan.",
    ReasonCode.gate_rejected: "Say in a comment what should change, then write `/forge plan`.",
    ReasonCode.gate_timeout: "`/forge run` asks again, about the same plan if nothing changed.",
}


def _details(weighed: RatedPlan, *, with_risk: bool = True) -> list[str]:
    """The whole plan in sections."""
    plan = weighed.plan
    rows = [f"- {escape(each.decision, _ALL)} Why: {escape(each.reason, _ALL)}" for each in plan.decisions]
    return [
        escape(plan.summary, _ALL),
        _section("### Tasks", [_task(number, task) for number, task in enumerate(sort_tasks(plan), 1)]),
        _architecture(plan),
        _section("### Decisions", rows),
        f"{_risk(weighed)}\n\n{render_reasons(weighed.reasons)}" if with_risk else "",
        _bounds(plan, is_whole=True),
    ]


def _outline(weighed: RatedPlan) -> list[str]:
    """The same, of bounded length whatever the planner wrote."""
    summary, *rest = _brief(weighed)
    return [
        summary,
        "The plan is too long for one comment, so this leaves out descriptions, files and decisions.",
        *rest,
    ]


def _brief(weighed: RatedPlan) -> list[str]:
    """The plan without descriptions, files and decisions."""
    plan = weighed.plan
    return [
        escape(plan.summary, 600),
        _section("### Tasks", [_entry(number, task) for number, task in enumerate(sort_tasks(plan), 1)]),
        f"{_risk(weighed)}\n\n{render_reasons([each.model_copy(update={'children': ()}) for each in weighed.reasons])}",
        _bounds(plan),
    ]


def _risk(weighed: RatedPlan) -> str:
    return f"### Risk: {weighed.level.value}"


def _entry(number: int, task: Task) -> str:
    after = f" (after {', '.join(task.depends_on)})" if task.depends_on else ""
    return f"{number}. **{task.id}** {escape(task.title, 200)}{after}"


def _task(number: int, task: Task) -> str:
    """An entry of the list, with its details below."""
    indent = " " * len(f"{number}. ")
    files = [f"{indent}- Files: {_places(task.files, is_whole=True)}"] if task.files else []
    return "\n".join(
        [
            _entry(number, task),
            f"{indent}- {escape(task.description, _ALL)}",
            f"{indent}- Done when: {escape(task.acceptance, _ALL)}",
            *files,
        ]
    )


def _architecture(plan: Plan) -> str:
    parts = [(part.name, part.purpose) for part in plan.components]
    parts += [(part.name, part.description) for part in plan.interfaces]
    rows = [f"- {inline_code(name, 200)}: {escape(text, _ALL)}" for name, text in parts]
    return _section("### Components and interfaces", rows)


def _section(heading: str, rows: Sequence[str]) -> str:
    """A list under a heading; nothing where there is none."""
    return "\n".join([heading, "", *rows]) if rows else ""


def _bounds(plan: Plan, is_whole: bool = False) -> str:
    rows = [f"- May change: {_places(plan.allowed_areas, is_whole)}"]
    if plan.forbidden_areas:
        rows.append(f"- Stays as it is: {_places(plan.forbidden_areas, is_whole)}")
    if plan.contracts:
        rows.append(f"- Changes contracts: {_places(plan.contracts, is_whole)}")
    rows.append(f"- Estimate: about {plan.estimate.lines:,} changed lines, {plan.estimate.minutes:,} minutes of work")
    return _section("### Bounds", rows)


def _places(places: Sequence[str], is_whole: bool = False) -> str:
    most = len(places) if is_whole else _SHOWN
    more = [f"{len(places) - most} more"] if len(places) > most else []
    return ", ".join([*(inline_code(place, 300 if is_whole else 100) for place in places[:most]), *more])


def _holders(held: Sequence[HeldContract]) -> str:
    """Which contracts other runs hold, and which runs."""
    return "; ".join(
        f"the contract {inline_code(each.contract, 100)} is locked by {_holder(each)}" for each in held[:_SHOWN]
    )


def _holder(holding: HeldContract) -> str:
    if holding.number is None:
        return "another run"
    shown_in = "" if holding.pull_request is None else f", which opened #{holding.pull_request}"
    return f"the run of #{holding.number}{shown_in}"
