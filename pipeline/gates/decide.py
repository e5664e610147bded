"""Carries a person's answer to a gate: finds the gate, asks GitHub who they are, and decides it once."""

from dataclasses import dataclass, replace
from datetime import datetime

from domain.commands import Sender
from domain.gates import SLICED, Choice, Gate, GateDecision, GateState
from domain.money import NO_SLICE, Slice, micro
from domain.runs.run import RepositoryRef
from domain.slash import Approve, Continue, Delegate, RefusalCode, Refused, Reject, SlashCommand
from memory.budgets import grants
from memory.gates import gates
from memory.ledger import ledger
from memory.runs import outbox, runs
from messages import commands as command_texts
from messages import gate_answers
from pipeline.config import loading
from pipeline.context import Services
from pipeline.gates.actor import Standing, authorship, look, note_refusal
from pipeline.gates.ask import asked_at, show_outcome
from safety.authorization import Authorship, Facts, authorise, waived
from safety.authorization import Gate as Rule
from safety.gates import strictest


@dataclass(frozen=True)
class Saying:
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
    grants: Slice | None = None

    @property
    def via(self) -> str:
        return "button" if self.written_at is None else "command"

    @property
    def asked(self) -> SlashCommand:
        """The command that says the same, for the one authorisation."""
        return Approve() if self.choice is Choice.approve else Reject(reason=self.words or "rejected")


@dataclass(frozen=True)
class Reply:
    """What somebody is answered at a gate.

    :param refused: why they may not decide; None where they may, or where that was not asked.
    """

    text: str
    refused: Refused | None = None


class AtGates:
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
                saying = Saying(self._sender, Choice.approve, asked.conditions or "", asked.sha, written_at)
                return await self._decide(asked.gate, saying)
            case Reject():
                name, reason = await self._named(asked)
                return await self._decide(name, Saying(self._sender, Choice.reject, reason, None, written_at))
            case Delegate():
                gate = await named_gate(self._services, self._repository, self._number, asked.gate)
                if isinstance(gate, str):
                    return Reply(gate)
                return await pass_on(self._services, self._guid, gate, asked, self._sender)
            case Continue():
                return await self._continue(asked, written_at)
            case _:
                return await self._accept(written_at)

    async def _decide(self, name: str | None, saying: Saying) -> Reply:
        gate = await self._mine(name) or await named_gate(self._services, self._repository, self._number, name)
        return Reply(gate) if isinstance(gate, str) else await decide(self._services, self._guid, gate, saying)

    async def _mine(self, name: str | None) -> Gate | None:
        """The gate this very delivery decided before it was repeated."""
        there = await asked_at(self._services, self._repository, self._number)
        mine = [gate for gate in there if gate.decision is not None and gate.decision.cause == self._guid]
        return next((gate for gate in mine if name in {None, gate.name, gate.shown_id}), None)

    async def _named(self, asked: Reject) -> tuple[str | None, str]:
        """The gate a rejection names; one of the repository's own is the first word of the reason."""
        if asked.gate is not None:
            return asked.gate, asked.reason
        there = await asked_at(self._services, self._repository, self._number)
        first, _, rest = asked.reason.partition(" ")
        return (first, rest.strip()) if any(first == gate.name for gate in there) else (None, asked.reason)

    async def _continue(self, asked: Continue, written_at: datetime) -> Reply:
        """Grant a slice: at the gate that waits for one, or beforehand."""
        slice_ = Slice(amount=micro(asked.usd or 0), calls=asked.iterations or 0)
        stopped = await self._stopped()
        if stopped is not None:
            saying = Saying(self._sender, Choice.approve, "", None, written_at, slice_)
            return await decide(self._services, self._guid, stopped, saying)
        standing = await look(self._services, self._repository, None, self._sender)
        refused = authorise(asked, standing.facts)
        if refused is not None:
            await note_refusal(self._services, self._guid, self._sender, refused)
            return Reply(command_texts.refused(refused, self._sender.login), refused)
        past = await runs.of_pull_request(self._services.database, self._repository.id, self._number)
        if not past or past[0].run.state.is_final:
            return Reply(gate_answers.nothing_to_continue())
        run = past[0].run
        await grants.grant(self._services.database, run, run.budgeted, slice_, self._services.clock.now(), self._guid)
        return Reply(gate_answers.granted(slice_, run.id))

    async def _accept(self, written_at: datetime) -> Reply:
        """Take what there is so far, where a guard or a budget stopped the rest."""
        stopped = await self._stopped()
        if stopped is None:
            return Reply(gate_answers.nothing_to_accept())
        words = "the current state is accepted"
        return await decide(
            self._services, self._guid, stopped, Saying(self._sender, Choice.reject, words, None, written_at)
        )

    async def _stopped(self) -> Gate | None:
        """The gate of a guard or a budget that waits here, or that this very delivery decided."""
        there = await asked_at(self._services, self._repository, self._number)
        return next(
            (
                gate
                for gate in reversed(there)
                if gate.name in SLICED
                and (gate.is_waiting or (gate.decision is not None and gate.decision.cause == self._guid))
            ),
            None,
        )


async def decide(services: Services, guid: str, gate: Gate, saying: Saying) -> Reply:
    """Decide a gate; what became of it, for whoever asked. May be repeated.

    :raises CodeHostError: if GitHub does not say who they are; that is never a permission (T-P10).
    """
    if gate.decision is not None and gate.decision.cause == guid:  # by an execution of this that died
        await show_outcome(services, gate)
        return Reply(gate_answers.decided(gate))
    stale = stale_because(gate, saying, await _shown_at(services, gate)) if gate.is_waiting else None
    if stale is not None:
        return Reply(stale)
    allowed = await _allowed(services, guid, gate, saying.asked, saying.sender)
    if isinstance(allowed, Refused):
        text = gate_answers.refused(gate, allowed, saying.sender.login)
        return Reply(text if gate.is_waiting else gate_answers.too_late(gate), allowed)
    approves = saying.choice is Choice.approve
    decision = GateDecision(
        at=services.clock.now(),
        by_id=saying.sender.id,
        by_login=saying.sender.login,
        words=saying.words,
        via=saying.via,
        waived=allowed,
        cause=guid,
        grants=_granted(gate, saying.grants) if approves else NO_SLICE,
    )
    state = GateState.approved if approves else GateState.rejected
    decided = await gates.decide(services.database, gate.id, state, decision)
    if decided.counted:
        await show_outcome(services, decided.gate)
        return Reply(gate_answers.decided(decided.gate))
    return Reply(gate_answers.too_late(decided.gate))


async def pass_on(services: Services, guid: str, gate: Gate, asked: Delegate, sender: Sender) -> Reply:
    """Ask somebody else to decide, who is asked for the role like everybody; what became of it."""
    if not gate.is_waiting:
        return Reply(gate_answers.too_late(gate))
    allowed = await _allowed(services, guid, gate, asked, sender)
    if isinstance(allowed, Refused):
        return Reply(gate_answers.refused(gate, allowed, sender.login), allowed)
    decision = GateDecision(at=services.clock.now(), by_id=sender.id, by_login=sender.login, via="command")
    return Reply(gate_answers.delegated(await gates.delegate(services.database, gate.id, asked.account, decision)))


async def named_gate(services: Services, repository: RepositoryRef, number: int, name: str | None) -> Gate | str:
    """The gate a command means, of those it names one that waits; or why it cannot be told."""
    there = await asked_at(services, repository, number)
    open_ = [gate for gate in there if gate.is_waiting]
    if name is None:
        return open_[0] if len(open_) == 1 else gate_answers.which(open_, there[-1] if there else None)
    named = [gate for gate in there if name in {gate.name, gate.shown_id, gate.id}]
    if not named:
        return gate_answers.unknown(name, open_)
    return next((gate for gate in reversed(named) if gate.is_waiting), named[-1])


def _granted(gate: Gate, named: Slice | None) -> Slice:
    """What a person named; of what stopped the run and was not named, as much as the gate offers."""
    offered = gate.request.grants
    if named is None:
        return offered
    return Slice(amount=named.amount or offered.amount, calls=named.calls or offered.calls)


async def _shown_at(services: Services, gate: Gate) -> datetime | None:
    """When the question was first in its comment, which may show that of another head until then; None before.

    Where GitHub took no comment (a locked conversation), when it was first in its check.
    """
    kind = "check" if gate.check_id is not None and gate.comment_id is None else "comment"
    return await outbox.done_at(services.database, gate.run_id, f"gate {gate.id}", kind)


def stale_because(gate: Gate, saying: Saying, shown_at: datetime | None) -> str | None:
    """Why the answer is not about what the gate asks now; None if it is.

    :param shown_at: when people could first see the question: under GitHub's limits that may be hours after it was
        asked, and until then its comment shows the question of another head.
    """
    heads = (gate.head_sha, gate.check_head or gate.head_sha)
    if saying.seen_head is not None and not any(head.startswith(saying.seen_head) for head in heads):
        return gate_answers.other_head(gate, saying.seen_head)
    if saying.seen_head is not None or saying.written_at is None:  # a button stands in the check of one head
        return None
    if shown_at is None or saying.written_at < shown_at.replace(microsecond=0):  # as GitHub cuts the moment of writing
        return gate_answers.asked_after(gate)
    return None


async def _allowed(services: Services, guid: str, gate: Gate, asked: SlashCommand, sender: Sender) -> Refused | bool:
    """Whether they may, and if so whether a rule was waived for them."""
    role = strictest(gate.request.role, await _configured(services, gate))
    rule = Rule(role, gate.request.not_author, gate.request.not_requester)
    standing = await look(services, gate.repository, None if gate.request.on_issue else gate.number, sender)
    facts = await _facts(services, gate, standing)
    refused = authorise(asked, facts, rule)
    if refused is not None and refused.code in {RefusalCode.author, RefusalCode.requester}:
        others = set(await services.host.accounts_with(gate.repository, rule.role)) - {sender.id}
        wrote = await _authorship(services, gate, standing) if rule.not_author else None
        is_alone = not others if wrote is None else wrote.leaves_nobody_but(sender.id, others)
        facts = replace(facts, is_alone=is_alone)
        refused = authorise(asked, facts, rule)
    if refused is None:
        return waived(asked, facts, rule)
    payload = {
        "gate": gate.id,
        "name": gate.name,
        "code": refused.code.value,
        "account": sender.id,
        "by_login": sender.login,
        "held": refused.held,
    }
    await ledger.note_refusal(services.database, gate.run_id, {**payload, "cause": guid}, services.clock.now())
    return refused


async def _configured(services: Services, gate: Gate) -> str | None:
    """The role that the configuration asks for now, if somebody raised it while the gate waits."""
    ceilings = services.ceilings.of_configuration
    loaded = await loading.load(services.host, services.database, gate.repository, ceilings)
    configured = loaded.configuration.gates.get(gate.name)
    return None if configured is None else configured.role


async def _authorship(services: Services, gate: Gate, standing: Standing) -> Authorship | None:
    """Who wrote what a gate asks about, as far as nobody else accepted that at such a gate."""
    if standing.pull_request is None:
        return None
    return await authorship(services, gate.repository, standing.pull_request, {gate.name})


async def _facts(services: Services, gate: Gate, standing: Standing) -> Facts:
    wrote = await _authorship(services, gate, standing) if gate.request.not_author else None
    facts = standing.facts if wrote is None else replace(standing.facts, is_author=wrote.includes(standing.sender.id))
    if not gate.request.not_requester:
        return facts
    requester = await runs.requester(services.database, gate.run_id)
    return replace(facts, is_requester=standing.sender.id == requester)
