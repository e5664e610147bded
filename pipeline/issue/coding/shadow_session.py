"""Starts a command-line agent in a shadow of the repository, and lets it work until its work may be taken."""

import asyncio
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from agents.coding import external
from agents.coding.external import ExternalWork
from agents.llm.gateway.gateway import ModelGateway
from agents.loop.turns import Assignment
from agents.toolbox import Toolbox
from domain.config.configuration import Configuration
from domain.errors import ToolError
from domain.review.findings import Severity
from domain.runs.patches import ChangeSet, Violation, select_blocking, select_reported
from domain.runs.work_checkpoint import CheckpointCause
from pipeline.issue.avoidance import find_hidden_failures
from pipeline.issue.coding.shadow_work import ShadowWork, describe_end, set_up_shadow
from pipeline.issue.coding.work_item import WorkHistory
from pipeline.issue.coding.work_keeper import CannotKeep, WorkKeeper
from pipeline.run_context import RunContext
from workspace.checkout import Checkout
from workspace.draft import Draft
from workspace.sandbox.bubblewrap import build_path
from workspace.sandbox.processes import ProgramControl
from workspace.sandbox.registry_proxy import INSIDE, Address
from workspace.sandbox.sandbox import Completed
from workspace.shadow import Shadow

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


@dataclass(frozen=True)
class Rejected:
    """What the agent changed may not be taken.

    :param rounds: how often it was started.
    """

    violations: tuple[Violation, ...]
    rounds: int

    @property
    def is_taken_back(self) -> bool:
        """Whether the refused files are removed at once, instead of left to the agent to correct."""
        return any(each.severity is Severity.critical for each in self.violations)

    def __str__(self) -> str:
        return f"What it changed may not be taken: {select_blocking(self.violations)[0]}"


@dataclass(frozen=True)
class DelegatedTask:
    """What an agent of another make is to do, and with what.

    :param told: its assignment.
    :param draft: judges what it changes.
    :param built: what the pieces before it changed.
    """

    context: RunContext
    configuration: Configuration
    told: Assignment
    draft: Draft
    gateway: ModelGateway
    built: ChangeSet


class ShadowSession:
    """One agent in one shadow.

    :param history: what was done of its task before.
    """

    def __init__(self, task: DelegatedTask, shadow: Shadow, history: WorkHistory) -> None:
        self._context = task.context
        self._configuration = task.configuration
        self._told = task.told
        self._draft = task.draft
        self._gateway = task.gateway
        self._built = task.built
        self._shadow = shadow
        self._history = history
        self._process = AgentProcess(task.context.services.toolbox, task.configuration, shadow.checkout, task.gateway)
        self._lacks = ""
        self._has_hidden = False  # a failure: then the work is not finished, whatever the agent says

    async def run(self, notes: str, rounds: int) -> ExternalWork | Rejected:
        """What the agent changed and reports, why there is nothing, or what is wrong with it.

        :param notes: what it is told beside its task.
        :param rounds: how often it may be started.
        :raises TakenBack: a person took the work back.
        """
        self._lacks = await set_up_shadow(self._context, self._configuration, self._shadow, self._draft.base)
        made = await self._shadow.read_changes()
        if made.has_given_up:
            return self._fail(_TOO_MUCH.format(made.violations[0].message))
        await self._shadow.apply(self._history.state)
        work = ShadowWork(self._shadow, self._draft, made)
        keeper = WorkKeeper(
            self._context,
            self._configuration.execution,
            self._history,
            work,
            self._process.control,
            lambda: self._gateway.words,
        )
        try:
            outcome = await self._work_in_rounds(work, keeper, notes, rounds)
        except CannotKeep as why:
            outcome = self._fail(str(why))
        worked = outcome.worked if isinstance(outcome, ExternalWork) else None
        if worked is not None and worked.is_done and not self._has_hidden:
            await keeper.keep(CheckpointCause.done, worked.summary)
        else:
            await keeper.keep(CheckpointCause.stopped)
        return outcome.model_copy(update={"kept": keeper.number}) if isinstance(outcome, ExternalWork) else outcome

    async def _work_in_rounds(
        self, work: ShadowWork, keeper: WorkKeeper, notes: str, rounds: int
    ) -> ExternalWork | Rejected:
        for number in count(1):
            outcome = await self._work_once(work, keeper, notes)
            if isinstance(outcome, ExternalWork):
                return outcome
            rejected = Rejected(outcome, number)
            if number == rounds or rejected.is_taken_back:
                return rejected
            notes = external.render_refusal(select_reported(outcome))
        raise AssertionError

    async def _work_once(
        self, work: ShadowWork, keeper: WorkKeeper, notes: str
    ) -> ExternalWork | tuple[Violation, ...]:
        """What it changed, or what is wrong with that."""
        task = f"{notes}\n{self._told.instructions}\n\n{self._told.content}\n{self._lacks}".lstrip()
        ended = await self._start(keeper, task)
        if self._gateway.refusal is not None:
            return self._fail(self._gateway.refusal.message).model_copy(update={"refusal": self._gateway.refusal})
        if ended is None:
            return self._fail("The agent used up its calls of a model.")
        if ended.status != 0:
            printed = (ended.stderr.data or ended.stdout.data).decode(errors="replace")
            return self._fail(describe_end("The agent", ended.status, printed))
        found = await work.read()
        wrong = await work.judge(found)
        if not select_blocking(wrong):
            whole = self._built.then(found.change)
            self._has_hidden = bool(await find_hidden_failures(self._context, self._configuration, whole))
            worked = external.read_report(await self._process.read_report(), found.change)
            return ExternalWork(key=self._told.key, change=found.change, worked=worked)
        return wrong

    def _fail(self, why: str) -> ExternalWork:
        return ExternalWork(key=self._told.key, problem=why)

    async def _start(self, keeper: WorkKeeper, task: str) -> Completed | None:
        """How the agent ended; None if it was stopped because its calls are not answered any more.

        :raises TakenBack: a person took the work back.
        :raises CannotKeep: what it does cannot be kept.
        """
        running = asyncio.ensure_future(self._process.run(task))
        others = (asyncio.ensure_future(self._gateway.wait_until_stopped()), asyncio.ensure_future(keeper.watch()))
        try:
            await asyncio.wait({running, *others}, return_when=asyncio.FIRST_COMPLETED)
            for other in others:
                if other.done():
                    other.result()  # raises what a call or a checkpoint raised
            return running.result() if running.done() else None
        finally:
            for each in (running, *others):
                each.cancel()
            await asyncio.gather(running, *others, return_exceptions=True)


_TOO_MUCH = "After `commands.setup` there is more in the repository than can be read back: {} Name it in .gitignore."
