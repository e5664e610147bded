"""How the run of an issue ends before it is done, and what its comment says then."""

from dataclasses import dataclass

from agents.loop.loop import Stopped, Stuck
from domain.errors import ForgeError
from domain.gates import GateState
from domain.money import Refusal
from domain.runs.run import ReasonCode, RunState
from messages import plan as plan_texts
from pipeline.run_context import RunContext

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


def end_without_model(why: str) -> RunEnd:
    """The end of a run that has no model to ask."""
    return RunEnd(RunState.failed, ReasonCode.error, plan_texts.no_model(why), why, why)
