"""Runs a command-line agent in a shadow of the repository, until what it changed may be taken."""

import asyncio
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
from domain.errors import CodeAccessError, ToolError
from domain.ports import ModelBudget
from domain.runs.patches import ChangeSet, Violation, select_blocking, select_reported
from pipeline.run_context import RunContext
from pipeline.runs.lifecycle import run_while_current
from workspace.draft import Draft
from workspace.sandbox.bubblewrap import build_path
from workspace.sandbox.registry_proxy import INSIDE, Address
from workspace.sandbox.sandbox import Completed
from workspace.shadow import Shadow, ShadowChanges, open_shadow

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
    try:
        async with (
            open_shadow(draft.objects, draft.base, services.toolbox.sandbox) as shadow,
            services.open_gateway(client.fetch_response, bounds) as gateway,
        ):
            session = _ShadowSession(context, configuration, told, draft, shadow, gateway)
            work = await run_while_current(services, context.run, session.run())
    except (CodeAccessError, ToolError) as error:
        work = ExternalWork(key=told.key, problem=f"The agent could not work here: {error}")
    return work.model_copy(update={"calls": tuple(client.calls), "notice": client.notice})


@dataclass(frozen=True)
class _ShadowSession:
    """One agent in one shadow."""

    context: RunContext
    configuration: Configuration
    told: Assignment
    draft: Draft
    shadow: Shadow
    gateway: ModelGateway

    async def run(self) -> ExternalWork:
        await self.shadow.hide(self.configuration.review.never_send)
        lacks = await self._set_up()
        made = await self.shadow.read_changes()
        if made.has_given_up:
            return ExternalWork(key=self.told.key, problem=_TOO_MUCH.format(made.violations[0].message))
        whole = f"{self.told.instructions}\n\n{self.told.content}\n{lacks}"
        return await self._work(whole, made)

    async def _set_up(self) -> str:
        """Set the repository up; what failed, for the agent."""
        context, never_send = self.context, self.configuration.review.never_send
        tester = Tester(await context.fetch_mirror(), context.services.toolbox, self.configuration.commands)
        failed = await tester.set_up(self.shadow.checkout, self.draft.base, uses_cache=not never_send)
        return "" if failed is None else _describe_end(f"The set-up `{failed.line}`", failed.exit_status, failed.output)

    async def _work(self, whole: str, made: ShadowChanges) -> ExternalWork:
        """:param made: what was changed there before the agent began."""
        key, task, wrong = self.told.key, whole, tuple[Violation, ...]()
        for _ in range(_ROUNDS):
            ended = await self._start(task)
            if self.gateway.refusal is not None:
                return ExternalWork(key=key, problem=self.gateway.refusal.message, refusal=self.gateway.refusal)
            if ended is None:
                return ExternalWork(key=key, problem="The agent used up its calls of a model.")
            if ended.status != 0:
                printed = (ended.stderr.data or ended.stdout.data).decode(errors="replace")
                return ExternalWork(key=key, problem=_describe_end("The agent", ended.status, printed))
            change, wrong = await self._judge(made)
            if not select_blocking(wrong):
                return ExternalWork(key=key, change=change, worked=external.read_report(await self._report(), change))
            task = f"{external.render_refusal(select_reported(wrong))}\n{whole}"
        return ExternalWork(key=key, problem=f"What it changed may not be taken: {select_blocking(wrong)[0]}")

    async def _report(self) -> bytes | None:
        try:
            return await self.shadow.checkout.result(external.REPORT_FILE, external.LARGEST_REPORT)
        except ToolError:
            return None

    async def _start(self, task: str) -> Completed | None:
        """How the agent ended; None if it was stopped because its calls are not answered any more."""
        running = asyncio.ensure_future(self._run_command(task))
        stopped = asyncio.ensure_future(self.gateway.wait_until_stopped())
        try:
            await asyncio.wait({running, stopped}, return_when=asyncio.FIRST_COMPLETED)
            if stopped.done():
                stopped.result()  # raises what a call raised
            return running.result() if running.done() else None
        finally:
            for task_of in (running, stopped):
                task_of.cancel()
            await asyncio.gather(running, stopped, return_exceptions=True)

    async def _run_command(self, task: str) -> Completed:
        checkout, services = self.shadow.checkout, self.context.services
        settings = self.configuration.agents.implementer
        task_file = str(checkout.give_file(_TASK_FILE, task.encode()))
        await checkout.remove_result(external.REPORT_FILE)
        report = str(Path(checkout.results_inside, external.REPORT_FILE))
        environment = external.build_environment(INSIDE, self.gateway.key, report, task_file)
        return await checkout.run(
            external.build_command(settings.command or "", task, task_file),
            seconds=settings.minutes * 60,
            environment={**environment, "PATH": build_path(services.toolbox.reads)},
            reads=services.toolbox.reads,
            proxy=Address("127.0.0.1", self.gateway.port, idle=_SILENT_S),
        )

    async def _judge(self, made: ShadowChanges) -> tuple[ChangeSet, tuple[Violation, ...]]:
        """What the agent changed, and what is wrong with it; what the set-up left is not its doing."""
        found = await self.shadow.read_changes()
        before = {(file.path, file.after) for file in made.change.files}
        known = {(each.file, each.constraint) for each in made.violations}
        change = ChangeSet(files=tuple(file for file in found.change.files if (file.path, file.after) not in before))
        wrong = (each for each in found.violations if (each.file, each.constraint) not in known)
        return change, (*wrong, *await self.draft.judge_change(change))


_TOO_MUCH = "After `commands.setup` there is more in the repository than can be read back: {} Name it in .gitignore."


def _describe_end(what: str, status: int | None, printed: str) -> str:
    said = " ".join(printed.split())[-_TAIL:]
    how = "did not end in time, or was stopped" if status is None else f"ended with exit status {status}"
    return f"{what} {how}.{f' It says: {said}' if said else ''}"
