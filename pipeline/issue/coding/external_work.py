"""Has a command-line agent carry out a task in a shadow of the repository, until its work may be taken."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from pathlib import Path

from agents.coding import external
from agents.coding.external import ExternalWork
from agents.llm.client import ModelClient, RetryPolicy
from agents.llm.gateway.gateway import GatewayBounds, ModelGateway
from agents.llm.models import LanguageModel
from agents.loop.turns import Assignment
from domain.config.configuration import Configuration
from domain.errors import CodeAccessError, ToolError
from domain.ports import ModelBudget
from domain.review.findings import Severity
from domain.runs.patches import ChangeSet, Violation, select_blocking, select_reported
from domain.runs.work_checkpoint import BrokenCheckpoint, CheckpointCause, WorkKey
from pipeline.issue.avoidance import find_hidden_failures
from pipeline.issue.coding.work_item import WorkHistory, load_history
from pipeline.issue.coding.work_keeper import CannotKeep, ShadowWork, TakenBack, WorkKeeper, describe_end, set_up_shadow
from pipeline.run_context import RunContext, run_while_current
from workspace.checkout import Checkout
from workspace.draft import Draft
from workspace.sandbox.bubblewrap import build_path
from workspace.sandbox.processes import ProgramControl
from workspace.sandbox.registry_proxy import INSIDE, Address
from workspace.sandbox.sandbox import Completed
from workspace.shadow import Shadow, open_shadow

_TASK_FILE = "task.md"


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


_TOO_MUCH = "After `commands.setup` there is more in the repository than can be read back: {} Name it in .gitignore."

_ROUNDS = 3
"""How often an agent is started for one task: again where what it changed may not be taken."""


async def work_in_shadow(
    context: RunContext,
    configuration: Configuration,
    told: Assignment,
    draft: Draft,
    model: LanguageModel,
    budget: ModelBudget,
    key: WorkKey,
    built: ChangeSet,
) -> ExternalWork:
    """What the configured agent changed and reports, or why there is nothing. The draft stays as it is.

    :param model: that the agent asks; :param budget: pays for it.
    :param key: of the piece of work, whose checkpoints it goes on from.
    :param built: what the pieces before it changed.
    :raises Superseded: something else owns the issue now.
    """
    services, retry = context.services, RetryPolicy()
    client = ModelClient(told.key, model, budget, retry)
    bounds = GatewayBounds(calls=configuration.agents.implementer.calls, seconds=retry.measure_longest(model))
    try:
        async with services.open_gateway(client.fetch_response, bounds) as gateway:
            task = DelegatedTask(context, configuration, told, draft, gateway, built)
            work = _Work(task, key).run()  # a halt ends it at its next call of a model
            done = await run_while_current(services, context.run, work, ends_at_halt=False)
    except BrokenCheckpoint as error:
        done = ExternalWork(key=told.key, problem=str(error))
    except (CodeAccessError, ToolError, OSError) as error:
        done = ExternalWork(key=told.key, problem=f"The agent could not work here: {error}", is_broken=True)
    return done.model_copy(update={"calls": tuple(client.calls), "notice": client.notice})


@dataclass(frozen=True)
class _Work:
    """One piece of work."""

    task: DelegatedTask
    key: WorkKey

    async def run(self) -> ExternalWork:
        async with self.task.context.services.shadow_places:
            notes, rounds = "", _ROUNDS
            while True:
                history = await load_history(self.task.context.database, self.key)
                known = await self._find_done(history)
                if known is not None:
                    return known
                try:
                    outcome = await self._work(history, notes, rounds)
                except TakenBack:
                    continue
                if isinstance(outcome, ExternalWork):
                    return outcome
                rounds -= outcome.rounds
                if rounds <= 0:
                    return ExternalWork(key=self.task.told.key, problem=str(outcome))
                notes = external.render_removal(select_reported(outcome.violations))

    async def _work(self, history: WorkHistory, notes: str, rounds: int) -> ExternalWork | Rejected:
        draft, sandbox = self.task.draft, self.task.context.services.toolbox.sandbox
        async with open_shadow(draft.objects, draft.base, sandbox) as shadow:
            return await ShadowSession(self.task, shadow, history).run(f"{notes}{history.render()}", rounds)

    async def _find_done(self, history: WorkHistory) -> ExternalWork | None:
        """The work, if it was finished just before Forge itself ended."""
        if history.newest is None or not history.is_done:
            return None
        if select_blocking(await self.task.draft.judge_change(history.state)):
            return None
        report = json.dumps({"summary": history.newest.said}).encode()
        worked = external.read_report(report, history.state)
        return ExternalWork(key=self.task.told.key, change=history.state, worked=worked, kept=history.newest.number)


@dataclass(frozen=True)
class AgentProcess:
    """The agent in one checkout. It can be started again after it ended.

    :param reads: see :class:`Toolbox`.
    :param gateway: answers for its model.
    :ivar control: pauses it.
    """

    reads: Sequence[Path]
    configuration: Configuration
    checkout: Checkout
    gateway: ModelGateway
    control: ProgramControl = field(default_factory=ProgramControl)

    async def run(self, task: str) -> Completed:
        """Run the agent to its end, or to its limits.

        :raises ToolError: it could not be started.
        """
        settings, reads = self.configuration.agents.implementer, self.reads
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


@dataclass
class ShadowSession:
    """One agent in one shadow.

    :param history: what was done of its task before.
    """

    task: DelegatedTask
    shadow: Shadow
    history: WorkHistory
    _lacks: str = field(default="", init=False)
    _has_hidden: bool = field(default=False, init=False)  # a failure: then it is not finished, whatever the agent says

    async def run(self, notes: str, rounds: int) -> ExternalWork | Rejected:
        """What the agent changed and reports, why there is nothing, or what is wrong with it.

        :param notes: what it is told beside its task.
        :param rounds: how often it may be started.
        :raises TakenBack: a person took the work back.
        """
        self._lacks = await set_up_shadow(self.task.context, self.task.configuration, self.shadow, self.task.draft.base)
        made = await self.shadow.read_changes()
        if made.has_given_up:
            return self._fail(_TOO_MUCH.format(made.violations[0].message))
        await self.shadow.apply(self.history.state)
        work = ShadowWork(self.shadow, self.task.draft, made)
        keeper = WorkKeeper(
            self.task.context,
            self.task.configuration.execution,
            self.history,
            work,
            self._process.control,
            lambda: self.task.gateway.words,
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

    @cached_property
    def _process(self) -> AgentProcess:
        task = self.task
        return AgentProcess(task.context.services.toolbox.reads, task.configuration, self.shadow.checkout, task.gateway)

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
        task = f"{notes}\n{self.task.told.instructions}\n\n{self.task.told.content}\n{self._lacks}".lstrip()
        ended = await self._start(keeper, task)
        if self.task.gateway.refusal is not None:
            return self._fail(self.task.gateway.refusal.message).model_copy(
                update={"refusal": self.task.gateway.refusal}
            )
        if ended is None:
            return self._fail("The agent used up its calls of a model.")
        if ended.status != 0:
            printed = (ended.stderr.data or ended.stdout.data).decode(errors="replace")
            return self._fail(describe_end("The agent", ended.status, printed))
        found = await work.read()
        wrong = await work.judge(found)
        if not select_blocking(wrong):
            whole = self.task.built.then(found.change)
            self._has_hidden = bool(await find_hidden_failures(self.task.context, self.task.configuration, whole))
            worked = external.read_report(await self._process.read_report(), found.change)
            return ExternalWork(key=self.task.told.key, change=found.change, worked=worked)
        return wrong

    def _fail(self, why: str) -> ExternalWork:
        return ExternalWork(key=self.task.told.key, problem=why)

    async def _start(self, keeper: WorkKeeper, task: str) -> Completed | None:
        """How the agent ended; None if it was stopped because its calls are not answered any more.

        :raises TakenBack: a person took the work back.
        :raises CannotKeep: what it does cannot be kept.
        """
        running = asyncio.ensure_future(self._process.run(task))
        others = (asyncio.ensure_future(self.task.gateway.wait_until_stopped()), asyncio.ensure_future(keeper.watch()))
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
