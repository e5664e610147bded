"""Takes up a run of an issue again that ended before it was through, or begins another one with its plan."""

from domain.errors import NotFound
from domain.github.seen import EventSnapshot
from domain.runs.run import RepositoryRef, Run, RunState, Trigger
from memory.runs import checkpoints, outbox, resumption, runs
from pipeline import consistent_reads
from pipeline.automation.level import find_opening_obstacle
from pipeline.context import Services
from pipeline.deliveries.admission import CLOSED, Admitted, admit_issue
from pipeline.verdicts.settings import refresh_configuration

NOTHING_TO_RETRY = "no run of this issue ended before it was through"
STILL_RUNNING = "its run goes on"


async def resume(
    services: Services, guid: str, repository: RepositoryRef, number: int, seen: EventSnapshot | None
) -> Admitted:
    """Let the newest run go on from what it has, if it failed or was stopped; nothing is paid for again."""
    run, why_not = await _find_unfinished_run(services, repository, number, seen)
    if run is None:
        return Admitted(why=why_not)
    await refresh_configuration(services, run)
    revived = await resumption.resume(services.database, run, guid, services.clock.now())
    return Admitted(why=STILL_RUNNING) if revived is None else Admitted(run=revived)


async def retry(
    services: Services, guid: str, repository: RepositoryRef, number: int, seen: EventSnapshot | None
) -> Admitted:
    """Begin a run that does the phase anew in which the newest one failed: with its plan, if it had one."""
    run, why_not = await _find_unfinished_run(services, repository, number, seen)
    if run is None:
        return Admitted(why=why_not)
    if await outbox.find_proposal(services.database, run.id) is not None:  # it failed later: that is done anew
        return await resume(services, guid, repository, number, seen)
    admitted = await admit_issue(services, guid, repository, number, Trigger.issue, seen)
    plan = await checkpoints.load_plan(services.database, run)
    if admitted.run is not None and plan is not None and admitted.run.base_sha == run.base_sha:
        await checkpoints.save_plan(services.database, admitted.run, plan, services.clock.now())
    return admitted


async def _find_unfinished_run(
    services: Services, repository: RepositoryRef, number: int, seen: EventSnapshot | None
) -> tuple[Run | None, str]:
    """The newest run of an open issue that is not a mere plan's, if it is over and was not through; else why not."""
    try:
        if not (await consistent_reads.load_issue(services, repository, number, seen)).is_open:
            return None, CLOSED
    except NotFound:
        return None, NOTHING_TO_RETRY
    past = await runs.list_for_pull_request(services.database, repository.id, number)
    newest = next((each.run for each in past if each.run.trigger is Trigger.issue), None)
    if newest is None or newest.state is RunState.completed:
        return None, NOTHING_TO_RETRY
    if await outbox.find_proposal(services.database, newest.id) is None:
        why = await find_opening_obstacle(services, repository)
        if why is not None:
            return None, why
    return newest, ""
