"""Starts the command-line agent of a repository in the sandbox, with its task and the address of its model."""

from dataclasses import dataclass, field
from pathlib import Path

from agents.coding import external
from agents.llm.gateway.gateway import ModelGateway
from agents.toolbox import Toolbox
from domain.config.configuration import Configuration
from domain.errors import ToolError
from workspace.checkout import Checkout
from workspace.sandbox.bubblewrap import build_path
from workspace.sandbox.registry_proxy import INSIDE, Address
from workspace.sandbox.sandbox import Completed
from workspace.sandbox.suspension import ProgramControl

_TASK_FILE = "task.md"


@dataclass(frozen=True)
class AgentProcess:
    """The agent in one checkout. It can be started again after it ended.

    :param gateway: answers for its model.
    :ivar control: pauses it.
    """

    toolbox: Toolbox
    configuration: Configuration
    checkout: Checkout
    gateway: ModelGateway
    control: ProgramControl = field(default_factory=ProgramControl)

    async def run(self, task: str) -> Completed:
        """Run the agent to its end, or to its limits.

        :raises ToolError: it could not be started.
        """
        settings, reads = self.configuration.agents.implementer, self.toolbox.reads
        task_file = str(self.checkout.give_file(_TASK_FILE, task.encode()))
        await self.checkout.remove_result(external.REPORT_FILE)
        report = str(Path(self.checkout.results_inside, external.REPORT_FILE))
        wait = self.gateway.bounds.seconds
        environment = external.build_environment(INSIDE, self.gateway.key, report, task_file, wait)
        return await self.checkout.run(
            external.build_command(settings.command or "", task, task_file),
            seconds=settings.minutes * 60,
            environment={**environment, "PATH": build_path(reads)},
            reads=reads,
            proxy=Address("127.0.0.1", self.gateway.port, idle=wait),
            control=self.control,
        )

    async def read_report(self) -> bytes | None:
        """What it reported; None if nothing can be read."""
        try:
            return await self.checkout.result(external.REPORT_FILE, external.LARGEST_REPORT)
        except ToolError:
            return None
