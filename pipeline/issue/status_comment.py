"""How the run of an issue ends, and what its comment shows until then."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.loop.loop import Stopped, Stuck
from domain.errors import ForgeError
from domain.gates import Gate, GateState, digest
from domain.money import Refusal
from domain.runs.plan import HeldContract
from domain.runs.run import ReasonCode, Run, RunState
from domain.text.escaping import inline_code
from memory.runs import outbox
from messages import plan as plan_texts
from messages.plan import StepState
from messages.pull_request import Progress
from pipeline.context import Services
from pipeline.issue.issue_input import PlannedIssue
from pipeline.publishing.issue_comment import IssueStatus
from pipeline.run_context import RunContext
from safety.plan_risk import needs_approval

REFUSAL_REASONS = {
    GateState.rejected: ReasonCode.gate_rejected,
    GateState.expired: ReasonCode.gate_timeout,
    GateState.void: ReasonCode.gate_rejected,
}
"""Why a run ends after such an answer to its gate."""


@dataclass(frozen=True)
class RunEnd:
    """How a run ends.

    :param text: of its comment.
    :param detail: why, in one sentence, where the reason alone does not say it.
    :param why: the same where it is no issue that is told of it.
    :param asked: what people are asked first; empty for nothing.
    """

    state: RunState
    reason: ReasonCode
    text: str
    detail: str = ""
    why: str = ""
    asked: str = ""


class StatusComment:
    """The comment of one execution of a run.

    :ivar progress: what it shows.
    """

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self.progress = Progress()

    async def show_progress(self, step: str, progress: Progress) -> None:
        """:param step: names this state of the comment."""
        self.progress = progress
        later = self._context.progress.post_later
        await self._context.journal.step("say how far it is", self._context.status.show_progress, step, progress, later)

    async def show_waiting(self, gate: Gate) -> None:
        """Show which decision the run waits for. To be used within a step."""
        waits = f"**Waiting for a decision:** {inline_code(gate.name)}, asked in the comment below."
        await self.show(f"waits for {gate.id}", f"{await self._render(self.progress)}\n\n{waits}")

    def mark_planned(self, planned: PlannedIssue) -> None:
        """The plan is approved, if it needs to be, and its implementation starts."""
        approved = StepState.done if needs_approval(planned.plan.level) else None
        self.progress = Progress(StepState.done, approved, StepState.now, tasks=len(planned.plan.plan.tasks))

    async def show_contract_holders(self, held: Sequence[HeldContract]) -> None:
        """Show which runs hold the contracts that this one waits for."""
        text = await self._render(replace(self.progress, implementation=StepState.next))
        text = f"{text}\n\n{plan_texts.waits_for_contracts(held)}"
        step = f"waits for contracts {digest(*held)}"
        await self._context.journal.step("say what it waits for", self._context.status.show, step, text)

    async def show_review(self, step: str, waiting: str) -> None:
        """Show that the pull request is in review.

        :param waiting: for whom the run waits, if for people.
        """
        text = await self._render(replace(self.progress, review=StepState.now, testing=StepState.next))
        text = f"{text}\n\n{waiting}" if waiting else text
        await self._context.journal.step("say that it is reviewed", self.show, step, text)

    async def show_end(self, ended: RunEnd) -> None:
        spent = await self._context.load_cost()
        text = ended.text or plan_texts.render_progress([("Planning", StepState.done)], spent)
        await self._context.journal.step("say how it ended", self.show, name_final_step(ended.reason), text)

    async def show(self, step: str, text: str) -> None:
        """Show a text. To be used within a step."""
        await self._context.progress.quiet()
        await self._context.status.show(step, text)

    async def add_progress(self, ended: RunEnd) -> RunEnd:
        """The end of a run that did only a part, with its progress above."""
        return replace(ended, text=f"{await self._render(self.progress)}\n\n{ended.text}")

    async def render_ready(self) -> str:
        return await self._render(replace(self.progress, review=StepState.done, testing=StepState.done))

    async def _render(self, progress: Progress) -> str:
        return await self._context.status.render_progress(progress)


async def is_end_shown(services: Services, run: Run) -> bool:
    """Whether a run of an issue is over and its comment shows that: then nothing is left to close."""
    if not (run.is_of_issue and run.state.is_final):
        return False
    step = IssueStatus(services, run).step_name(name_final_step(run.reason))
    return await outbox.is_claimed(services.database, run.id, step, "comment")


def name_final_step(reason: ReasonCode) -> str:
    """The name of the comment's last state; stored."""
    return f"ended {reason}"


async def end_unfinished(context: RunContext, unfinished: Stuck | Stopped) -> RunEnd:
    """The end of a run whose agent is stuck, or was stopped by a limit or an error."""
    spent = await context.load_cost()
    match unfinished:
        case Stuck(why):
            return RunEnd(RunState.failed, ReasonCode.stuck, plan_texts.report_stuck(why, spent=spent), why=why)
        case Stopped(_, Refusal() as refusal):
            text = plan_texts.report_refusal(refusal, spent=spent)
            return RunEnd(RunState.failed, ReasonCode.breaker, text, why=plan_texts.explain_refusal(refusal))
        case Stopped(why):
            text = plan_texts.report_failure(ForgeError(why), context.run.id, spent=spent)
            return RunEnd(RunState.failed, ReasonCode.error, text, why=why)


async def end_rejected(context: RunContext, gate: Gate) -> RunEnd:
    """The end of a run that people did not let go on."""
    text = plan_texts.report_rejection(gate, spent=await context.load_cost())
    return RunEnd(RunState.failed, REFUSAL_REASONS[gate.state], text)


def end_without_model(why: str) -> RunEnd:
    """The end of a run that has no model to ask."""
    return RunEnd(RunState.failed, ReasonCode.error, plan_texts.no_model(why), why, why)
