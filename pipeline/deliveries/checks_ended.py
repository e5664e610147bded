"""Tells who is concerned by the checks of a head that they have ended: runs of issues, and what was mended there."""

from domain.commands import ChecksEnded
from domain.runs.next_step import MAX_SEND_BACKS
from domain.runs.run import Phase, ReasonCode, Run, RunState
from memory.repositories import permits
from memory.runs import checkpoints, outbox, runs, transitions
from messages import deliveries as texts
from messages import instructions as instruction_texts
from pipeline.automation.level import find_opening_obstacle
from pipeline.context import DeliveryContext
from pipeline.durable.queues import enqueue_instruction, enqueue_resume
from pipeline.issue.head_examination import HeadTestResult
from pipeline.issue.instruction.kept_commits import look_again
from pipeline.issue.red_checks import load_red_checks_of_run
from pipeline.publishing import comments
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
        run = await context.journal.step("is the proposal red", _find_run, context, command, number)
        if run is not None:
            await enqueue_resume(run, context.guid)
    return texts.describe_woken(numbers)


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
        text = instruction_texts.report_still_red(list(dict.fromkeys(each.name for each in red)))
        await comments.answer_below(services, repository, number, f"{run.id} {head} still red", text)
        return None
    return await transitions.resume(services.database, run, context.guid, services.clock.now(), also_completed=True)
