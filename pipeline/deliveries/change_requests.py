"""Takes what people ask for on a pull request of Forge's own to the run that proposed it, also if that was through."""

from pydantic import JsonValue

from domain.commands import ChangesRequested
from domain.github.seen import EventSnapshot
from domain.runs.run import ReasonCode, Run
from domain.slash.commands import PlainCommand
from domain.slash.verbs import Verb
from memory.ledger import ledger
from memory.repositories import permits
from memory.runs import outbox, resumption, runs
from pipeline.consistent_reads import read_when_visible
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import enqueue_resume
from pipeline.gates.actor import load_actor
from safety.authorization import authorise

_NOT_PROPOSED = "no run of Forge's proposed it"


async def forward(services: Services, journal: WorkflowJournal, command: ChangesRequested, guid: str) -> str:
    """Let the run look at a person's review of the head it proposed; what became of it."""

    async def find(seen: EventSnapshot | None) -> JsonValue:
        found = await _find_owner(services, command, guid, seen)
        return found if isinstance(found, str) else found.model_dump(mode="json")

    found = await read_when_visible(services, journal.step, "whose pull request it is", find, command.seen)
    if isinstance(found, str):
        return found
    run = Run.model_validate(found)
    await enqueue_resume(run, guid)
    return f"run {run.id} looks at it"


async def _find_owner(
    services: Services, command: ChangesRequested, guid: str, seen: EventSnapshot | None
) -> Run | str:
    """The run, waiting to be queued; or why it is not."""
    owner = await outbox.find_proposing_run(services.database, command.repository.id, command.number)
    run = None if owner is None else await runs.get(services.database, owner)
    if run is None:
        return _NOT_PROPOSED
    if await permits.find_pauser(services.database, command.repository) is not None:
        return "ignored: Forge is paused"
    standing = await load_actor(services, command.repository, command.number, command.sender, seen)
    refused = authorise(PlainCommand(verb=Verb.run), standing.facts)
    if refused is not None:
        payload = {"verb": "review", "code": refused.code.value, "account": command.sender.id, "held": refused.held}
        await ledger.record_refusal(services.database, guid, payload, services.clock.now())
        return f"refused: it needs the role {refused.needed}, the sender has {refused.held}"
    if standing.pull_request is None or not standing.pull_request.is_open:
        return "the pull request is closed"
    if standing.pull_request.head_sha != command.head_sha:
        return "the head moved meanwhile"
    if run.reason is ReasonCode.branch_moved:
        return "the branch is a person's"
    if not run.state.is_final:
        return run
    revived = await resumption.resume(services.database, run, guid, services.clock.now(), also_completed=True)
    return revived or "another run took over"
