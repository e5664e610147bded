"""Resumes the runs that proposed a head: its checks have ended, or a person asks for changes there."""

from functools import partial

from domain.commands import ChangesRequested, ChecksEnded
from domain.github.installations import EventSnapshot
from domain.github.pull_requests import PullRequest
from domain.runs.run import ReasonCode, Run, RunState
from domain.slash import RunIssue
from domain.verbs import Verb
from memory.repositories import permits
from memory.runs import checkpoints, outbox, runs, transitions
from messages import deliveries as texts
from pipeline.automation.level import find_opening_obstacle
from pipeline.consistent_reads import read_when_visible
from pipeline.context import DeliveryContext
from pipeline.durable.queues import enqueue_instruction, enqueue_resume
from pipeline.gates.actor import authorise_or_record, load_actor
from pipeline.issue.head_examination import HeadTestResult
from pipeline.issue.instruction.kept_commits import look_again
from pipeline.issue.red_checks import must_mend
from pipeline.runs.status import wake_owner

_HANDED_IN = frozenset({ReasonCode.proposed, ReasonCode.untested})


async def wake_owners(context: DeliveryContext, command: ChecksEnded) -> str:
    """Wake every run that proposed this head, also one that is over if checks are red; mend again what is still red."""
    of_head = (context.services.database, command.repository.id, command.head_sha)
    known = await context.journal.step("whose head it is", runs.list_for_head, *of_head)
    numbers = sorted({run.number for run in known})
    for number in numbers:
        await wake_owner(context.services, context.journal, command.repository, number, context.guid)
        where = (context.services, command.repository, number, command.head_sha)
        again = await context.journal.step("is it still red", look_again, *where)
        if again is not None:
            await enqueue_instruction(again, command.repository.id, number)
        # whoever handed in this head mends what is red there because of it, or says that it tried enough
        run = await context.journal.step("is the proposal red", _find_red, context, command, number)
        if run is not None:
            await enqueue_resume(run, context.guid)
    return texts.describe_woken(numbers)


async def _find_red(context: DeliveryContext, command: ChecksEnded, number: int) -> Run | None:
    """The run, in the state in which it can go on; None if there is nothing to do."""
    services, repository, head = context.services, command.repository, command.head_sha
    run = await outbox.find_proposing_run(services.database, repository.id, number)
    if run is None or run.state is not RunState.completed or run.reason not in _HANDED_IN:
        return None
    tested = await checkpoints.load_tests(services.database, run)
    if tested is None or HeadTestResult.model_validate(tested).head != head:  # somebody else's
        return None
    if await permits.find_pauser(services.database, repository) is not None:
        return None
    live = await services.host.pull_request(repository, number)
    if not live.is_open or live.head_sha != head or await find_opening_obstacle(services, repository) is not None:
        return None
    if not await must_mend(services, run, number, head):
        return None
    return await transitions.resume(services.database, run, context.guid, services.clock.now(), also_completed=True)


async def forward_change_request(context: DeliveryContext, command: ChangesRequested) -> str:
    """Resume the run with a person's review of the head it proposed, also if it had ended; how that ended."""
    find, key = partial(_find_run, context, command), "whose pull request it is"
    found = await read_when_visible(context.services, context.journal, key, find, command.seen)
    if isinstance(found, str):
        return found
    await enqueue_resume(found, context.guid)
    return texts.describe_resumed_owner(found.id)


async def _find_run(context: DeliveryContext, command: ChangesRequested, seen: EventSnapshot | None) -> Run | str:
    """The run to resume, in the state in which it can be; or why there is none."""
    services = context.services
    run = await outbox.find_proposing_run(services.database, command.repository.id, command.number)
    if run is None:
        return texts.NOT_PROPOSED
    if await permits.find_pauser(services.database, command.repository) is not None:
        return texts.IGNORED_PAUSED
    actor = await load_actor(services, command.repository, command.number, command.sender, seen, judges=False)
    refused = await authorise_or_record(services, context.guid, RunIssue(), actor, Verb.review)
    if refused is not None:
        return texts.describe_refusal(refused.needed, refused.held)
    obstacle = _find_obstacle(command, actor.pull_request, run)
    if obstacle is not None:
        return obstacle
    if not run.state.is_final:
        return run
    resumed = await transitions.resume(services.database, run, context.guid, services.clock.now(), also_completed=True)
    return resumed or texts.OTHER_RUN


def _find_obstacle(command: ChangesRequested, live: PullRequest | None, run: Run) -> str | None:
    """Why the review is not about what the run would change."""
    if live is None or not live.is_open:
        return texts.CLOSED_PULL_REQUEST
    if live.head_sha != command.head_sha:
        return texts.HEAD_MOVED
    return texts.BRANCH_OF_PERSON if run.reason is ReasonCode.branch_moved else None
