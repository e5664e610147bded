"""Every text about gates: the question, who may answer it until when, and what was answered."""

from collections.abc import Sequence
from datetime import datetime

from domain.gates import BUDGET_GATES, Choice, Gate, GateRequest, GateState
from domain.runs.recovery import MOST_ATTEMPTS
from domain.runs.run import Phase
from domain.text.escaping import escape, format_moment, inline_code, link
from messages.audit import render_spent
from messages.review import CheckText, render_reasons

ESCALATED_LABEL = "forge: nobody answered"


def check_name(gate: str) -> str:
    """The name of a gate's check run (docs/contract.md, checks)."""
    return f"Forge / gate: {gate}"


def render_title(gate: Gate) -> str:
    """Where the gate stands, in a few words."""
    decision = gate.decision
    by = "" if decision is None else decision.deciders
    said = None if decision is None or decision.choice is None else _SAID.get(decision.choice)
    if said is not None:
        return f"{said} {by}"
    match gate.state:
        case GateState.waiting:
            who = gate.request.lone_author or f"a person with the role {gate.request.role}"
            return f"Waiting until {format_moment(gate.until)} for {who}"
        case GateState.approved:
            # What came with an approval.
            words = (", with conditions" if gate.request.has_follower else ", with a note") if gate.conditions else ""
            return f"Approved by {by}{words}"
        case GateState.rejected:
            return f"Rejected by {by}"
        case GateState.expired:
            return f"Expired: nobody answered in {_span(gate.request.seconds)}"
        case GateState.void:
            return "Void: there is nothing left to decide"


_SAID = {
    Choice.retry: "Allowed to try three times more by",
    Choice.other_agent: "Given to another agent by",
}
"""What a decision says that is more than an approval or a rejection."""

_EFFECTS = {
    Choice.retry: f"The agent tries up to {MOST_ATTEMPTS} times more.",
    Choice.other_agent: "Another agent tries it.",
}


def render_check(gate: Gate, spent: int, note: str = "", looked: datetime | None = None) -> CheckText:
    """The gate's check run: what its buttons answer. The rest is in the gate's comment, where it could be posted.

    :param spent: what the run cost so far, in micro-USD.
    :param note: what became of the last button that was pressed here, already neutral.
    :param looked: when somebody pressed View.
    """
    seen = f"<sub>Viewed on {format_moment(looked)}.</sub>" if looked is not None else ""
    body = _body(gate, spent) if gate.comment_id is None else _brief(gate)
    if gate.is_waiting and gate.comment_id is None and gate.request.lone_author:
        body = [render_reasons(gate.request.reasons), _ask_lone_author(gate)]
    return CheckText(render_title(gate), "\n\n".join(part for part in (note, *body, seen) if part))


def _ask_lone_author(gate: Gate) -> str:
    return (
        f"{inline_code(gate.request.lone_author)} made all of this change, and nobody else here has the role "
        f"{gate.request.role}, so nobody else is asked. Press **Approve**, or comment `/forge approve`. A push voids "
        "the question."
    )


def render_stopped_phase(gate: Gate) -> CheckText:
    """The check run of a phase that a gate stopped in the middle."""
    next_ = f"**Next:** someone with permission decides at {inline_code(check_name(gate.name))} or writes one of these:"
    parts = [escape(gate.request.prompt, 500), render_reasons(gate.request.reasons), next_, _options(gate)]
    return CheckText(f"Waiting for a person at {gate.name}", "\n\n".join(parts))


def render_answer(gate: Gate) -> CheckText:
    """The check of the run that waited at a gate, from the decision until the run has a place to go on."""
    ends = gate.state is GateState.rejected and not explain_refusal(gate)
    goes_on = "ends" if ends else "goes on"
    return CheckText(f"{render_title(gate)}; {goes_on}", _answer(gate))


def render_comment(gate: Gate, spent: int, marker: str) -> str:
    """The gate's comment below the pull request or issue."""
    heading = f"Forge asks: {gate.name}" if gate.is_waiting else f"{gate.name}: {escape(render_title(gate), 200)}"
    head = f"**{heading}** · {gate.short_id} · head {inline_code((gate.check_head or gate.head_sha)[:7])}"
    if gate.state is GateState.void:
        return f"{head} · {explain_void(gate)}\n\n{marker}"
    return "\n\n".join([head, *_body(gate, spent), marker])


def render_escalation(gate: Gate, spent: int, marker: str) -> str:
    """The one comment that tells the configured people that nobody answered."""
    to = " ".join(f"@{name.removeprefix('@')}" for name in gate.request.escalate)
    told = (
        f"{to} {inline_code(gate.name)} ({gate.short_id}) was asked on "
        f"{format_moment(gate.asked_at)} and nobody answered "
        f"by {format_moment(gate.until)}, so it expired."
    )
    parts = (told, escape(gate.request.prompt, 500), explain_retry(gate), render_spent(spent), marker)
    return "\n\n".join(filter(None, parts))


def point_to_question(gate: Gate, address: str) -> str:
    """Where somebody asked for what waits at a gate: which one, until when, and where the question stands."""
    until = f"until {format_moment(gate.until)} for a person with the role {gate.request.role}"
    return f"This waits at {link(gate.name, address)}, {until}: the plan and how to answer stand there."


def render_gates_section(gates: Sequence[Gate]) -> str:
    """A section of the review's summary: what was asked, and what people answered under which conditions."""
    is_stopped = any(gate.state in {GateState.rejected, GateState.expired} for gate in gates)
    told = [
        gate
        for gate in gates
        if gate.state is not GateState.void and not _is_said_above(gate, names_waiting=not is_stopped)
    ]
    if not told:
        return ""
    rows = [f"| {inline_code(gate.name)} | {escape(render_title(gate), 200)} | {_words(gate)} |" for gate in told]
    return "\n".join(["### Gates", "", "| gate | state | conditions or reason |", "| --- | --- | --- |", *rows])


def _is_said_above(gate: Gate, *, names_waiting: bool) -> bool:
    """Whether the verdict's reasons say all of it: nobody else was asked, or answered yet, and nothing was said."""
    is_named = bool(gate.request.lone_author) or (gate.is_waiting and names_waiting)
    return is_named and not _words(gate)


def describe_waiting(gates: Sequence[Gate]) -> str:
    """What a run waits for, in one sentence."""
    named = ", ".join(
        f"{inline_code(gate.name)} ({gate.request.role}, until {format_moment(gate.until)})" for gate in gates
    )
    return f"It is waiting for a person at {named}."


def _body(gate: Gate, spent: int) -> list[str]:
    if gate.state is GateState.void:
        return [f"{escape(render_title(gate), 200)}. Why: {explain_void(gate)}."]
    if not gate.is_waiting:
        return [
            _answer(gate),
            escape(gate.request.prompt, 500),
            render_reasons(gate.request.reasons),
            *_question_details(gate),
            render_spent(spent),
        ]
    return [
        escape(gate.request.prompt, 500),
        render_reasons(gate.request.reasons),
        *_question_details(gate),
        _options(gate),
        _who(gate),
        render_spent(spent),
    ]


def _brief(gate: Gate) -> list[str]:
    """Beside the comment that says it all."""
    if gate.state is GateState.void:
        return _body(gate, 0)
    if not gate.is_waiting:
        return [_answer(gate)]
    answers = f"How to answer, and who may: Forge's comment on #{gate.number}."
    return [render_reasons(gate.request.reasons) or escape(gate.request.prompt, 500), answers]


def _question_details(gate: Gate) -> list[str]:
    """What the question is about; folded once it is answered."""
    shows = gate.request.shows
    if not shows or gate.is_waiting:
        return [shows] if shows else []
    return ["<details><summary>The question in detail</summary>", shows, "</details>"]


def _answer(gate: Gate) -> str:
    """When it was decided, in which words, and what follows; who decided what is in the title above."""
    decision = gate.decision
    if decision is None:
        return _consequence(gate)
    after = _span((decision.at - gate.asked_at).total_seconds())
    took = f"Decided on {format_moment(decision.at)}, {after} after it was asked."
    words = _words(gate)
    waived = "Nobody else has the role, so the rule about authors was waived." if decision.waived else ""
    return "\n\n".join(part for part in (took, words and f"> {words}", waived, _consequence(gate)) if part)


ENDS = "The run ends here."


def explain_refusal(gate: Gate) -> str:
    """How the run goes on although its gate was rejected or expired; empty if it ends."""
    if gate.state not in {GateState.rejected, GateState.expired}:
        return ""
    if gate.name in BUDGET_GATES:
        return "Forge does not ask the model again; the review ends with the results so far."
    if gate.name == "protected_paths" and (gate.request.on_issue or gate.request.of_instruction):
        return "The run continues without changing these files."
    if gate.name == "deploy_hold":
        return "Forge rolls the deployment back."
    if gate.request.phase is Phase.deployment:
        return f"Nothing is deployed. {_retry_command(gate)} begins anew."
    command = f"/forge reject {gate.name}"
    effect = next((each.effect for each in gate.request.options if each.command.startswith(command)), "")
    return f"The run {effect.removeprefix('it ')}." if effect.startswith("it goes on") else ""


def _consequence(gate: Gate) -> str:
    continues = explain_refusal(gate)
    if continues:
        return continues
    match gate.state:
        case GateState.rejected:
            return f"{ENDS} {_new_run_hint(gate)} starts a new one."
        case GateState.expired:
            return f"{ENDS} {explain_retry(gate)}"
        case _:
            return describe_approval(gate)


def describe_approval(gate: Gate) -> str:
    """What follows from an approval, in sentences."""
    decision = gate.decision
    granted = decision.grants.label if decision is not None else ""
    kept = "The conditions apply." if gate.request.has_follower else "Your words are kept with the decision."
    choice = _EFFECTS.get(decision.choice, "") if decision is not None and decision.choice is not None else ""
    more = [f"It may use {granted} more." if granted else "", kept if gate.conditions else choice]
    return " ".join(["The run continues.", *filter(None, more)])


def explain_void(gate: Gate) -> str:
    """Why nobody has to answer any more, as a clause."""
    return escape(_VOIDED.get(gate.decision.via if gate.decision else "", "the run ended"))


def explain_retry(gate: Gate) -> str:
    """How people have an expired question asked again; empty where nothing does."""
    return f"Say {_retry_command(gate)} to ask again." if name_retry(gate) else ""


def _retry_command(gate: Gate) -> str:
    """What begins a run anew that asks this, as code."""
    return inline_code(name_retry(gate))


def name_retry(gate: Gate) -> str:
    """What begins a run anew that asks this; empty if nothing does."""
    if gate.request.phase is Phase.deployment:
        return "" if gate.name == "deploy_hold" else "/forge deploy ENV"
    if gate.request.of_instruction:
        return f"/forge {gate.request.verb}"
    return "/forge run" if gate.request.on_issue else "/forge review full"


def _new_run_hint(gate: Gate) -> str:
    is_asked = gate.request.on_issue or gate.request.of_instruction
    return _retry_command(gate) if is_asked else f"A push, or {_retry_command(gate)},"


_VOIDED = {
    "superseded": "a newer push or run took over and asks again if it has to",
    "closed": "it was closed on GitHub",
    "aborted": "a person stopped the run",
    "paused": "a person paused Forge here",
    "access_lost": "Forge lost access to the repository",
    "taken_back": "the answer was taken back",
    "settled": "its question is already resolved",
    "ended": "another gate ended the run",
}


def _options(gate: Gate) -> str:
    rows = [f"| {inline_code(option.command)} | {escape(option.effect, 300)} |" for option in gate.request.options]
    return "\n".join(["| answer | what it does |", "| --- | --- |", *rows])


def name_deciders(request: GateRequest) -> str:
    """The role that may answer and who may not, to follow “the role”; nobody is left out if that leaves nobody."""
    left_out = [
        *(["the author of the change"] if request.not_author else []),
        *(["the requester"] if request.not_requester else []),
    ]
    but = f", but {' or '.join(left_out)} only if nobody else has it" if left_out else ""
    return f"{request.role} or above{but}"


def _who(gate: Gate) -> str:
    request = gate.request
    told = (
        f", and {', '.join(map(inline_code, request.escalate))} {'is' if len(request.escalate) == 1 else 'are'} told"
        if request.escalate
        else ""
    )
    passed = f" {inline_code(gate.delegate)} was asked to decide." if gate.delegate else ""
    void = " Closing the issue voids it." if request.on_issue else " A push voids it."
    if gate.request.phase is Phase.deployment:
        void = ""
    if request.of_instruction:
        void = " Closing the pull request voids it."
    return (
        f"**Who decides:** anyone with the role {name_deciders(request)}."
        f"{passed} **Until:** {format_moment(gate.until)}; then it expires, which lets nothing pass{told}.{void}"
    )


def _words(gate: Gate) -> str:
    return escape(gate.decision.words, 1000) if gate.decision is not None else ""


def _span(seconds: float) -> str:
    for size, name in ((86_400, "day"), (3_600, "hour"), (60, "minute")):
        if seconds >= size:
            count = round(seconds / size)
            return f"{count} {name}{'' if count == 1 else 's'}"
    return f"{seconds:.0f} s"


def label_gate(gate: Gate) -> str:
    return f"{inline_code(gate.name)} ({gate.short_id})"
