"""Recovers from giving up in disguise: looks at what an agent made, lets it try otherwise, or asks people."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.coding.recovery import RecoveryTask, build_recovery_task
from domain.config.configuration import Configuration
from domain.gates import Choice, Gate, GateState, digest
from domain.runs import recovery
from domain.runs.patches import ChangeSet
from domain.runs.recovery import AgentMake, Caught, HiddenFailure, RecoveryAttempt, RecoveryOutcome
from domain.runs.run import Phase, ReasonCode, RunState
from domain.value import new_id
from memory.runs import checkpoints, model_answers, recoveries
from messages import recovery as texts
from messages import tests as test_texts
from pipeline.gates.ask import open_gate
from pipeline.issue.avoidance import find_hidden_failures
from pipeline.issue.coding.work_item import WorkItem, describe_recent
from pipeline.issue.head_examination import HeadTestResult
from pipeline.issue.plan_approval import ask
from pipeline.issue.status_comment import RunEnd
from pipeline.run_context import RunContext, run_while_current
from safety.gate_requests import build_request


async def describe_recovery(
    context: RunContext, item: WorkItem, attempt: RecoveryAttempt, earlier: Sequence[RecoveryAttempt]
) -> str:
    """The task, the attempts and how the tests stand, as inert Markdown."""
    mine = item.task.mine
    task = "mend what was sent back" if mine is None else f"{mine.id} {mine.title}"
    shown = texts.render_question(task, await _describe_tests(context, item), attempt, earlier)
    recent = await describe_recent(context.database, context.run.id, item.work)
    return f"{shown}\n\n{recent}" if recent else shown


async def _describe_tests(context: RunContext, item: WorkItem) -> str:
    """How the tests of the newest tested head ended, or those of the base."""
    kept = await checkpoints.load_tests(context.database, context.run)
    if kept is not None:
        return test_texts.render_outcome(HeadTestResult.model_validate(kept).run).title
    base = item.task.baseline
    return "not run yet" if base is None else f"of the base {base.passed} passed, {len(base.failing)} failed"


_CLEAN = "nothing is hidden in {}"  # a key among the answers


@dataclass(frozen=True)
class Recoveries:
    """The recoveries within one run."""

    context: RunContext
    configuration: Configuration

    async def recall(self, item: WorkItem, agent: AgentMake) -> RecoveryAttempt | None:
        """What a review or the tests caught, for which the work was sent back; None if it was for something else.

        :param agent: that carries it out.
        """
        sent_back = item.sent_back
        if sent_back is None or not (hidden := sent_back.trouble):
            return None
        caught = Caught(
            work=item.work,
            tried=f"{sent_back.phase} of {item.work}",
            hidden=hidden,
            said=item.said_before,
            change=item.built.digest,
            agent=agent,
            is_flaky=sent_back.is_flaky,
            is_spent=sent_back.is_spent,
        )
        return await self.context.journal.step("recall what was hidden", self._recall, caught)

    async def look(self, item: WorkItem, agent: AgentMake, whole: ChangeSet, said: str) -> RecoveryAttempt | None:
        """What an agent hid in its work, which is not taken then; None if it hid nothing.

        :param whole: everything that changed since the base of the run.
        :param said: the agent's answer.
        """
        caught = Caught(work=item.work, tried=item.key, hidden=(), said=said, change=whole.digest, agent=agent)
        return await self.context.journal.step("look for what is hidden", self._look, caught, whole)

    async def begin(self, attempt: RecoveryAttempt, item: WorkItem) -> RecoveryAttempt | RunEnd:
        """The attempt with its strategy, once people let it begin where they are asked; how the run ends if not.

        :raises WaitingForGate: nobody answered yet.
        """
        if attempt.is_made:
            return attempt
        gate = await ask(self.context, "ask how to recover", self._ask, attempt, item)
        answered = await self.context.journal.step("keep how to recover", self._keep_answer, attempt, gate)
        return answered if gate.state is GateState.approved else await self._end(gate)

    async def build_task(self, attempt: RecoveryAttempt, whole: ChangeSet) -> RecoveryTask:
        """What the agent is told.

        :param whole: everything that changed since the base of the run.
        """
        earlier = await self._load_earlier(attempt)
        return build_recovery_task([*earlier, attempt], whole, self.configuration.review.never_send)

    # --- steps -------------------------------------------------------------------------------------------------

    async def _recall(self, caught: Caught) -> RecoveryAttempt:
        past = await self._load_past()
        return self._find(past, caught) or await self._keep(caught, past)

    async def _look(self, caught: Caught, whole: ChangeSet) -> RecoveryAttempt | None:
        context, clean = self.context, _CLEAN.format(caught.change)
        past = await self._load_past()
        known = self._find(past, caught)
        if known is not None:
            return known
        was_clean = await model_answers.find(context.database, context.run, clean) is not None
        hidden: tuple[HiddenFailure, ...] | None = ()
        if not was_clean:
            looking = find_hidden_failures(context, self.configuration, whole)
            hidden = await run_while_current(context.services, context.run, looking)
        if hidden is None:
            return None
        if hidden:
            return await self._keep(caught.model_copy(update={"hidden": hidden}), past)
        await recoveries.mark_mended(context.database, context.run.id, caught.work)
        if not was_clean:
            await model_answers.keep(context.database, context.run, clean, {}, context.now())
        return None

    async def _ask(self, attempt: RecoveryAttempt, item: WorkItem) -> Gate:
        context, earlier = self.context, await self._load_earlier(attempt)
        has_other = attempt.agent is AgentMake.other or self.configuration.agents.implementer.command is not None
        request = build_request(
            texts.NAME,
            Phase.implementation,
            digest(texts.NAME, attempt.tried),
            texts.PROMPT,
            texts.list_reasons(attempt, earlier),
            self.configuration,
            options=texts.list_options(has_other=has_other),
            shows=await describe_recovery(context, item, attempt, earlier),
        )
        return await open_gate(context.services, context.run, request.model_copy(update={"needs_words": True}))

    async def _keep_answer(self, attempt: RecoveryAttempt, gate: Gate) -> RecoveryAttempt:
        """The attempt as people let it begin; as it was if nobody answered."""
        answer = None if gate.decision is None else gate.decision.choice
        if gate.state is GateState.rejected:
            answer, strategy = Choice.reject, None
        elif gate.state is GateState.approved:
            answer = answer or Choice.approve
            strategy = recovery.choose_strategy((), answer)
        else:
            return attempt
        agent = attempt.agent.opposite if answer is Choice.other_agent else attempt.agent
        now = self.context.now()
        return await recoveries.keep_answer(self.context.database, attempt, answer, strategy, agent, now)

    async def _keep(self, caught: Caught, past: Sequence[RecoveryAttempt]) -> RecoveryAttempt:
        """What was caught, with what follows."""
        run = self.context.run
        related = recovery.select_related(past, run.id, caught)
        found = recovery.diagnose(run.id, caught, related)
        is_asked = bool(found.triggers)
        attempt = RecoveryAttempt(
            **dict(caught),
            id=new_id(),
            run_id=run.id,
            confidence=found.confidence,
            triggers=found.triggers,
            strategy=None if is_asked else recovery.choose_strategy(recovery.select_counted(related)),
            outcome=RecoveryOutcome.escalated if is_asked else RecoveryOutcome.open,
            at=self.context.now(),
        )
        await recoveries.add(self.context.database, run, attempt, [each.id for each in related[-1:] if each.is_made])
        return attempt

    async def _load_past(self) -> Sequence[RecoveryAttempt]:
        run = self.context.run
        return await recoveries.list_of_issue(self.context.database, run.repository.id, run.number)

    async def _load_earlier(self, attempt: RecoveryAttempt) -> list[RecoveryAttempt]:
        """The attempts before it that count with it."""
        past = [each for each in await self._load_past() if each.id < attempt.id]
        return recovery.select_related(past, attempt.run_id, attempt)

    def _find(self, past: Sequence[RecoveryAttempt], caught: Caught) -> RecoveryAttempt | None:
        run_id = self.context.run.id
        return next((each for each in past if each.run_id == run_id and each.tried == caught.tried), None)

    async def _end(self, gate: Gate) -> RunEnd:
        reason = ReasonCode.stuck if gate.state is GateState.rejected else ReasonCode.gate_timeout
        return RunEnd(RunState.failed, reason, texts.report_stop(gate, spent=await self.context.load_cost()))
