"""Carries a person's answer to a gate: finds the gate, asks GitHub who they are, and decides it once."""

from dataclasses import dataclass, replace
from datetime import datetime

from domain.commands import Sender
from domain.gates import BUDGET_GATES, Choice, Gate, GateDecision, GateState
from domain.money import NO_EXTENSION, BudgetExtension, to_micro
from domain.runs.run import RepositoryRef
from domain.slash.commands import Approve, Continue, Delegate, Reject, SlashCommand
from memory.budgets import grants
from memory.gates import gates
from memory.ledger import ledger
from memory.runs import outbox, runs
from messages import commands as command_texts
from messages import gate_answers
from pipeline.config import loading
from pipeline.context import Services
from pipeline.gates.actor import CommandActor, load_actor, load_authorship, record_refusal
from pipeline.gates.ask import list_gates, show_outcome
from safety.authorization import AuthorizationFacts, Authorship, CommandRefusal, RefusalCode, authorise, is_waived
from safety.authorization import GateRule as Rule
from safety.gates import strictest_role


@dataclass(frozen=True)
class GateAnswer:
    """What a person says at a gate.

    :param words: conditions of an approval, or the reason of a rejection.
    :param seen_head: the head they name or pressed the button on, whole or the first characters.
    :param written_at: when they wrote it; None for a button, which belongs to one head.
    :param grants: the slice they name; None for the one the gate offers.
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
        """The command that says the same, for the one authorisation."""
        return Approve() if self.choice is Choice.approve else Reject(reason=self.words or "rejected")


@dataclass(frozen=True)
class Reply:
    """What somebody is answered at a gate.

    :param refused: why they may not decide; None where they may, or where that was not asked.
    """

    text: str
    refused: CommandRefusal | None = None


class GateCommands:
    """What one person answers by comment at the gates of one pull request or issue."""

    def __init__(self, services: Services, guid: str, repository: RepositoryRef, number: int, sender: Sender) -> None:
        self._services = services
        self._guid = guid
        self._repository = repository
        self._number = number
        self._sender = sender

    async def answer(self, asked: SlashCommand, written_at: datetime) -> Reply:
        """Carry one command out; what became of it.

        :raises CodeHostError: if GitHub does not say who they are.
        """
        match asked:
            case Approve():
                saying = GateAnswer(self._sender, Choice.approve, asked.conditions or "", asked.sha, written_at)
                return await self._decide(asked.gate, saying)
            case Reject():
                name, reason = await self._parse_rejection(asked)
                return await self._decide(name, GateAnswer(self._sender, Choice.reject, reason, None, written_at))
            case Delegate():
                gate = await find_gate(self._services, self._repository, self._number, asked.gate)
                if isinstance(gate, str):
                    return Reply(gate)
                return await delegate_gate(self._services, self._guid, gate, asked, self._sender)
            case Continue():
                return await self._continue(asked, written_at)
            case _:
                return await self._accept(written_at)

    async def _decide(self, name: str | None, saying: GateAnswer) -> Reply:
        gate = await self._find_own_decision(name) or await find_gate(
            self._services, self._repository, self._number, name
        )
        return Reply(gate) if isinstance(gate, str) else await decide_gate(self._services, self._guid, gate, saying)

    async def _find_own_decision(self, name: str | None) -> Gate | None:
        """The gate this very delivery decided before it was repeated."""
        there = await list_gates(self._services, self._repository, self._number)
        mine = [gate for gate in there if gate.decision is not None and gate.decision.cause == self._guid]
        return next((gate for gate in mine if name in {None, gate.name, gate.short_id}), None)

    async def _parse_rejection(self, asked: Reject) -> tuple[str | None, str]:
        """The gate a rejection names; one of the repository's own is the first word of the reason."""
        if asked.gate is not None:
            return asked.gate, asked.reason
        there = await list_gates(self._services, self._repository, self._number)
        first, _, rest = asked.reason.partition(" ")
        return (first, rest.strip()) if any(first == gate.name for gate in there) else (None, asked.reason)

    async def _continue(self, asked: Continue, written_at: datetime) -> Reply:
        """Grant a slice: at the gate that waits for one, or beforehand."""
        slice_ = BudgetExtension(amount=to_micro(asked.usd or 0), calls=asked.iterations or 0)
        stopped = await self._find_stopping_gate()
        if stopped is not None:
            saying = GateAnswer(self._sender, Choice.approve, "", None, written_at, slice_)
            return await decide_gate(self._services, self._guid, stopped, saying)
        standing = await load_actor(self._services, self._repository, None, self._sender)
        refused = authorise(asked, standing.facts)
        if refused is not None:
            await record_refusal(self._services, self._guid, self._sender, refused)
            return Reply(command_texts.refuse(refused, self._sender.login), refused)
        past = await runs.list_for_pull_request(self._services.database, self._repository.id, self._number)
        if not past or past[0].run.state.is_final:
            return Reply(gate_answers.nothing_to_continue())
        run = past[0].run
        await grants.extend_budget(
            self._services.database, run, run.budget_phase, slice_, self._services.clock.now(), self._guid
        )
        return Reply(gate_answers.confirm_extension(slice_, run.id))

    async def _accept(self, written_at: datetime) -> Reply:
        """Take what there is so far, where a guard or a budget stopped the rest."""
        stopped = await self._find_stopping_gate()
        if stopped is None:
            return Reply(gate_answers.nothing_to_accept())
        words = "the current state is accepted"
        return await decide_gate(
            self._services, self._guid, stopped, GateAnswer(self._sender, Choice.reject, words, None, written_at)
        )

    async def _find_stopping_gate(self) -> Gate | None:
        """The gate of a guard or a budget that waits here, or that this very delivery decided."""
        there = await list_gates(self._services, self._repository, self._number)
        return next(
            (
                gate
                for gate in reversed(there)
                if gate.name in BUDGET_GATES
                and (gate.is_waiting or (gate.decision is not None and gate.decision.cause == self._guid))
            ),
            None,
        )


async def decide_gate(services: Services, guid: str, gate: Gate, saying: GateAnswer) -> Reply:
    """Decide a gate; what became of it, for whoever asked. May be repeated.

    :raises CodeHostError: if GitHub does not say who they are; that is never a permission (T-P10).
    """
    if gate.decision is not None and gate.decision.cause == guid:  # by an execution of this that died
        await show_outcome(services, gate)
        return Reply(gate_answers.confirm_decision(gate))
    stale = find_stale_reason(gate, saying, await _find_shown_at(services, gate)) if gate.is_waiting else None
    if stale is not None:
        return Reply(stale)
    allowed = await _authorise_answer(services, guid, gate, saying.command, saying.sender)
    if isinstance(allowed, CommandRefusal):
        text = gate_answers.refuse(gate, allowed, saying.sender.login)
        return Reply(text if gate.is_waiting else gate_answers.report_too_late(gate), allowed)
    approves = saying.choice is Choice.approve
    decision = GateDecision(
        at=services.clock.now(),
        by_id=saying.sender.id,
        by_login=saying.sender.login,
        words=saying.words,
        via=saying.via,
        waived=allowed,
        cause=guid,
        grants=_complete_extension(gate, saying.grants) if approves else NO_EXTENSION,
    )
    state = GateState.approved if approves else GateState.rejected
    decided = await gates.decide(services.database, gate.id, state, decision)
    if decided.counted:
        await show_outcome(services, decided.gate)
        return Reply(gate_answers.confirm_decision(decided.gate))
    return Reply(gate_answers.report_too_late(decided.gate))


async def delegate_gate(services: Services, guid: str, gate: Gate, asked: Delegate, sender: Sender) -> Reply:
    """Ask somebody else to decide, who is asked for the role like everybody; what became of it."""
    if not gate.is_waiting:
        return Reply(gate_answers.report_too_late(gate))
    allowed = await _authorise_answer(services, guid, gate, asked, sender)
    if isinstance(allowed, CommandRefusal):
        return Reply(gate_answers.refuse(gate, allowed, sender.login), allowed)
    decision = GateDecision(at=services.clock.now(), by_id=sender.id, by_login=sender.login, via="command")
    return Reply(
        gate_answers.announce_delegation(await gates.delegate(services.database, gate.id, asked.account, decision))
    )


async def find_gate(services: Services, repository: RepositoryRef, number: int, name: str | None) -> Gate | str:
    """The gate a command means, of those it names one that waits; or why it cannot be told."""
    there = await list_gates(services, repository, number)
    open_ = [gate for gate in there if gate.is_waiting]
    if name is None:
        return open_[0] if len(open_) == 1 else gate_answers.ask_which_gate(open_, there[-1] if there else None)
    named = [gate for gate in there if name in {gate.name, gate.short_id, gate.id}]
    if not named:
        return gate_answers.report_unknown_gate(name, open_)
    return next((gate for gate in reversed(named) if gate.is_waiting), named[-1])


def _complete_extension(gate: Gate, named: BudgetExtension | None) -> BudgetExtension:
    """What a person named; of what stopped the run and was not named, as much as the gate offers."""
    offered = gate.request.grants
    if named is None:
        return offered
    return BudgetExtension(amount=named.amount or offered.amount, calls=named.calls or offered.calls)


async def _find_shown_at(services: Services, gate: Gate) -> datetime | None:
    """When the question was first in its comment, which may show that of another head until then; None before.

    Where GitHub took no comment (a locked conversation), when it was first in its check.
    """
    kind = "check" if gate.check_id is not None and gate.comment_id is None else "comment"
    return await outbox.get_done_at(services.database, gate.run_id, f"gate {gate.id}", kind)


def find_stale_reason(gate: Gate, saying: GateAnswer, shown_at: datetime | None) -> str | None:
    """Why the answer is not about what the gate asks now; None if it is.

    :param shown_at: when people could first see the question: under GitHub's limits that may be hours after it was
        asked, and until then its comment shows the question of another head.
    """
    heads = (gate.head_sha, gate.check_head or gate.head_sha)
    if saying.seen_head is not None and not any(head.startswith(saying.seen_head) for head in heads):
        return gate_answers.report_other_head(gate, saying.seen_head)
    if saying.seen_head is not None or saying.written_at is None:  # a button stands in the check of one head
        return None
    if shown_at is None or saying.written_at < shown_at.replace(microsecond=0):  # as GitHub cuts the moment of writing
        return gate_answers.report_new_question(gate)
    return None


async def _authorise_answer(
    services: Services, guid: str, gate: Gate, asked: SlashCommand, sender: Sender
) -> CommandRefusal | bool:
    """Whether they may, and if so whether a rule was waived for them."""
    role = strictest_role(gate.request.role, await _load_configured_role(services, gate))
    rule = Rule(role, gate.request.not_author, gate.request.not_requester)
    standing = await load_actor(services, gate.repository, None if gate.request.on_issue else gate.number, sender)
    facts = await _build_facts(services, gate, standing)
    refused = authorise(asked, facts, rule)
    if refused is not None and refused.code in {RefusalCode.author, RefusalCode.requester}:
        others = set(await services.host.accounts_with(gate.repository, rule.role)) - {sender.id}
        wrote = await _load_authorship(services, gate, standing) if rule.not_author else None
        is_alone = not others if wrote is None else wrote.leaves_nobody_but(sender.id, others)
        facts = replace(facts, is_alone=is_alone)
        refused = authorise(asked, facts, rule)
    if refused is None:
        return is_waived(asked, facts, rule)
    payload = {
        "gate": gate.id,
        "name": gate.name,
        "code": refused.code.value,
        "account": sender.id,
        "by_login": sender.login,
        "held": refused.held,
    }
    await ledger.record_refusal(services.database, gate.run_id, {**payload, "cause": guid}, services.clock.now())
    return refused


async def _load_configured_role(services: Services, gate: Gate) -> str | None:
    """The role that the configuration asks for now, if somebody raised it while the gate waits."""
    ceilings = services.ceilings.of_configuration
    loaded = await loading.load(services.host, services.database, gate.repository, ceilings)
    configured = loaded.configuration.gates.get(gate.name)
    return None if configured is None else configured.role


async def _load_authorship(services: Services, gate: Gate, standing: CommandActor) -> Authorship | None:
    """Who wrote what a gate asks about, as far as nobody else accepted that at such a gate."""
    if standing.pull_request is None:
        return None
    return await load_authorship(services, gate.repository, standing.pull_request, {gate.name})


async def _build_facts(services: Services, gate: Gate, standing: CommandActor) -> AuthorizationFacts:
    wrote = await _load_authorship(services, gate, standing) if gate.request.not_author else None
    facts = standing.facts if wrote is None else replace(standing.facts, is_author=wrote.includes(standing.sender.id))
    if not gate.request.not_requester:
        return facts
    requester = await runs.find_requester(services.database, gate.run_id)
    return replace(facts, is_requester=standing.sender.id == requester)
