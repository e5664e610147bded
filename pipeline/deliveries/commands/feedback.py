"""Executes what people say about findings: ``dismiss``, ``undismiss`` and ``confirm``.

Where the gate ``false_positive`` waits for just these findings, the answer decides it, by its rules.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from domain.errors import NotAllowed
from domain.gates import Choice, Gate
from domain.review.avoidance import RULE
from domain.review.feedback import Feedback, Scope, Statement, Word
from domain.review.findings import Finding
from domain.runs.run import RunState
from domain.slash.commands import AboutFinding, Confirm, Dismiss
from memory.findings import feedback
from memory.gates import gates
from memory.runs import checkpoints, runs
from messages import commands as command_texts
from messages import feedback as texts
from messages import memory as memory_texts
from pipeline.config import loading
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.commands.findings import answer_no_finding, find_meant
from pipeline.deliveries.commands.gate_roles import find_gate_refusal
from pipeline.gates.actor import CommandActor
from pipeline.gates.ask import list_gates
from pipeline.gates.decide import GateAnswer, decide_gate
from pipeline.verdicts import threads, update
from pipeline.verdicts.dismissal import dismiss
from pipeline.verdicts.suppression import load_dismissal_history
from safety.authorization import CommandRefusal, authorise, may_dispute, refuse_role
from safety.avoidance_gates import list_mattering, may_overrule
from safety.gates import needs_security_gate
from safety.suppression import list_to_release

_GATE = "false_positive"
_REPOSITORY_ROLE = "maintain"
"""To let findings of the whole repository pass takes from maintainers what ``destructive`` asks them."""


async def answer_feedback(context: CommandContext, asked: Dismiss | Confirm) -> str:
    """``/forge dismiss`` and ``confirm``"""
    return await context.journal.step(asked.verb, _answer, context, asked)


async def undismiss(context: CommandContext, asked: AboutFinding) -> str:
    """``/forge undismiss``"""
    return await context.step_with_permission(asked.verb, asked, _undismiss, context, asked)


async def _answer(context: CommandContext, asked: Dismiss | Confirm) -> str:
    meant = await find_meant(context, asked.finding)
    return await answer_in_step(context, asked, meant) if meant else await answer_no_finding(context, asked)


async def answer_in_step(context: CommandContext, asked: Dismiss | Confirm, found: Sequence[Finding]) -> str:
    """The same about these findings, within a step; whether somebody may is asked again (T-P15)."""
    actor = await context.load_actor(asked=asked)
    if actor is None or actor.pull_request is None:
        return command_texts.cannot_ask(context.sender.login)
    answer = _Answer(context, asked, actor, actor.pull_request.head_sha, found)
    obstacle = await answer.find_obstacle() or await answer.decide_gate_or_refuse()
    if obstacle is not None:
        return obstacle
    return await (answer.dismiss(asked) if isinstance(asked, Dismiss) else answer.confirm())


@dataclass(frozen=True)
class _Answer:
    """What somebody says about findings, at least one. All may be repeated."""

    context: CommandContext
    asked: Dismiss | Confirm
    actor: CommandActor
    head_sha: str
    found: Sequence[Finding]

    @property
    def _is_about_avoidance(self) -> bool:
        return all(each.rule.startswith(RULE) for each in self.found)

    @property
    def _cause(self) -> str:
        return f"{self.context.guid} {self.asked.verb} {self.found[0].id}"

    async def find_obstacle(self) -> str | None:
        """Why this cannot be said about these findings, whoever says it; None if it can."""
        context, asked = self.context, self.asked
        scope = asked.scope if isinstance(asked, Dismiss) else None
        if not self._is_about_avoidance and (scope is not None or isinstance(asked, Confirm)):
            other = next(each for each in self.found if not each.rule.startswith(RULE))
            return texts.refuse_scope_of(other) if scope else texts.nothing_to_confirm(other)
        if scope == Scope.repository and refuse_role(self.actor.role, _REPOSITORY_ROLE) is not None:
            return texts.refuse_scope(_REPOSITORY_ROLE, self.actor.role)
        known = await self._load_dismissed_before()
        dismissed = [each for each in self.found if each.fingerprint in known]
        if dismissed and scope is None and (isinstance(asked, Confirm) or len(dismissed) == len(self.found)):
            return command_texts.already_dismissed(dismissed[0], known[dismissed[0].fingerprint])
        if isinstance(asked, Confirm):
            return await self._find_gone()
        return await find_overruled(context, self.actor, self.found)

    async def _load_dismissed_before(self) -> dict[str, Feedback]:
        """Those that are dismissed already, by something else than an execution of this that died."""
        where, prints = (self.context.repository, self.context.number), [each.fingerprint for each in self.found]
        known = await feedback.find_dismissed(self.context.database, *where, prints)
        return {name: each for name, each in known.items() if each.cause != self._cause}

    async def _find_gone(self) -> str | None:
        where = (self.context.database, self.context.repository.id, self.context.number)
        review = await checkpoints.load_latest_review(*where)
        there: set[str] = set() if review is None else {each.fingerprint for each in review.all_findings}
        gone = next((each for each in self.found if each.fingerprint not in there), None)
        return None if gone is None else texts.not_there(gone)

    async def decide_gate_or_refuse(self) -> str | None:
        """Decide the gate if it asks about nothing else. Why it is not to be so, or None if it is.

        :raises NotAllowed: nothing came of it.
        """
        gate = await self._find_gate()
        if gate is not None:
            return await self._decide(gate)
        refused = authorise(self.asked, self.actor.facts) or await self._find_gate_refusal()
        if refused is None:
            return None
        if self._is_about_avoidance and may_dispute(self.asked, refused, self.actor.facts):
            return await self._dispute()
        await self.context.record_refusal(refused)
        refused = refused.model_copy(update={"verb": self.asked.verb})
        raise NotAllowed(command_texts.refuse(refused, self.context.sender.login))

    async def _find_gate(self) -> Gate | None:
        """The gate that waits for just these findings, or that an execution of this that died decided."""
        prints = {each.fingerprint for each in self.found}
        known = await list_gates(self.context.services, self.context.repository, self.context.number)
        open_ = [each for each in known if each.is_waiting or self._has_decided(each)]
        return next((each for each in open_ if each.name == _GATE and {*each.request.findings} <= prints), None)

    def _has_decided(self, gate: Gate) -> bool:
        return gate.decision is not None and gate.decision.cause == self.context.guid

    async def _decide(self, gate: Gate) -> str | None:
        context = self.context
        choice = Choice.approve if isinstance(self.asked, Dismiss) else Choice.reject
        answer = GateAnswer(context.sender, choice, self.asked.reason, None, context.comment.written_at)
        reply = await decide_gate(context.services, context.guid, gate, answer)
        now = await gates.get(context.database, gate.id)
        return None if now is not None and self._has_decided(now) else reply.text

    async def _find_gate_refusal(self) -> CommandRefusal | None:
        """A finding that a gate asks about needs the role of that gate, too."""
        where = (self.context.database, self.context.repository.id, self.context.number)
        review = await checkpoints.load_latest_review(*where)
        current: set[str] = set() if review is None else {each.fingerprint for each in review.findings}
        critical = any(needs_security_gate(each) and each.fingerprint in current for each in self.found)
        avoided = any(each.rule.startswith(RULE) for each in self.found)
        for gate in (*(["security_findings"] if critical else []), *([_GATE] if avoided else [])):
            refused = await find_gate_refusal(self.context, gate, self.asked)
            if refused is not None:
                return refused
        return None

    async def _dispute(self) -> str:
        """Have others asked about what people are asked about in any case, or what blocks; nothing else begins to."""
        context = self.context
        review = await checkpoints.load_latest_review(context.database, context.repository.id, context.number)
        ceilings = context.services.ceilings.of_configuration
        loaded = await loading.load(context.services.host, context.database, context.repository, ceilings)
        mattering: set[str] = set() if review is None else list_mattering(review, loaded.configuration)
        if not {each.fingerprint for each in self.found} <= mattering:
            raise NotAllowed(texts.nothing_to_dispute(self.found))
        await self._keep(Word.disputed)
        return texts.confirm_dispute(self.found)

    async def dismiss(self, asked: Dismiss) -> str:
        context, where = self.context, (self.context.repository, self.context.number)
        known = {} if asked.scope else await self._load_dismissed_before()
        new = [each for each in self.found if each.fingerprint not in known]
        scope = None if asked.scope is None else Scope(asked.scope)
        effect = await dismiss(
            context.services, *where, tuple(new), context.sender, asked.reason, self._cause, scope=scope
        )
        for each in new:
            await threads.resolve(context.services, *where, each)
        said = texts.confirm_dismissal(new, asked.reason, effect.taught, scope=scope, is_waived=effect.is_waived)
        return said + await self._hint()

    async def confirm(self) -> str:
        await self._keep(Word.confirmed)
        return texts.confirm_confirmation(self.found) + await self._hint()

    async def _keep(self, word: Word) -> None:
        context, now = self.context, self.context.services.clock.now()
        said = Statement(context.sender, self.asked.reason, now, self.actor.role, self.head_sha, self._cause)
        await feedback.keep(context.database, context.repository, context.number, self.found, word, said)

    async def _hint(self) -> str:
        """What has to be done for it to count, where no verdict can change any more."""
        context = self.context
        past = await runs.list_for_pull_request(context.database, context.repository.id, context.number)
        is_over = bool(past) and past[0].run.state in {RunState.failed, RunState.cancelled}
        return f" {texts.look_again()}" if is_over and self._is_about_avoidance else ""


async def _undismiss(context: CommandContext, asked: AboutFinding) -> str:
    """Take back what was said about a finding; of one that resembles dismissed ones, the dismissals of those."""
    meant = await find_meant(context, asked.finding)
    if not meant:
        return await answer_no_finding(context, asked)
    finding, where, now = meant[0], (context.repository, context.number), context.services.clock.now()
    refused = await find_overruled(context, context.actor, [finding])
    if refused is not None:
        return refused
    is_undone = await feedback.undo(context.database, *where, finding, context.sender, now)
    history = None if is_undone else await load_dismissal_history(context.database, context.repository, [finding])
    similar = () if history is None else list_to_release(finding, history)
    if similar:
        ids = [past.id for past in similar]
        await feedback.undo_all(context.database, *where, ids, context.sender, now)
    await update.update_verdict(context.services, *where, f"{context.guid} undismiss {finding.id}")
    if similar:
        return memory_texts.confirm_similar_undismissal(finding, similar)
    return command_texts.confirm_undismissal(finding) if is_undone else command_texts.not_dismissed(finding)


async def find_overruled(context: CommandContext, actor: CommandActor, found: Sequence[Finding]) -> str | None:
    """Why somebody may not take back what was said against the change; None if they may."""
    said = await feedback.load_standing(context.database, context.repository.id, context.number, found)
    for each in found:
        before = said.get(each.fingerprint)
        if before is not None and not may_overrule(before, actor.facts, actor.sender.id):
            return texts.refuse_to_overrule(each, before)
    return None
