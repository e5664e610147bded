"""Runs one command of a repository in a checkout, with the operator's programs and, if allowed, the network."""

from agents.testing.runners.runner import ProjectCommand
from agents.toolbox import Toolbox
from domain.config.configuration import Commands
from workspace.checkout import Checkout
from workspace.sandbox.bubblewrap import build_path
from workspace.sandbox.sandbox import Completed


async def execute(
    command: ProjectCommand, checkout: Checkout, toolbox: Toolbox, configured: Commands, seconds: float
) -> tuple[Completed, str]:
    """How it ended, and why it had no network although it should have had it; empty if that is not so.

    :param configured: the commands in the repository's configuration on its default branch.
    :raises ToolError: no sandbox here contains untrusted code, or the sandbox could not be started.
    """
    environment = {**dict(command.environment), "PATH": build_path(toolbox.reads)}
    asks = command.kind == "setup" and configured.network
    lacks = checkout.why_no_network(toolbox.proxy) if asks else ""
    proxy = toolbox.proxy if asks and not lacks else None
    done = await checkout.run(command.words, seconds=seconds, environment=environment, reads=toolbox.reads, proxy=proxy)
    return done, lacks
