"""Decides gates: finds the gate, asks GitHub who answers, and records the decision once."""

from dataclasses import dataclass, replace
from datetime import datetime

from domain.commands import Sender
from domain.errors import HostFailure
from domain.gates import LATER, Choice, Gate, GateDecision, GateState
from domain.github.pull_requests import PullRequest
from domain.money import NO_EXTENSION, BudgetExtension
from domain.review.review import RiskLevel
from domain.runs.run import RepositoryRef, Trigger
from domain.slash import Approve, Delegate, Reject, SlashCommand
from memory import gates, ledger
from memory.deployments import deployments
from memory.runs import checkpoints, outbox, runs
from messages import commands as command_texts
from messages import gate_answers
from pipeline.config import loading
from pipeline.context import Services
from pipeline.gates.actor import CommandActor, find_standing, load_actor, note_assent
from pipeline.gates.authorship import load_authorship, load_proposed_authorship
from pipeline.publishing.gate_checks import list_gates, show_outcome
from safety.authorization import (
    AuthorizationFacts,
    CommandRefusal,
    GateRule,
    RefusalCode,
    authorise,
    is_waived,
    name_assent,
    refuse_role,
)
from safety.authorship import Authorship
from safety.gate_requests import strictest_role


@dataclass(frozen=True)
class GateAnswer:
    """A person's answer to a gate.

    :param words: the conditions of an approval, or the reason of a rejection.
    :param seen_head: the head they name or pressed the button on, whole or its first characters.
    :param written_at: when they wrote it; None for a button, which belongs to one head.
    :param grants: the slice they name; None for the slice the gate offers.
    """

    sender: Sender
    choice: Choice
    words: str = ""
    seen_head: str | None = None
    written_at: datetime | None = None
    grants: BudgetExtension | None = None

    @property
    def via(self) -> str:
        return "button" if self.written_at is None else "command"

    @property
    def command(self) -> SlashCommand:
        """The command with the same meaning; it is what gets authorised."""
        return Approve() if self.choice.approves else Reject(reason=self.words or "rejected")


@dataclass(frozen=True)
class GateRight:
    """What lets somebody answer.

    :param is_waived: a rule was waived for them.
    :param is_own: they wrote part of the change; a second person said the same.
    :param seconds: the logins of who said the same before, where it takes two.
    """

    is_waived: bool
    is_own: bool
    seconds: tuple[str, ...]


@dataclass(frozen=True)
class GateReply:
    """The reply to an answer, or to another command that may be one; in journals.

    :param decided: the id of the gate that it decided, whose comment says the same; empty for any other. Then the text
        is only for where that comment is not seen.
    :param answers: whether it answered a gate, although the verb often means something else.
    """

    text: str
    decided: str = ""
    answers: bool = False


async def decide_gate(services: Services, guid: str, gate: Gate, answer: GateAnswer) -> GateReply:
    """Decide a gate, by comment or by button; the reply. May be repeated.

    If GitHub does not say who answers, nothing is decided (T-P10).
    """
    if gate.decision is not None and gate.decision.cause == guid:  # by an execution of this that died
        await show_outcome(services, gate)
        return GateReply(gate_answers.confirm_decision(gate), decided=gate.id)
    stale = find_stale_reason(gate, answer, await find_shown_at(services, gate)) if gate.is_waiting else None
    if stale is not None:
        return GateReply(stale)
    allowed = await _authorise_answer(services, guid, gate, answer.command, answer.sender)
    if isinstance(allowed, GateReply):
        return allowed
    is_bare = answer.choice is Choice.approve and not answer.words.strip()
    if gate.is_waiting and gate.request.needs_words and is_bare:
        return GateReply(gate_answers.ask_for_words(gate))
    state = GateState.approved if answer.choice.approves else GateState.rejected
    is_low = await _is_of_low_risk(services, gate)
    decision = _build_decision(gate, answer, guid, services.clock.now(), allowed, weightless=is_low)
    decided = await gates.decide(services.database, gate.id, state, decision)
    if decided.counted:
        await show_outcome(services, decided.gate)
        return GateReply(gate_answers.confirm_decision(decided.gate), decided=gate.id)
    return GateReply(gate_answers.report_too_late(decided.gate))


async def delegate_gate(services: Services, guid: str, gate: Gate, asked: Delegate, sender: Sender) -> GateReply:
    """Ask another account to decide. It needs the gate's role, too."""
    if not gate.is_waiting:
        return GateReply(gate_answers.report_too_late(gate))
    allowed = await _authorise_answer(services, guid, gate, asked, sender)
    if isinstance(allowed, GateReply):
        return allowed
    decision = GateDecision(at=services.clock.now(), by_id=sender.id, by_login=sender.login, via="command")
    delegated = await gates.delegate(services.database, gate.id, asked.account, decision)
    return GateReply(gate_answers.announce_delegation(delegated))


async def is_still_entitled(services: Services, gate: Gate) -> bool:
    """Whether who approved a gate could approve it now: with the role, and without a push of theirs since.

    No approval of two people is: who the first was is known by name only. Nor is one where GitHub does not say.

    :raises RateLimited: GitHub says it later.
    """
    decision = gate.decision
    if decision is None or decision.by_id is None or decision.seconded_by:
        return False
    try:
        sender = Sender(id=decision.by_id, login=decision.by_login)
        return isinstance(await _find_refusal(services, gate, Approve(), sender), GateRight)
    except HostFailure:
        return False


async def find_gate(services: Services, repository: RepositoryRef, number: int, name: str | None) -> Gate | str:
    """The gate a command is about, preferably one that waits; or why that is not clear."""
    there = await list_gates(services, repository, number)
    open_ = [gate for gate in there if gate.is_waiting]
    if name is None:
        if len(open_) == 1:
            return open_[0]
        later = "" if open_ else await _find_postponed(services, repository, number)
        return gate_answers.ask_which_gate(open_, there[-1] if there else None, later)
    named = [gate for gate in there if name in {gate.name, gate.short_id, gate.id}]
    if not named:
        return gate_answers.report_unknown_gate(name, open_)
    waiting = [gate for gate in named if gate.is_waiting]
    if len(waiting) > 1:  # such as those of deployments to two environments
        return gate_answers.ask_which_gate(waiting, None)
    return waiting[0] if waiting else named[-1]


async def _find_postponed(services: Services, repository: RepositoryRef, number: int) -> str:
    """What the newest review of a pull request asks once nothing blocks; may be empty."""
    newest = await runs.find_newest(services.database, repository.id, number)
    review = None if newest is None else await checkpoints.load_review(services.database, newest)
    return "" if review is None else "; ".join(reason.text for reason in review.reasons if reason.code == LATER)


async def _is_of_low_risk(services: Services, gate: Gate) -> bool:
    """Whether a gate is about what is known to be of low risk: a deployment, a reviewed change, a plan."""
    run = await runs.get(services.database, gate.run_id)
    if run is None:
        return False
    if run.trigger is Trigger.deployment:
        deployed = await deployments.get(services.database, run.id)
        return deployed is not None and deployed.risk is RiskLevel.low
    if run.is_of_issue or run.trigger is Trigger.instruction:
        plan = await checkpoints.load_plan(services.database, run)
        return plan is not None and plan.level is RiskLevel.low
    review = await checkpoints.load_review(services.database, run)
    return review is not None and review.risk.level is RiskLevel.low


def _build_decision(
    gate: Gate, answer: GateAnswer, guid: str, at: datetime, right: GateRight, *, weightless: bool
) -> GateDecision:
    return GateDecision(
        at=at,
        by_id=answer.sender.id,
        by_login=answer.sender.login,
        words=answer.words,
        via=answer.via,
        waived=right.is_waived,
        own=right.is_own,
        weightless=weightless,
        seconded_by=right.seconds,
        cause=guid,
        grants=_complete_extension(gate, answer.grants) if answer.choice.approves else NO_EXTENSION,
        choice=answer.choice,
        shown=gate.request.digest,
    )


def _complete_extension(gate: Gate, named: BudgetExtension | None) -> BudgetExtension:
    """The slice a person named, completed by the slice the gate offers."""
    offered = gate.request.grants
    if named is None:
        return offered
    return BudgetExtension(amount=named.amount or offered.amount, calls=named.calls or offered.calls)


async def find_shown_at(services: Services, gate: Gate) -> datetime | None:
    """When people could first read the question in its comment; None if they cannot yet.

    If GitHub took no comment (a locked conversation), the question is in the check only.
    """
    kind = "check" if gate.check_id is not None and gate.comment_id is None else "comment"
    return await outbox.get_done_at(services.database, gate.run_id, f"gate {gate.id}", kind)


def find_stale_reason(gate: Gate, answer: GateAnswer, shown_at: datetime | None) -> str | None:
    """Why the answer is not about the question the gate asks now; None if it is.

    :param shown_at: when people could first read the question. Under GitHub's limits that may be hours after it was
        asked; until then the comment shows the question about another head.
    """
    heads = (gate.head_sha, gate.check_head or gate.head_sha)
    if answer.seen_head is not None and not any(head.startswith(answer.seen_head) for head in heads):
        return gate_answers.report_other_head(gate, answer.seen_head)
    if answer.seen_head is not None or answer.written_at is None:  # a button belongs to the check of one head
        return None
    if shown_at is None or answer.written_at < shown_at.replace(microsecond=0):  # GitHub gives whole seconds
        return gate_answers.report_new_question(gate)
    return None


async def _authorise_answer(
    services: Services, guid: str, gate: Gate, asked: SlashCommand, sender: Sender
) -> GateRight | GateReply:
    """What lets the sender answer; a reply if they may not answer, or if GitHub does not say."""
    try:
        refused = await _find_refusal(services, gate, asked, sender)
    except HostFailure:
        return GateReply(command_texts.cannot_ask(sender.login))
    if isinstance(refused, GateRight):
        return refused
    await note_assent(services, gate.repository, gate.number, sender, refused)
    await _record_refusal(services, guid, gate, sender, refused)
    text = gate_answers.refuse(gate, refused, sender.login)
    return GateReply(text if gate.is_waiting else gate_answers.report_too_late(gate))


async def _find_refusal(
    services: Services, gate: Gate, asked: SlashCommand, sender: Sender
) -> CommandRefusal | GateRight:
    """Why the sender may not answer, or what lets them."""
    role = strictest_role(gate.request.role, await _load_configured_role(services, gate))
    rule = GateRule(role, gate.request.not_author, gate.request.not_requester)
    number = None if gate.request.on_issue else gate.number
    actor = await load_actor(services, gate.repository, number, sender, judges=False)
    actor, facts = await _build_facts(services, gate, rule, actor, asked)
    refused = authorise(asked, facts, rule)
    if refused is not None and refused.code is RefusalCode.requester:
        others = set(await services.host.accounts_with(gate.repository, role)) - {sender.id}
        facts = replace(facts, is_alone=not others)
        refused = authorise(asked, facts, rule)
    if refused is not None:
        return refused
    takes_two = rule.not_author and facts.doubt is not None
    return GateRight(is_waived(asked, facts, rule), takes_two and facts.is_author, actor.seconds if takes_two else ())


async def _build_facts(
    services: Services, gate: Gate, rule: GateRule, actor: CommandActor, asked: SlashCommand
) -> tuple[CommandActor, AuthorizationFacts]:
    """The sender, and what is known of them at this gate: its approvals accept what was pushed before."""
    if rule.not_author and refuse_role(actor.role, rule.role) is None:
        wrote = await _load_authorship(services, gate, actor.pull_request)
        said = name_assent(asked, gate.head_sha, gate.id)
        if wrote is not None and (wrote.includes(actor.sender.id) or wrote.doubt is not None):
            actor = await find_standing(services, gate.repository, gate.number, actor, rule.role, wrote, said)
    if not rule.not_requester:
        return actor, actor.facts
    requester = await runs.find_requester(services.database, gate.run_id)
    return actor, replace(actor.facts, is_requester=actor.sender.id == requester)


async def _load_authorship(services: Services, gate: Gate, pull_request: PullRequest | None) -> Authorship | None:
    """Who wrote what a gate is about; None where there is no pull request yet.

    :param pull_request: the one the gate is asked on; None if it is asked on an issue.
    """
    if pull_request is None:
        return await load_proposed_authorship(services, gate)
    return await load_authorship(services, gate.repository, pull_request, {gate.name})


async def _record_refusal(services: Services, guid: str, gate: Gate, sender: Sender, refused: CommandRefusal) -> None:
    payload = {
        "gate": gate.id,
        "name": gate.name,
        "code": refused.code.value,
        "account": sender.id,
        "by_login": sender.login,
        "held": refused.held,
    }
    await ledger.record_refusal(services.database, gate.run_id, {**payload, "cause": guid}, services.clock.now())


async def _load_configured_role(services: Services, gate: Gate) -> str | None:
    """The role the configuration asks for now: somebody may have raised it while the gate waits."""
    configuration = await loading.load_configuration(services, gate.repository)
    configured = configuration.gates.get(gate.name)
    return None if configured is None else configured.role
