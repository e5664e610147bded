"""Says of tests that ``/forge cancel`` stops who stopped them: they go on beside the runs, and are none."""

from memory.runs import runs
from memory.runs.outbox import TestedHead
from pipeline.deliveries.commands.context import CommandContext
from pipeline.publishing import test_check


async def list_tests(context: CommandContext) -> list[TestedHead]:
    """What is being tested here; tests that a person asked for are of the newest run, which may have ended."""
    past = await runs.list_for_pull_request(context.database, context.repository.id, context.number)
    return await test_check.list_open_tests(context.services, past[0].run) if past else []


async def name_stopper(context: CommandContext, tested: list[TestedHead]) -> None:
    """Complete the checks of tests with the name of the person who stopped them."""
    [newest, *_] = await runs.list_for_pull_request(context.database, context.repository.id, context.number)
    for each in tested:
        await test_check.close_check(context.services, newest.run, each, context.sender.login)
