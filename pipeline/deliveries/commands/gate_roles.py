"""Asks whether somebody has the role of a gate, for commands that take effect on what that gate asks about."""

from domain.runs.run import Phase
from domain.slash.commands import Approve
from domain.slash.verbs import Verb
from messages import commands as texts
from pipeline.config import loading
from pipeline.deliveries.commands.context import CommandContext
from pipeline.gates.actor import find_out_if_alone, load_actor
from safety.authorization import CommandRefusal, GateRule, authorise
from safety.gate_requests import build_request


async def refuse_at_gate(context: CommandContext, gate: str, verb: Verb) -> str | None:
    """Why the sender may not decide a gate, as the repository configured it; None if they may. It is recorded."""
    refused = await find_gate_refusal(context, gate)
    if refused is None:
        return None
    await context.record_refusal(refused)
    return texts.refuse(refused.model_copy(update={"verb": verb}), context.sender.login)


async def find_gate_refusal(context: CommandContext, gate: str) -> CommandRefusal | None:
    """The same, not recorded."""
    services = context.services
    loaded = await loading.load(
        services.host, services.database, context.repository, services.ceilings.of_configuration
    )
    wanted = build_request(gate, Phase.review, "", "", (), loaded.configuration)
    actor = await load_actor(services, context.repository, context.number, context.sender)
    actor = await find_out_if_alone(services, context.repository, actor, wanted.role) if wanted.not_author else actor
    return authorise(Approve(), actor.facts, GateRule(wanted.role, wanted.not_author))
