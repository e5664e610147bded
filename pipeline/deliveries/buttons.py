"""Handles the buttons of a gate's check."""

from domain.commands import DecideGate
from domain.gates import Choice, Gate
from domain.slash.verbs import VERBS, Verb
from memory import gates
from messages import deliveries as texts
from messages import gate_answers
from pipeline.context import Services
from pipeline.deliveries.context import DeliveryContext
from pipeline.deliveries.follow_up import follow_up
from pipeline.gates.ask import refresh_gate
from pipeline.gates.decide import GateAnswer, decide_gate


async def handle_button(context: DeliveryContext, command: DecideGate) -> str:
    """Decide a gate by its button, or show its state; how that ended."""
    gate = await gates.get(context.services.database, command.gate_id)
    if gate is None or gate.repository.id != command.repository.id:
        return texts.NO_GATE
    if command.choice is Choice.view:
        await context.journal.step("show the gate", _show_gate, context.services, gate.id)
        return texts.GATE_SHOWN
    answer = GateAnswer(command.sender, command.choice, seen_head=command.head_sha)
    decided = await context.journal.step("decide", _decide, context, gate, answer)
    note = gate_answers.report_button(command.sender.login, decided)

    async def show() -> None:
        await context.journal.step("show the gate", _show_decision, context.services, gate.id, note)

    await follow_up(context, gate.repository, gate.number, VERBS[Verb.approve].effects, show)
    return decided


async def is_in_vain(context: DeliveryContext, command: DecideGate) -> bool:
    """Whether the press decided nothing. GitHub reports the next press in the same words, so it has to count then."""
    gate = await gates.get(context.services.database, command.gate_id)
    return gate is None or gate.decision is None or gate.decision.cause != context.guid


async def _decide(context: DeliveryContext, gate: Gate, answer: GateAnswer) -> str:
    return (await decide_gate(context.services, context.guid, gate, answer)).text


async def _show_gate(services: Services, gate_id: str) -> None:
    gate = await gates.get(services.database, gate_id)
    if gate is not None:
        await refresh_gate(services, gate, looked=services.clock.now())


async def _show_decision(services: Services, gate_id: str, note: str) -> None:
    """A decided gate shows its decision already."""
    gate = await gates.get(services.database, gate_id)
    if gate is not None and gate.is_waiting:
        await refresh_gate(services, gate, note)
