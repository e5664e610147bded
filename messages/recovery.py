"""Every text about an agent that gave up in disguise: the question, the attempts so far, and how a run ends there."""

from collections.abc import Sequence
from itertools import pairwise

from domain.gates import Choice, Gate, GateState, Option
from domain.review.avoidance import INSTEAD, LEGITIMATE, TITLES
from domain.runs.recovery import (
    LEAST_CONFIDENCE,
    MOST_ATTEMPTS,
    AgentMake,
    HiddenFailure,
    RecoveryAttempt,
    RecoveryTrigger,
    Strategy,
    select_counted,
)
from domain.text.escaping import escape, inline_code, inline_path
from domain.verdicts import Reason
from messages.audit import end_with_spent
from messages.gates import label_gate

NAME = "recovery"
PROMPT = "An agent hides a failure instead of mending it, and does not get on by itself. How shall it go on?"
_OTHER_AGENT = Option(command=f"/forge delegate {NAME} agent", effect="another agent tries it")
_OPTIONS = (
    Option(command=f"/forge approve {NAME} with: what to do", effect="it tries once more, with your words"),
    Option(command="/forge retry", effect=f"it tries {MOST_ATTEMPTS} times more"),
    Option(
        command=f"/forge reject {NAME} reason",
        effect="the agent stops; what was committed before stays, and a person has to mend it",
    ),
    Option(command=f"/forge view {NAME}", effect="shows the attempts in detail"),
    Option(command=f"/forge delegate {NAME} @account", effect="asks someone else with permission to decide"),
    Option(command="/forge abort", effect="ends the run"),
)
_SHOWN, _LONGEST = 20, 600  # places that are named, and characters of an answer
_STRATEGIES = {
    Strategy.cause: "take it back and fix the cause",
    Strategy.restore: "a smaller step: first bring back what was taken away",
    Strategy.context: "with what was taken away and the code around, name the cause first",
    Strategy.guided: "as a person said",
}
_AGENTS = {AgentMake.own: "Forge's own agent", AgentMake.other: "the agent of another make"}
_ANSWERS = {
    Choice.approve: "let it try once more, with words",
    Choice.retry: "let it try again",
    Choice.other_agent: "let another agent try",
    Choice.reject: "stopped it",
}


def list_options(*, has_other: bool) -> tuple[Option, ...]:
    """The answers.

    :param has_other: whether there is another agent.
    """
    return (*_OPTIONS[:2], *([_OTHER_AGENT] if has_other else []), *_OPTIONS[2:])


def list_reasons(attempt: RecoveryAttempt, related: Sequence[RecoveryAttempt]) -> tuple[Reason, ...]:
    """Why people are asked, and what is hidden where.

    :param related: the attempts before.
    """
    places = tuple(
        Reason(code=each.rule, text=f"{each.place}: {each.what} ({TITLES[each.kind]})")
        for each in attempt.hidden[:_SHOWN]
    )
    return tuple(
        _give_reason(trigger, attempt, len(select_counted(related))).model_copy(
            update={"children": places if index == 0 else ()}
        )
        for index, trigger in enumerate(attempt.triggers)
    )


def render_question(task: str, tests: str, attempt: RecoveryAttempt, related: Sequence[RecoveryAttempt]) -> str:
    """The question in detail.

    :param task: what the agent is to do.
    :param tests: how they stand.
    :param related: the attempts before.
    """
    facts = [
        f"**Task:** {escape(task)}",
        f"**Agent:** {_AGENTS[attempt.agent]} · **Tests:** {escape(tests)} · **Confidence:** {attempt.confidence:.2f}",
    ]
    return "\n\n".join([*facts, _render_table([*related, attempt])])


def render_attempts(attempts: Sequence[RecoveryAttempt]) -> str:
    """All attempts of an issue, with what was caught, answered and decided."""
    if not attempts:
        return "No agent was caught hiding a failure here."
    parts = [_render_details(number, each) for number, each in enumerate(attempts, 1)]
    return "\n\n".join(["### Attempts to recover", *parts])


def report_stop(gate: Gate, *, spent: int) -> str:
    """For a run whose agent may not try again."""
    decision = gate.decision
    if gate.state is GateState.rejected and decision is not None:
        words = f": {escape(decision.words)}" if decision.words else "."
        why = f"{inline_code(decision.by_login)} stopped its agent, which hid a failure instead of mending it{words}"
    else:
        why = "Its agent hid a failure instead of mending it, and nobody said in time how to go on."
    return (
        f"**Forge is stuck on this issue.** {why}\n\nWhat was committed before stays, and nothing of the rest was "
        "taken. **Next:** a person has to mend it by hand, or say in a comment here what should be done otherwise and "
        f"write `/forge run`.{end_with_spent(spent)}"
    )


def _give_reason(trigger: RecoveryTrigger, attempt: RecoveryAttempt, made: int) -> Reason:
    code = f"recovery.{trigger.value}"
    match trigger:
        case RecoveryTrigger.attempts:
            text = "its attempts, or what a phase may send back, are used up"
            return Reason(code=code, text=text, value=made, threshold=MOST_ATTEMPTS)
        case RecoveryTrigger.doubtful:
            text = "it is not sure enough that another attempt would mend it"
            return Reason(code=code, text=text, value=attempt.confidence, threshold=LEAST_CONFIDENCE)
        case RecoveryTrigger.critical:
            return Reason(code=code, text="five failures or more are hidden at once", value=len(attempt.hidden))
        case RecoveryTrigger.repeats:
            return Reason(code=code, text="its last answer left the same change")
        case RecoveryTrigger.flaky:
            return Reason(code=code, text="the failure behind it comes and goes: a test failed and passed")


def _render_table(attempts: Sequence[RecoveryAttempt]) -> str:
    """What each attempt was to do, and what came of it."""
    rows = [
        f"| {_name_strategy(before)} | {_name_kinds(now.hidden)} | {escape(now.said, 300) or '-'} |"
        for before, now in pairwise([None, *attempts])
        if now is not None
    ]
    return "\n".join(["| attempt | hid | answered |", "| --- | --- | --- |", *rows])


def _name_strategy(before: RecoveryAttempt | None) -> str:
    return "the first one" if before is None or before.strategy is None else _STRATEGIES[before.strategy]


def _name_kinds(hidden: Sequence[HiddenFailure]) -> str:
    named = dict.fromkeys(f"{TITLES[each.kind]} in {inline_path(each.path)}" for each in hidden[:_SHOWN])
    return "; ".join(named)


def _render_details(number: int, attempt: RecoveryAttempt) -> str:
    lines = [f"**{number}.** {inline_code(attempt.work)}, {_AGENTS[attempt.agent]}: **{attempt.outcome.value}**"]
    lines += [
        f"- {inline_path(each.place)}: {escape(each.what)} {LEGITIMATE[each.kind]}"
        f" Instead: {INSTEAD.get(each.kind, 'fix the cause')}.{_tell_end(each)}"
        for each in attempt.hidden[:_SHOWN]
    ]
    lines += [f"- It answered: {escape(attempt.said, _LONGEST)}"] if attempt.said else []
    lines += [f"- People were asked, because: {', '.join(attempt.triggers)}"] if attempt.triggers else []
    lines += [f"- A person {_ANSWERS.get(attempt.answer, attempt.answer)}."] if attempt.answer is not None else []
    lines += [f"- Then it was to go on like this: {_STRATEGIES[attempt.strategy]}."] if attempt.strategy else []
    return "\n".join(lines)


def _tell_end(hidden: HiddenFailure) -> str:
    """The last line that a failing test printed."""
    printed = [line for line in hidden.output.splitlines() if line.strip()]
    return f" It ended with {inline_code(printed[-1].strip(), 200)}." if printed else ""


AGENTS_ONLY_HERE = (
    f"Nothing was delegated: an agent is changed only where {inline_code(NAME)} waits. "
    "`/forge delegate GATE @account` asks somebody else to decide."
)
"""For a delegation to an agent where nothing asks about one."""


def explain_no_other_agent(gate: Gate) -> str:
    """For a delegation where only one agent is there."""
    return (
        f"{label_gate(gate)} was not decided: there is no other agent, because `agents.implementer.command` names none "
        f"in `.github/forge.yml`. Write `/forge approve {NAME} with: what to do`, `/forge retry`, or "
        f"`/forge reject {NAME} reason`."
    )


def explain_no_place(gate: Gate, level: int | None) -> str:
    """For a delegation where the other agent cannot work."""
    return (
        f"{label_gate(gate)} was not decided: an agent of another make needs sandbox level 3, and here it is "
        f"{level or 'off'}. Write `/forge approve {NAME} with: what to do`, `/forge retry`, or "
        f"`/forge reject {NAME} reason`."
    )


NOTHING_TO_RETRY = f"{inline_code(NAME)} does not wait here. `/forge retry` alone runs the failed phase again."
"""For ``/forge retry recovery`` where it does not wait."""
