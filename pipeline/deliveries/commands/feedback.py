"""Executes what people say about findings: ``dismiss`` and ``confirm``.

Where the gate ``false_positive`` waits for just these findings, the answer decides it, by its rules.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.errors import NotAllowed
from domain.review.avoidance import RULE
from domain.review.feedback import DismissalScope, FeedbackStatement, FindingFeedback, Word, drop_graver
from domain.review.findings import Finding
from domain.runs.run import RunState
from domain.slash import Confirm, Dismiss
from domain.verbs import REPOSITORY_ROLE
from memory.learned import feedback
from memory.runs import checkpoints, runs
from messages import commands as command_texts
from messages import feedback as texts
from pipeline.config import loading
from pipeline.deliveries.commands.context import CommandContext
from pipeline.deliveries.commands.findings import find_overruled, require_meant
from pipeline.deliveries.commands.gate_roles import decide_with, find_gate_about, find_refusal_about
from pipeline.gates.actor import CommandActor
from pipeline.verdicts import threads
from pipeline.verdicts.dismissal import dismiss, list_let_pass
from safety.authorization import authorise, may_dispute, refuse_role
from safety.gate_requests import list_mattering


async def answer_feedback(context: CommandContext, asked: Dismiss | Confirm) -> str:
    """``/forge dismiss`` and ``confirm``"""
    return await answer_in_step(context, asked, await require_meant(context, asked))


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
        if scope == DismissalScope.repository and refuse_role(self.actor.role, REPOSITORY_ROLE) is not None:
            return texts.refuse_scope(REPOSITORY_ROLE, self.actor.role)
        known = await self._load_dismissed_before()
        dismissed = [each for each in self.found if each.fingerprint in known]
        if dismissed and scope is None and (isinstance(asked, Confirm) or len(dismissed) == len(self.found)):
            return command_texts.already_dismissed(dismissed[0], known[dismissed[0].fingerprint])
        if isinstance(asked, Confirm):
            return await self._find_gone()
        return await find_overruled(context, self.actor, self.found)

    async def _load_dismissed_before(self) -> dict[str, FindingFeedback]:
        """Those that are dismissed already, by something else than an execution of this that died."""
        prints = [each.fingerprint for each in self.found]
        said = await feedback.find_dismissed(self.context.database, *self.context.place, prints)
        known = drop_graver(said, self.found)
        return {name: each for name, each in known.items() if each.cause != self._cause}

    async def _find_gone(self) -> str | None:
        review = await checkpoints.load_latest_review(*self.context.rows)
        there: set[str] = set() if review is None else {each.fingerprint for each in review.all_findings}
        gone = next((each for each in self.found if each.fingerprint not in there), None)
        return None if gone is None else texts.not_there(gone)

    async def decide_gate_or_refuse(self) -> str | None:
        """Decide the gate if it asks about nothing else. Why it is not to be so, or None if it is.

        :raises NotAllowed: nothing came of it.
        """
        gate = await find_gate_about(self.context, self.found)
        if gate is not None:
            return await decide_with(self.context, gate, self.asked)
        refused = authorise(self.asked, self.actor.facts) or await find_refusal_about(
            self.context, self.asked, self.found
        )
        if refused is None:
            return None
        if self._is_about_avoidance and may_dispute(self.asked, refused, self.actor.facts):
            return await self._dispute()
        await self.context.record_refusal(refused)
        refused = refused.model_copy(update={"verb": self.asked.verb})
        raise NotAllowed(command_texts.refuse(refused, self.context.sender.login))

    async def _dispute(self) -> str:
        """Have others asked about what people are asked about in any case, or what blocks; nothing else begins to."""
        context = self.context
        review = await checkpoints.load_latest_review(context.database, context.repository.id, context.number)
        configuration = await loading.load_configuration(context.services, context.repository)
        mattering: set[str] = set() if review is None else list_mattering(review, configuration)
        prints = {each.fingerprint for each in self.found}
        if not prints <= mattering:
            raise NotAllowed(texts.nothing_to_dispute(self.found))
        if prints <= await list_let_pass(*context.here, self.found):
            raise NotAllowed(texts.nothing_left_to_dispute(self.found))
        await self._keep(Word.disputed)
        return texts.confirm_dispute(self.found)

    async def dismiss(self, asked: Dismiss) -> str:
        context, where = self.context, (self.context.repository, self.context.number)
        known: Mapping[str, FindingFeedback] = {} if asked.scope else await self._load_dismissed_before()
        new = [each for each in self.found if each.fingerprint not in known]
        scope = None if asked.scope is None else DismissalScope(asked.scope)
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
        said = FeedbackStatement(context.sender, self.asked.reason, now, self.actor.role, self.head_sha, self._cause)
        await feedback.keep(context.database, *context.place, self.found, word, said)

    async def _hint(self) -> str:
        """What has to be done for it to count, where no verdict can change any more."""
        context = self.context
        last = await runs.find_newest(context.database, context.repository.id, context.number)
        is_over = last is not None and last.state in {RunState.failed, RunState.cancelled}
        return f" {texts.LOOK_AGAIN}" if is_over and self._is_about_avoidance else ""
