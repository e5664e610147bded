"""`forge gates`: shows which gates wait for whom, what was decided, and where on GitHub. People decide only there."""

from collections.abc import Iterator, Sequence

from rich.markup import escape
from rich.table import Column, Table

from bot.cli.lookup import find_gate
from bot.cli.output import output
from bot.current_database import open_database
from bot.settings import Installation
from domain.gates import Gate, GateState
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from domain.verdicts import Reason
from memory.gates import history
from memory.gates.history import GateStatistics
from messages.audit import format_duration
from messages.gates import name_deciders


async def show_all(settings: Installation, state: GateState | None, limit: int) -> None:
    """Print the latest gates, waiting ones first, and statistics of the answers."""
    async with open_database(settings) as database:
        found = await history.list_waiting_first(database, limit, state)
        records = await history.load_statistics(database)
    with output() as console:
        for line in (line for gate in found for line in _render_brief(gate, settings.github_web_url)):
            console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)
        if not found:
            console.print("There are no gates." if state is None else f"No gate is {state.value}.")
        elif state is None:
            console.print()
            console.print(_statistics(records))


async def show_one(settings: Installation, shown_id: str) -> None:
    """Print everything about one gate.

    :raises ForgeError: if no gate, or more than one, has this id.
    """
    async with open_database(settings) as database:
        gate = await find_gate(database, shown_id)
    with output() as console:
        for line in render_gate(gate, settings.github_web_url):
            console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)


def render_gate(gate: Gate, web_url: str) -> list[str]:
    """The question, its reasons, the possible answers, and the answer given."""
    request = gate.request
    return [
        f"{gate.short_id}  {_plain(gate.name)}  {gate.state.value}  {_place(gate)}  head {gate.head_sha[:7]}",
        f"  {_plain(request.prompt)}",
        *_render_reasons(request.reasons, 2),
        *([f"  {_plain(option.command)}: {_plain(option.effect)}" for option in request.options]),
        f"  {_describe_authority(gate)}",
        *_render_answer(gate),
        *(f"  {address}" for address in list_addresses(gate, web_url)),
        *(["  Decide it there, by a button or a comment; the terminal only shows it."] if gate.is_waiting else []),
    ]


def list_addresses(gate: Gate, web_url: str) -> Iterator[str]:
    """The URLs of the gate's check and of its comment on the issue or pull request."""
    repository = f"{web_url}/{gate.repository.full_name}"
    if gate.check_id is not None:
        yield f"{repository}/runs/{gate.check_id}"
    anchor = "" if gate.comment_id is None else f"#issuecomment-{gate.comment_id}"
    yield f"{repository}/{'issues' if gate.request.on_issue else 'pull'}/{gate.number}{anchor}"


def _render_brief(gate: Gate, web_url: str) -> Iterator[str]:
    state = f"waits until {gate.until:%Y-%m-%d %H:%M} UTC" if gate.is_waiting else _describe_decision(gate)
    yield f"{gate.short_id}  {_plain(gate.name)}  {_place(gate)}  {state}"
    if gate.is_waiting:
        yield f"    {_describe_authority(gate)}"
        yield f"    {[*list_addresses(gate, web_url)][-1]}"


def _describe_decision(gate: Gate) -> str:
    decision = gate.decision
    if decision is None:
        return gate.state.value
    by = f" by {_plain(decision.deciders)}" if decision.by_login else ""
    return f"{gate.state.value}{by}, after {format_duration((decision.at - gate.asked_at).total_seconds())}"


def _describe_authority(gate: Gate) -> str:
    request = gate.request
    passed = f"; {_plain(gate.delegate)} was asked to decide" if gate.delegate else ""
    told = f"; then {_plain(', '.join(request.escalate))} will be told" if request.escalate else ""
    return f"Who may decide: {name_deciders(request)}{passed}. Until {gate.until:%Y-%m-%d %H:%M} UTC{told}."


def _render_answer(gate: Gate) -> Iterator[str]:
    if gate.decision is None:
        return
    via = f" ({gate.decision.via})" if gate.decision.via else ""
    choice = "" if gate.decision.choice is None else f" [{gate.decision.choice}]"
    yield f"  {_describe_decision(gate)}{via}{choice}, {gate.decision.at:%Y-%m-%d %H:%M:%S} UTC"
    if gate.decision.shown:
        yield f"  about head {gate.head_sha[:7]}, shown as {gate.decision.shown}"
    if gate.decision.words:
        yield f"  “{_plain(gate.decision.words)}”"
    if gate.decision.waived:
        yield "  Nobody else has the role, so the rule on authors was waived."


def _render_reasons(reasons: Sequence[Reason], indent: int) -> Iterator[str]:
    for reason in reasons:
        yield f"{' ' * indent}- {_plain(reason.text)}"
        yield from _render_reasons(reason.children, indent + 2)


def _place(gate: Gate) -> str:
    return _plain(f"{gate.repository.full_name}#{gate.number}")


def _plain(text: str) -> str:
    return " ".join(strip_invisible(redact_outgoing(text)).split())


def _statistics(records: Sequence[GateStatistics]) -> Table:
    states = [state.value for state in GateState]
    right = [Column(name, justify="right", no_wrap=True) for name in ("asked", *states, "median")]
    table = Table(Column("gate", no_wrap=True), *right, box=None)
    for record in records:
        answered = "" if record.median_seconds is None else format_duration(record.median_seconds)
        counts = [str(record.counts[state]) for state in states]
        table.add_row(escape(strip_invisible(record.name)), str(record.total), *counts, answered)
    return table
