"""`forge gates`: what waits for whom, what was decided, and where on GitHub. The terminal never decides."""

from collections.abc import Iterator, Sequence

from rich.markup import escape
from rich.table import Column, Table

from bot.cli.audit import gate_named
from bot.cli.database import opened
from bot.cli.output import output
from bot.settings import Installation
from domain.gates import Gate, GateState
from domain.text.escaping import visible
from domain.text.redaction import outgoing
from domain.verdicts import Reason
from memory.gates import history
from memory.gates.history import Record
from messages.audit import span


async def show_all(settings: Installation, state: GateState | None, limit: int) -> None:
    """Print the latest gates, those that wait first, and how gates were answered."""
    async with opened(settings) as database:
        found = await history.listed(database, limit, state)
        records = await history.records(database)
    with output() as console:
        for line in (line for gate in found for line in _brief(gate, settings.github_web_url)):
            console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)
        if not found:
            console.print("No gate was asked." if state is None else f"No gate is {state.value}.")
        elif state is None:
            console.print()
            console.print(_statistics(records))


async def show_one(settings: Installation, shown_id: str) -> None:
    """Print all that is known of a gate.

    :raises ForgeError: if there is none of this name, or more than one.
    """
    async with opened(settings) as database:
        gate = await gate_named(database, shown_id)
    with output() as console:
        for line in lines(gate, settings.github_web_url):
            console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)


def lines(gate: Gate, web_url: str) -> list[str]:
    """What was asked, why, what can be answered, and what was."""
    request = gate.request
    return [
        f"{gate.shown_id}  {_plain(gate.name)}  {gate.state.value}  {_place(gate)}  head {gate.head_sha[:7]}",
        f"  {_plain(request.prompt)}",
        *_reasons(request.reasons, 2),
        *([f"  {_plain(option.command)}: {_plain(option.effect)}" for option in request.options]),
        f"  {_who(gate)}",
        *_answer(gate),
        *(f"  {address}" for address in addresses(gate, web_url)),
        *(["  It is decided there, by a button or a comment; the terminal only shows."] if gate.is_waiting else []),
    ]


def addresses(gate: Gate, web_url: str) -> Iterator[str]:
    """Where the gate is shown: its check, and its comment on the issue or pull request."""
    repository = f"{web_url}/{gate.repository.full_name}"
    if gate.check_id is not None:
        yield f"{repository}/runs/{gate.check_id}"
    anchor = "" if gate.comment_id is None else f"#issuecomment-{gate.comment_id}"
    yield f"{repository}/{'issues' if gate.request.on_issue else 'pull'}/{gate.number}{anchor}"


def _brief(gate: Gate, web_url: str) -> Iterator[str]:
    state = f"waits until {gate.until:%Y-%m-%d %H:%M} UTC" if gate.is_waiting else _decided(gate)
    yield f"{gate.shown_id}  {_plain(gate.name)}  {_place(gate)}  {state}"
    if gate.is_waiting:
        yield f"    {_who(gate)}"
        yield f"    {[*addresses(gate, web_url)][-1]}"


def _decided(gate: Gate) -> str:
    decision = gate.decision
    if decision is None:
        return gate.state.value
    by = f" by {_plain(decision.by_login)}" if decision.by_login else ""
    return f"{gate.state.value}{by}, after {span((decision.at - gate.asked_at).total_seconds())}"


def _who(gate: Gate) -> str:
    request = gate.request
    but = [
        *(["who wrote the change"] if request.not_author else []),
        *(["who asked for it"] if request.not_requester else []),
    ]
    passed = f"; {_plain(gate.delegate)} was asked to" if gate.delegate else ""
    told = f"; then {_plain(', '.join(request.escalate))} would be told" if request.escalate else ""
    left_out = f", but not {' or '.join(but)}" if but else ""
    return f"Who may decide: {request.role} or above{left_out}{passed}. Until {gate.until:%Y-%m-%d %H:%M} UTC{told}."


def _answer(gate: Gate) -> Iterator[str]:
    if gate.decision is None:
        return
    via = f" ({gate.decision.via})" if gate.decision.via else ""
    yield f"  {_decided(gate)}{via}, {gate.decision.at:%Y-%m-%d %H:%M:%S} UTC"
    if gate.decision.words:
        yield f"  “{_plain(gate.decision.words)}”"
    if gate.decision.waived:
        yield "  Nobody else has the role, so the rule on authors was waived."


def _reasons(reasons: Sequence[Reason], indent: int) -> Iterator[str]:
    for reason in reasons:
        yield f"{' ' * indent}- {_plain(reason.text)}"
        yield from _reasons(reason.children, indent + 2)


def _place(gate: Gate) -> str:
    return _plain(f"{gate.repository.full_name}#{gate.number}")


def _plain(text: str) -> str:
    return " ".join(visible(outgoing(text)).split())


def _statistics(records: Sequence[Record]) -> Table:
    states = [state.value for state in GateState]
    right = [Column(name, justify="right", no_wrap=True) for name in ("asked", *states, "median")]
    table = Table(Column("gate", no_wrap=True), *right, box=None)
    for record in records:
        answered = "" if record.median_seconds is None else span(record.median_seconds)
        counts = [str(record.counts[state]) for state in states]
        table.add_row(escape(visible(record.name)), str(record.asked), *counts, answered)
    return table
