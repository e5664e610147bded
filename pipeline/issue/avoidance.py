"""Looks where the change of a run gives up in disguise, whatever the repository says about the changes of people."""

from agents.review.avoidance.detection import detect
from agents.review.checks.worker_pool import WorkerBudget
from domain.review.changes import Change
from domain.runs.task_result import RequiredFix, list_required_fixes
from pipeline.run_context import RunContext
from workspace.mirror import Mirror


async def find_required_fixes(
    context: RunContext, mirror: Mirror, change: Change, asked: str
) -> tuple[RequiredFix, ...]:
    """What has to be taken back, or asked for by a person.

    :param asked: what people asked for; it excuses what it names.
    """
    toolbox = context.services.toolbox
    versions = await mirror.versions(change.files)
    done = await detect(change, versions, WorkerBudget(toolbox.pool, toolbox.seconds), asked)
    return list_required_fixes(done.found)
