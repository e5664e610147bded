"""Has Forge's own implementer carry out a task in interactive mode: it may run commands on its draft."""

from contextlib import AsyncExitStack
from dataclasses import dataclass

from agents.llm.models import LanguageModel
from agents.loop.loop import Done, Stopped, Stuck
from agents.loop.tools.run_command import could_not_run, make_run_command
from domain.config.configuration import Configuration
from domain.runs.patches import Worked
from domain.text.redaction import redact_outgoing
from pipeline.issue.coding.command_shadow import CommandShadow
from pipeline.issue.coding.mode_notice import add_notice
from pipeline.issue.coding.own_agent import CodingAgent
from pipeline.issue.coding.work_item import WorkItem
from pipeline.run_context import RunContext
from workspace.draft import Draft
from workspace.sandbox.sandbox import LANDLOCK

_NO_SANDBOX = "Interactive mode needs sandbox level 2; at level {} the agent worked without commands."
_NONE_ALLOWED = "Interactive mode needs `execution.commands`; the agent worked without commands."
_FAILED = "Commands could not be run for this in interactive mode; the agent worked without them."


@dataclass(frozen=True)
class InteractiveAgent:
    """The implementer with commands, within one run."""

    context: RunContext
    configuration: Configuration

    async def work(self, item: WorkItem, draft: Draft, model: LanguageModel) -> Done[Worked] | Stuck | Stopped:
        """Work on one piece; what changes is in the draft afterwards. Where no command can run, it works without.

        :raises WaitingForGate: if a person has to decide first.
        """
        level = self.context.services.toolbox.sandbox.strongest().level
        allowed = self.configuration.commands_of_agents
        own = CodingAgent(self.context, self.configuration)
        if level < LANDLOCK:
            return add_notice(await own.work(item, draft, model), _NO_SANDBOX.format(level))
        if not allowed:
            return add_notice(await own.work(item, draft, model), _NONE_ALLOWED)
        async with AsyncExitStack() as stack:
            shadow = CommandShadow(self.context, self.configuration, draft, stack)
            says_words = not self.configuration.review.never_send
            tool = make_run_command(shadow.run, allowed, redact=redact_outgoing, says_words=says_words)
            done = await own.work(item, draft, model, tool)
        return add_notice(done, _FAILED) if isinstance(done, Done) and could_not_run(done.past) else done
