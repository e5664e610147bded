"""Names who stopped tests with ``/forge cancel``, in their checks: tests go on beside a run, also after it ended."""

from domain.runs.run import Run
from domain.value import Value
from memory.runs import runs
from memory.runs.outbox import TestedHead
from pipeline.deliveries.commands.context import CommandContext
from pipeline.publishing import test_check


class OpenTests(Value):
    """Heads that are being tested; in journals.

    :param run: that the tests belong to.
    """

    run: Run
    heads: tuple[TestedHead, ...]


async def find_tests(context: CommandContext) -> OpenTests | None:
    """What is being tested here: tests that a person asked for belong to the newest run, which may have ended."""
    past = await runs.list_for_pull_request(context.database, context.repository.id, context.number)
    if not past:
        return None
    heads = await test_check.list_open_tests(context.services, past[0].run)
    return OpenTests(run=past[0].run, heads=tuple(heads)) if heads else None


async def name_stopper(context: CommandContext, tested: OpenTests) -> None:
    """Complete the checks of tests with the name of the person who stopped them."""
    for each in tested.heads:
        await test_check.close_check(context.services, tested.run, each, context.sender.login)
