"""Asks whether somebody has the role of a gate for what they say, or another agent can do what one asks about."""

from collections.abc import Sequence

from domain.gates import Choice, Gate
from domain.review.avoidance import RULE
from domain.review.findings import Finding
from domain.runs.recovery import AgentMake
from domain.runs.run import Phase
from domain.slash import Approve, Confirm, Dismiss, Reject, SlashCommand
from memory import gates
from memory.runs import checkpoints, recoveries
from messages import recovery as texts
from pipeline.config import loading
from pipeline.context import Services
from pipeline.deliveries.commands.context import CommandContext
from pipeline.gates.actor import complete_actor, load_actor
from pipeline.gates.decide import GateAnswer, decide_gate
from pipeline.publishing.gate_checks import list_gates
from safety.authorization import HOLDING, CommandRefusal, GateRule, authorise
from safety.gate_requests import build_request
from safety.gates import needs_security_gate
from workspace.sandbox.sandbox import BUBBLEWRAP

_FALSE_POSITIVE = "false_positive"


async def find_gate_refusal(context: CommandContext, gate: str, asked: SlashCommand) -> CommandRefusal | None:
    """Why the sender may not decide a gate, as the repository configured it; None if they may.

    :param asked: what takes effect if they may; a second person may have to say that, too.
    """
    services = context.services
    configuration = await loading.load_configuration(services, context.repository)
    wanted = build_request(gate, Phase.review, "", "", (), configuration)
    actor = await load_actor(services, *context.place, context.sender, judges=wanted.not_author)
    if wanted.not_author:
        actor = await complete_actor(services, context.repository, actor, wanted.role, asked, context.thread)
    is_holding = asked.verb in HOLDING
    answer = Reject(reason=asked.verb) if is_holding else Approve()
    return authorise(answer, actor.facts, GateRule(wanted.role, wanted.not_author))


async def find_refusal_about(
    context: CommandContext, asked: SlashCommand, found: Sequence[Finding]
) -> CommandRefusal | None:
    """Why the sender may not say this about findings that gates ask about: it needs the roles of those gates, too."""
    review = await checkpoints.load_latest_review(context.database, context.repository.id, context.number)
    current: set[str] = set() if review is None else {each.fingerprint for each in review.findings}
    critical = any(needs_security_gate(each) and each.fingerprint in current for each in found)
    avoided = any(each.rule.startswith(RULE) for each in found)
    for gate in (*(["security_findings"] if critical else []), *([_FALSE_POSITIVE] if avoided else [])):
        refused = await find_gate_refusal(context, gate, asked)
        if refused is not None:
            return refused
    return None


async def find_gate_about(context: CommandContext, found: Sequence[Finding]) -> Gate | None:
    """The gate that waits for just these findings, or that an execution of this that died decided."""
    prints = {each.fingerprint for each in found}
    known = await list_gates(context.services, context.repository, context.number)
    open_ = [each for each in known if each.is_waiting or context.has_decided(each)]
    return next((each for each in open_ if each.name == _FALSE_POSITIVE and {*each.request.findings} <= prints), None)


async def decide_with(context: CommandContext, gate: Gate, asked: Dismiss | Confirm) -> str | None:
    """Let what is said about its findings decide a gate; why it does not, or None if it does."""
    choice = Choice.approve if isinstance(asked, Dismiss) else Choice.reject
    answer = GateAnswer(context.sender, choice, asked.reason, None, context.comment.written_at)
    reply = await decide_gate(context.services, context.guid, gate, answer)
    now = await gates.get(context.database, gate.id)
    return None if now is not None and context.has_decided(now) else reply.text


async def find_lacking_agent(services: Services, gate: Gate) -> str:
    """Why there is no other agent; empty if there is one."""
    past = await recoveries.list_of_issue(services.database, gate.repository.id, gate.number)
    mine = [each for each in past if each.run_id == gate.run_id]
    if not mine or mine[-1].agent is AgentMake.other:  # then Forge's own takes over
        return ""
    configuration = await loading.load_configuration(services, gate.repository)
    if configuration.agents.implementer.command is None:
        return texts.explain_no_other_agent(gate)
    level = services.toolbox.sandbox.strongest().level
    return texts.explain_no_place(gate, level) if level != BUBBLEWRAP else ""
