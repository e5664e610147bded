"""Forwards change requests on a pull request that Forge opened to the run that opened it."""

from functools import partial

from domain.commands import ChangesRequested
from domain.github.installations import EventSnapshot
from domain.github.pull_requests import PullRequest
from domain.runs.run import ReasonCode, Run
from domain.slash import RunIssue
from domain.verbs import Verb
from memory.repositories import permits
from memory.runs import outbox, runs, transitions
from messages import deliveries as texts
from pipeline.consistent_reads import read_when_visible
from pipeline.context import DeliveryContext
from pipeline.durable.queues import enqueue_resume
from pipeline.gates.actor import CommandActor, load_actor, record_refusal
from safety.authorization import authorise


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
    owner = await outbox.find_proposing_run(services.database, command.repository.id, command.number)
    run = None if owner is None else await runs.get(services.database, owner)
    if run is None:
        return texts.NOT_PROPOSED
    if await permits.find_pauser(services.database, command.repository) is not None:
        return texts.IGNORED_PAUSED
    actor = await load_actor(services, command.repository, command.number, command.sender, seen, judges=False)
    refused = await _find_refusal(context, command, actor) or _find_obstacle(command, actor.pull_request, run)
    if refused is not None:
        return refused
    if not run.state.is_final:
        return run
    resumed = await transitions.resume(services.database, run, context.guid, services.clock.now(), also_completed=True)
    return resumed or texts.OTHER_RUN


async def _find_refusal(context: DeliveryContext, command: ChangesRequested, actor: CommandActor) -> str | None:
    refused = authorise(RunIssue(), actor.facts)
    if refused is None:
        return None
    asked = refused.model_copy(update={"verb": Verb.review})
    await record_refusal(context.services, context.guid, command.sender, asked)
    return texts.describe_refusal(refused.needed, refused.held)


def _find_obstacle(command: ChangesRequested, live: PullRequest | None, run: Run) -> str | None:
    """Why the review is not about what the run would change."""
    if live is None or not live.is_open:
        return texts.CLOSED_PULL_REQUEST
    if live.head_sha != command.head_sha:
        return texts.HEAD_MOVED
    return texts.BRANCH_OF_PERSON if run.reason is ReasonCode.branch_moved else None
