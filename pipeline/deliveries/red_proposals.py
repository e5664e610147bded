"""Takes up again the run of an issue on whose pull request checks of other Apps are red after it ended."""

from domain.commands import ChecksEnded
from domain.runs.next_step import MAX_SEND_BACKS
from domain.runs.run import Phase, ReasonCode, Run, RunState
from memory.repositories import permits
from memory.runs import checkpoints, outbox, resumption, runs
from messages import instructions as texts
from pipeline.automation.level import find_opening_obstacle
from pipeline.deliveries.context import DeliveryContext
from pipeline.durable.queues import enqueue_resume
from pipeline.issue.red_checks import load_red_checks_of_run
from pipeline.issue.test_result import HeadTestResult
from pipeline.publishing import comments

_HANDED_IN = frozenset({ReasonCode.proposed, ReasonCode.untested})


async def take_up_red_proposal(context: DeliveryContext, command: ChecksEnded, number: int) -> None:
    """Let the run that handed in this head mend what is red there because of it, or say that it tried enough."""
    run = await context.journal.step("is the proposal red", _find_run, context, command, number)
    if run is not None:
        await enqueue_resume(run, context.guid)


async def _find_run(context: DeliveryContext, command: ChecksEnded, number: int) -> Run | None:
    """The run, in the state in which it can go on; None if there is nothing to do."""
    services, repository, head = context.services, command.repository, command.head_sha
    owner = await outbox.find_proposing_run(services.database, repository.id, number)
    run = None if owner is None else await runs.get(services.database, owner)
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
    red = await load_red_checks_of_run(services, run, number, head)
    if not red:
        return None
    sent_back = await checkpoints.load_send_backs(services.database, run)
    if sum(each.phase is Phase.testing for each in sent_back) >= MAX_SEND_BACKS[Phase.testing]:
        text = texts.report_still_red(list(dict.fromkeys(each.name for each in red)))
        await comments.answer_below(services, repository, number, f"{run.id} {head} still red", text)
        return None
    return await resumption.resume(services.database, run, context.guid, services.clock.now(), also_completed=True)
