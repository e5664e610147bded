"""Looks where the change of a run gives up in disguise, whatever the repository says about the changes of people."""

import structlog
from pydantic import BaseModel, ConfigDict

from agents.review.avoidance.detection import VersionPair, detect, detect_in_pairs
from agents.review.checks.worker_pool import WorkerBudget
from domain.config.avoidance import AvoidanceReaction
from domain.config.configuration import Configuration
from domain.review.avoidance import Avoidance
from domain.review.changes import Change
from domain.runs.patches import ChangeSet
from domain.runs.recovery import HiddenFailure, list_certain_failures
from domain.runs.run import Run
from memory.db.engine import Database
from memory.runs import outbox
from pipeline.run_context import RunContext
from pipeline.verdicts.request import load_request_of_pull_request
from workspace.mirror import Mirror

log = structlog.get_logger(__name__)


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


async def find_avoidance(context: RunContext, mirror: Mirror, change: Change) -> tuple[Avoidance, ...]:
    """Where a change does, as its files tell."""
    return (await detect(change, await mirror.versions(change.files), _build_budget(context))).found


async def find_hidden_failures(context: RunContext, change: ChangeSet) -> tuple[HiddenFailure, ...] | None:
    """What an agent hid in a change, before it is taken; only what is certain and has no excuse.

    None if nothing was found and not all could be looked at; the review looks again, and asks a person if it cannot.
    """
    pairs = [VersionPair(file.path, file.path, file.before, file.after) for file in change.files]
    done = await detect_in_pairs(pairs, _build_budget(context))
    found = list_certain_failures(done.found)
    if done.problem is not None and not found:
        log.warning("avoidance.not_looked", run=context.run.id, problem=done.problem)
        return None
    return found


def _build_budget(context: RunContext) -> WorkerBudget:
    toolbox = context.services.toolbox
    return WorkerBudget(toolbox.pool, toolbox.seconds)
