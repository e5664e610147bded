"""Looks where the change of a run gives up in disguise, whatever the repository says about the changes of people."""

from pydantic import BaseModel, ConfigDict

from agents.review.avoidance.detection import VersionPair, detect, detect_in_pairs
from agents.review.checks.worker_pool import WorkerBudget
from domain.config.avoidance import AvoidanceReaction
from domain.config.configuration import Configuration
from domain.review.avoidance import LEGITIMATE, Avoidance, list_certain
from domain.review.changes import Change
from domain.review.findings import Severity
from domain.runs.patches import ChangeSet, Violation
from domain.runs.run import Run
from domain.runs.task_result import MOST_FIXES
from memory.db.engine import Database
from memory.runs import outbox
from pipeline.run_context import RunContext
from pipeline.verdicts.request import load_request, load_request_of_pull_request
from workspace.mirror import Mirror
from workspace.patches.errors import violation


class AvoidanceTerms(BaseModel):
    """What giving up in disguise comes to.

    :param asked: what people asked for; it excuses what it names, such as the removal of a test.
    :param on_loss: what lost coverage does; of Forge's own changes it always asks.
    """

    model_config = ConfigDict(frozen=True)

    asked: str = ""
    on_loss: AvoidanceReaction = AvoidanceReaction.gate


async def load_terms(database: Database, run: Run, configuration: Configuration) -> AvoidanceTerms:
    """The terms of a pull request: those of its repository, or of the issue that Forge opened it for."""
    repository, number = run.repository.id, run.number
    if await outbox.find_proposing_run(database, repository, number) is None:
        return AvoidanceTerms(on_loss=configuration.avoidance.coverage_lost)
    return AvoidanceTerms(asked=await load_request_of_pull_request(database, repository, number))


async def find_avoidance(context: RunContext, mirror: Mirror, change: Change, asked: str) -> tuple[Avoidance, ...]:
    """Where a change does, as its files tell.

    :param asked: what people asked for; it excuses what it names.
    """
    return (await detect(change, await mirror.versions(change.files), _build_budget(context), asked)).found


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
