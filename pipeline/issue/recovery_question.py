"""Describes an agent that gave up in disguise, for the people who are asked how it shall go on."""

from collections.abc import Sequence

from domain.runs.recovery import RecoveryAttempt
from memory.runs import checkpoints
from messages import recovery as texts
from messages import tests as test_texts
from pipeline.issue.coding.recent_checkpoints import describe_recent
from pipeline.issue.coding.work_item import WorkItem
from pipeline.issue.test_result import HeadTestResult
from pipeline.run_context import RunContext


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
