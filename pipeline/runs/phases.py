"""Records when a run enters and leaves its phases. Not journaled: a repetition records nothing."""

from domain.runs.run import Phase
from memory.runs import phases
from pipeline.durable.steps import run_outside_journal
from pipeline.run_context import RunContext


async def enter_phase(context: RunContext, phase: Phase, turn: int = 1) -> None:
    """:param turn: counts the times the run enters this phase."""
    await run_outside_journal(phases.enter, context.database, context.run, phase, turn, context.now())


async def leave_phase(context: RunContext, phase: Phase, turn: int = 1) -> None:
    """:param turn: see :func:`enter_phase`."""
    await run_outside_journal(phases.leave, context.database, context.run, phase, turn, context.now())
