"""Sets up a shadow of the repository for whoever works in it."""

from agents.testing.tester import Tester
from domain.config.configuration import Configuration
from pipeline.run_context import RunContext
from workspace.shadow import Shadow

_TAIL = 300  # characters of what was printed last


async def set_up_shadow(context: RunContext, configuration: Configuration, shadow: Shadow, base: str) -> str:
    """Hide what must not leave and run the set-up; what failed, for the agent, or empty.

    :param base: SHA of the commit that the shadow holds.
    :raises CodeAccessError: a file cannot be read.
    :raises ToolError: no sandbox here contains untrusted code.
    """
    never_send = configuration.review.never_send
    await shadow.hide(never_send)
    tester = Tester(await context.fetch_mirror(), context.services.toolbox, configuration.commands)
    failed = await tester.set_up(shadow.checkout, base, uses_cache=not never_send)
    return "" if failed is None else describe_end(f"The set-up `{failed.line}`", failed.exit_status, failed.output)


def describe_end(what: str, status: int | None, printed: str) -> str:
    """How a program ended, and the end of what it printed, on one line."""
    said = " ".join(printed.split())[-_TAIL:]
    how = "did not end in time, or was stopped" if status is None else f"ended with exit status {status}"
    return f"{what} {how}.{f' It says: {said}' if said else ''}"
