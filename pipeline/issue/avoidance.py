"""Looks where the change of a run gives up in disguise, whatever the repository says about the changes of people."""

from datetime import UTC, datetime

import structlog

from agents.review.checks.avoidance import VersionPair, detect, detect_in_pairs
from domain.config.configuration import Configuration
from domain.config.sections import AvoidanceReaction
from domain.github.commits import Signature
from domain.review.avoidance import Avoidance
from domain.review.changes import Change
from domain.runs.earlier_tests import EarlierTests
from domain.runs.patches import MOST_FIXES, ChangeSet, RequiredFix
from domain.runs.recovery import HiddenFailure, list_certain_failures, list_hidden
from domain.runs.run import Run
from domain.value import Value
from memory.db.engine import Database
from memory.runs import outbox
from pipeline.run_context import RunContext
from pipeline.verdicts.earlier_tests import EarlierTestRuns, build_fix, load_accepted
from pipeline.verdicts.settings import load_request, load_request_of_pull_request
from workspace.mirror import Mirror

log = structlog.get_logger(__name__)

# Fixed, so that the same change makes the same commit. It is never pushed.
_MESSAGE, _AUTHOR = "A draft.\n", Signature(name="forge", email="forge@localhost")
_AT = datetime(2000, 1, 1, tzinfo=UTC)


class AvoidanceTerms(Value):
    """What giving up in disguise comes to.

    :param asked: what people asked for; it excuses what it names, such as the removal of a test.
    :param on_loss: what lost coverage does; of Forge's own changes it always asks.
    """

    asked: str = ""
    on_loss: AvoidanceReaction = AvoidanceReaction.gate


async def load_terms(database: Database, run: Run, configuration: Configuration) -> AvoidanceTerms:
    """The terms of a pull request: those of its repository, or of the issue that Forge opened it for."""
    repository, number = run.repository.id, run.number
    if await outbox.find_proposing_run(database, repository, number) is None:
        return AvoidanceTerms(on_loss=configuration.avoidance.coverage_lost)
    return AvoidanceTerms(asked=await load_request_of_pull_request(database, repository, number))


async def load_own_terms(context: RunContext) -> AvoidanceTerms:
    """The terms of the change that a run makes of its issue."""
    return AvoidanceTerms(asked=await load_request(context.database, context.run))


async def find_avoidance(context: RunContext, mirror: Mirror, change: Change) -> tuple[Avoidance, ...]:
    """Where a change does, as its files tell."""
    return (await detect(change, await mirror.versions(change.files), context.services.toolbox)).found


async def find_hidden_failures(
    context: RunContext, configuration: Configuration, change: ChangeSet
) -> tuple[HiddenFailure, ...] | None:
    """What an agent hid in a change, before it is taken: tests of before that fail, and what rules are certain of.

    None if nothing was found and not all could be looked at; the review looks again, and asks a person if it cannot.

    :param change: everything since the base of the run.
    """
    if not change.files:
        return ()
    lost = await _find_lost_tests(context, configuration, await context.fetch_mirror(), change)
    pairs = [VersionPair(file.path, file.path, file.before, file.after) for file in change.files]
    done = await detect_in_pairs(pairs, context.services.toolbox)
    found = (*lost, *list_certain_failures(done.found))
    if done.problem is not None and not found:
        log.warning("avoidance.not_looked", run=context.run.id, problem=done.problem)
        return None
    return found


async def _find_lost_tests(
    context: RunContext, configuration: Configuration, mirror: Mirror, change: ChangeSet
) -> tuple[HiddenFailure, ...]:
    draft = await mirror.commit_change(context.run.base_sha, change, _MESSAGE, _AUTHOR, _AT)
    compared = await mirror.change(context.run.base_sha, draft)
    said = await EarlierTestRuns(context.services, context.run, configuration).find_or_run(mirror, compared)
    fixes = await list_lost_tests(context, said, compared)
    return list_hidden(fixes)


async def list_lost_tests(context: RunContext, said: EarlierTests, change: Change) -> tuple[RequiredFix, ...]:
    """The tests of before that fail, that nothing stands in for, and of which nobody said that they may go."""
    accepted = await load_accepted(context.services, context.run, said)
    return tuple(build_fix(each, change) for each in said.obligations if not accepted.covers(each))[:MOST_FIXES]
