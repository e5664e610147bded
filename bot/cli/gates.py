"""`forge gates`: shows which gates wait for whom, what was decided, and where on GitHub. People decide only there."""

from collections.abc import Iterator, Sequence
from typing import Annotated

import typer

from bot.cli.lookup import find_gate
from bot.cli.output import print_lines, print_table
from bot.cli.process import command, run
from bot.current_database import open_database
from bot.settings import Installation
from domain.gates import Gate, GateState
from domain.text.escaping import flatten_redacted
from domain.verdicts import Reason
from memory import gates
from memory.gates import GateStatistics
from messages.audit import format_duration
from messages.gates import name_deciders

commands = typer.Typer(add_completion=False, rich_markup_mode=None)


@commands.callback(invoke_without_command=True)
def list_gates(
    context: typer.Context,
    state: Annotated[GateState | None, typer.Option(help="Only gates in this state.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="How many at most.")] = 20,
) -> None:
    """List the latest gates, waiting ones first. People decide them on GitHub."""
    if context.invoked_subcommand is None:
        run(Installation, lambda settings: show_all(settings, state, limit))


async def show_all(settings: Installation, state: GateState | None, limit: int) -> None:
    """Print the latest gates, waiting ones first, and statistics of the answers."""
    async with open_database(settings) as database:
        found = await gates.list_waiting_first(database, limit, state)
        records = await gates.load_statistics(database)
    print_lines(*(line for gate in found for line in _render_brief(gate, settings.github_web_url)))
    if not found:
        print_lines("There are no gates." if state is None else f"No gate is {state.value}.")
    elif state is None:
        print_lines("")
        names = ("gate", "asked", *(each.value for each in GateState), "median")
        print_table(names, map(_list_statistics, records), names[1:])


def _list_statistics(record: GateStatistics) -> Sequence[str]:
    answered = "" if record.median_seconds is None else format_duration(record.median_seconds)
    return (record.name, str(record.total), *(str(record.counts[state]) for state in GateState), answered)


@command(commands, "show")
async def show_one(
    settings: Installation, gate: Annotated[str, typer.Argument(metavar="G-ID", help="As `forge gates` lists it.")]
) -> None:
    """Show a gate's question, its reasons, the possible answers, and the answer given.

    :raises ForgeError: if no gate, or more than one, has this id.
    """
    async with open_database(settings) as database:
        found = await find_gate(database, gate)
    print_lines(*render_gate(found, settings.github_web_url))


def render_gate(gate: Gate, web_url: str) -> list[str]:
    """The question, its reasons, the possible answers, and the answer given."""
    request = gate.request
    return [
        f"{gate.short_id}  {flatten_redacted(gate.name)}  {gate.state.value}  {_place(gate)}  head {gate.head_sha[:7]}",
        f"  {flatten_redacted(request.prompt)}",
        *_render_reasons(request.reasons, 2),
        *([f"  {flatten_redacted(option.command)}: {flatten_redacted(option.effect)}" for option in request.options]),
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
    yield f"{gate.short_id}  {flatten_redacted(gate.name)}  {_place(gate)}  {state}"
    if gate.is_waiting:
        yield f"    {_describe_authority(gate)}"
        yield f"    {[*list_addresses(gate, web_url)][-1]}"


def _describe_decision(gate: Gate) -> str:
    decision = gate.decision
    if decision is None:
        return gate.state.value
    by = f" by {flatten_redacted(decision.deciders)}" if decision.by_login else ""
    return f"{gate.state.value}{by}, after {format_duration((decision.at - gate.asked_at).total_seconds())}"


def _describe_authority(gate: Gate) -> str:
    request = gate.request
    passed = f"; {flatten_redacted(gate.delegate)} was asked to decide" if gate.delegate else ""
    told = f"; then {flatten_redacted(', '.join(request.escalate))} will be told" if request.escalate else ""
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
        yield f"  “{flatten_redacted(gate.decision.words)}”"
    if gate.decision.waived:
        yield "  Nobody else has the role, so the rule on authors was waived."


def _render_reasons(reasons: Sequence[Reason], indent: int) -> Iterator[str]:
    for reason in reasons:
        yield f"{' ' * indent}- {flatten_redacted(reason.text)}"
        yield from _render_reasons(reason.children, indent + 2)


def _place(gate: Gate) -> str:
    return flatten_redacted(f"{gate.repository.full_name}#{gate.number}")
