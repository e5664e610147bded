"""Asks whether somebody has the role of a gate, for commands that take effect on what that gate asks about."""

from domain.runs.run import Phase
from domain.slash.commands import Approve, Reject, SlashCommand
from pipeline.config import loading
from pipeline.deliveries.commands.context import CommandContext
from pipeline.gates.actor import complete_actor, load_actor
from safety.authorization import HOLDING, CommandRefusal, GateRule, authorise
from safety.gate_requests import build_request


async def find_gate_refusal(context: CommandContext, gate: str, asked: SlashCommand) -> CommandRefusal | None:
    """Why the sender may not decide a gate, as the repository configured it; None if they may.

    :param asked: what takes effect if they may; a second person may have to say that, too.
    """
    services = context.services
    loaded = await loading.load(
        services.host, services.database, context.repository, services.ceilings.of_configuration
    )
    wanted = build_request(gate, Phase.review, "", "", (), loaded.configuration)
    actor = await load_actor(services, context.repository, context.number, context.sender, judges=wanted.not_author)
    if wanted.not_author:
        actor = await complete_actor(services, context.repository, actor, wanted.role, asked, context.thread)
    is_holding = asked.verb in HOLDING
    answer = Reject(reason=asked.verb) if is_holding else Approve()
    return authorise(answer, actor.facts, GateRule(wanted.role, wanted.not_author))
