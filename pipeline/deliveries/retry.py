"""Resumes a run of an issue that ended early, or starts another run with its plan."""

from domain.errors import NotFound
from domain.github.deliveries import EventSnapshot
from domain.runs.run import ReasonCode, RepositoryRef, Run, RunState, Trigger
from memory.runs import checkpoints, outbox, runs, transitions
from messages import deliveries as texts
from pipeline import consistent_reads
from pipeline.automation.level import find_opening_obstacle
from pipeline.context import Services
from pipeline.deliveries.admission import Admitted, admit_issue
from pipeline.verdicts.settings import refresh_configuration


async def resume(
    services: Services, guid: str, repository: RepositoryRef, number: int, seen: EventSnapshot | None
) -> Admitted:
    """Resume the newest run if it failed or was stopped. It keeps what it has, so nothing is paid for again."""
    found = await _find_unfinished_run(services, repository, number, seen)
    if isinstance(found, Admitted):
        return found
    await refresh_configuration(services, found)
    resumed = await transitions.resume(services.database, found, guid, services.clock.now())
    return Admitted(why=texts.STILL_RUNNING) if resumed is None else Admitted(run=resumed)


async def retry(
    services: Services, guid: str, repository: RepositoryRef, number: int, seen: EventSnapshot | None
) -> Admitted:
    """Start a run that repeats the phase in which the newest one failed.

    It takes over its mode, and its plan, if there is one.
    """
    found = await _find_unfinished_run(services, repository, number, seen)
    if isinstance(found, Admitted):
        return found
    if await outbox.find_proposal(services.database, found.id) is not None:  # it failed after that: resume there
        return await resume(services, guid, repository, number, seen)
    admitted = await admit_issue(services, guid, repository, number, Trigger.issue, seen, found.mode)
    plan = await checkpoints.load_plan(services.database, found)
    if admitted.run is not None and plan is not None and admitted.run.base_sha == found.base_sha:
        await checkpoints.save_plan(services.database, admitted.run, plan, services.clock.now())
    return admitted


async def _find_unfinished_run(
    services: Services, repository: RepositoryRef, number: int, seen: EventSnapshot | None
) -> Run | Admitted:
    """The newest run of an open issue that was to change code and ended early; or why there is none."""
    try:
        if not (await consistent_reads.load_issue(services, repository, number, seen)).is_open:
            return Admitted(why=texts.CLOSED_ISSUE)
    except NotFound:
        return Admitted(why=texts.NOTHING_TO_RETRY)
    past = await runs.list_for_pull_request(services.database, repository.id, number)
    newest = next((each.run for each in past if each.run.trigger is Trigger.issue), None)
    if newest is None or newest.state is RunState.completed:
        is_untested = newest is not None and newest.reason is ReasonCode.untested
        return Admitted(why=texts.NOT_TESTED_YET if is_untested else texts.NOTHING_TO_RETRY)
    if await outbox.find_proposal(services.database, newest.id) is None:
        why = await find_opening_obstacle(services, repository)
        if why is not None:
            return Admitted(why=why, is_at_level_0=True)
    return newest
