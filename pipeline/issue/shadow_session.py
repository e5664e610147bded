"""Runs a command-line agent in a shadow of the repository, until what it changed may be taken."""

from dataclasses import dataclass
from pathlib import Path

from agents.coding import external
from agents.coding.external import ExternalWork
from agents.llm.client import ModelClient, RetryPolicy
from agents.llm.gateway.gateway import GatewayBounds, ModelGateway
from agents.llm.models import LanguageModel
from agents.loop.turns import Assignment
from agents.testing.tester import Tester
from domain.config.configuration import Configuration
from domain.ports import ModelBudget
from domain.runs.patches import ChangeSet, Violation, select_blocking, select_reported
from pipeline.run_context import RunContext
from pipeline.runs.lifecycle import run_while_current
from workspace.draft import Draft
from workspace.sandbox.bubblewrap import build_path
from workspace.sandbox.registry_proxy import INSIDE, Address
from workspace.sandbox.sandbox import Completed
from workspace.shadow import Shadow, open_shadow

_ROUNDS = 3
"""How often an agent is started for one task: again where what it changed may not be taken."""
_SILENT_S = 900.0
"""How long a model may take, with all attempts, before the agent's connection to it is closed."""
_TASK_FILE = "task.md"
_TAIL = 300  # characters of what an agent printed last


async def work_in_shadow(
    context: RunContext,
    configuration: Configuration,
    told: Assignment,
    draft: Draft,
    model: LanguageModel,
    budget: ModelBudget,
) -> ExternalWork:
    """What the configured agent changed and reports, or why there is nothing. The draft stays as it is.

    :param model: that the agent asks; :param budget: pays for it.
    :raises Superseded: something else owns the issue now.
    """
    services, client = context.services, ModelClient(told.key, model, budget, RetryPolicy())
    bounds = GatewayBounds(calls=configuration.agents.implementer.calls)
    async with (
        open_shadow(draft.objects, draft.base, services.toolbox.sandbox) as shadow,
        services.open_gateway(client.fetch_response, bounds) as gateway,
    ):
        await shadow.hide(configuration.review.never_send)
        made = await _set_up(context, configuration, shadow, draft.base)
        session = _ShadowSession(context, configuration, told, draft, shadow, gateway, made)
        work = await run_while_current(services, context.run, session.run())
    return work.model_copy(update={"calls": tuple(client.calls), "notice": client.notice})


async def _set_up(context: RunContext, configuration: Configuration, shadow: Shadow, commit: str) -> ChangeSet:
    """What the repository's set-up changes, which is not the agent's doing."""
    tester = Tester(await context.fetch_mirror(), context.services.toolbox, configuration.commands)
    await tester.set_up(shadow.checkout, commit)
    return (await shadow.read_changes()).change


@dataclass(frozen=True)
class _ShadowSession:
    """One agent in one shadow.

    :param made: what was changed there before the agent began.
    """

    context: RunContext
    configuration: Configuration
    told: Assignment
    draft: Draft
    shadow: Shadow
    gateway: ModelGateway
    made: ChangeSet

    async def run(self) -> ExternalWork:
        key, whole = self.told.key, f"{self.told.instructions}\n\n{self.told.content}\n"
        task, wrong = whole, tuple[Violation, ...]()
        for _ in range(_ROUNDS):
            ended = await self._start(task)
            if self.gateway.refusal is not None:
                return ExternalWork(key=key, problem=self.gateway.refusal.message, refusal=self.gateway.refusal)
            if ended.status != 0:
                return ExternalWork(key=key, problem=_describe_end(ended))
            change, wrong = await self._judge()
            if not select_blocking(wrong):
                report = await self.shadow.checkout.result(external.REPORT_FILE, external.LARGEST_REPORT)
                return ExternalWork(key=key, change=change, worked=external.read_report(report, change))
            task = f"{external.render_refusal(select_reported(wrong))}\n{whole}"
        return ExternalWork(key=key, problem=f"What it changed may not be taken: {select_blocking(wrong)[0]}")

    async def _start(self, task: str) -> Completed:
        checkout, services = self.shadow.checkout, self.context.services
        settings = self.configuration.agents.implementer
        task_file = str(checkout.give_file(_TASK_FILE, task.encode()))
        report = str(Path(checkout.results_inside, external.REPORT_FILE))
        environment = external.build_environment(INSIDE, self.gateway.key, report, task_file)
        return await checkout.run(
            external.build_command(settings.command or "", task, task_file),
            seconds=settings.minutes * 60,
            environment={**environment, "PATH": build_path(services.toolbox.reads)},
            reads=services.toolbox.reads,
            proxy=Address("127.0.0.1", self.gateway.port, idle=_SILENT_S),
        )

    async def _judge(self) -> tuple[ChangeSet, tuple[Violation, ...]]:
        """What the agent changed, and what is wrong with it."""
        found = await self.shadow.read_changes()
        before = {(file.path, file.after) for file in self.made.files}
        change = ChangeSet(files=tuple(file for file in found.change.files if (file.path, file.after) not in before))
        return change, (*found.violations, *await self.draft.judge_change(change))


def _describe_end(ended: Completed) -> str:
    printed = (ended.stderr.data or ended.stdout.data).decode(errors="replace")
    said = " ".join(printed.split())[-_TAIL:]
    how = "did not end in time, or was stopped" if ended.status is None else f"ended with exit status {ended.status}"
    return f"The agent {how}.{f' It says: {said}' if said else ''}"
