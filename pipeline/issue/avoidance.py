"""Looks where the change of a run gives up in disguise, whatever the repository says about the changes of people."""

from agents.review.avoidance.detection import VersionPair, detect, detect_in_pairs
from agents.review.checks.worker_pool import WorkerBudget
from domain.review.avoidance import LEGITIMATE, list_certain
from domain.review.changes import Change
from domain.review.findings import Severity
from domain.runs.patches import ChangeSet, Violation
from domain.runs.task_result import MOST_FIXES, RequiredFix, list_required_fixes
from pipeline.run_context import RunContext
from pipeline.verdicts.request import load_request
from workspace.mirror import Mirror
from workspace.patches.errors import violation


async def find_required_fixes(
    context: RunContext, mirror: Mirror, change: Change, asked: str
) -> tuple[RequiredFix, ...]:
    """What has to be taken back, or asked for by a person.

    :param asked: what people asked for; it excuses what it names.
    """
    done = await detect(change, await mirror.versions(change.files), _build_budget(context), asked)
    return list_required_fixes(done.found)


async def find_avoidance_violations(context: RunContext, change: ChangeSet) -> tuple[Violation, ...]:
    """The same of a change that an agent made in its shadow, as what it has to correct before it is taken."""
    pairs = [VersionPair(file.path, file.path, file.before, file.after) for file in change.files]
    asked = await load_request(context.database, context.run)
    done = await detect_in_pairs(pairs, _build_budget(context), asked)
    return tuple(
        violation(each.path, "avoidance", Severity.error, each.what, LEGITIMATE[each.kind])
        for each in list_certain(done.found)[:MOST_FIXES]
    )


def _build_budget(context: RunContext) -> WorkerBudget:
    toolbox = context.services.toolbox
    return WorkerBudget(toolbox.pool, toolbox.seconds)
