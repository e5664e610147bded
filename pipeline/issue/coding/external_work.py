"""Has a command-line agent carry out a task: in a fresh shadow whenever something was taken back."""

import json
from dataclasses import dataclass

from agents.coding import external
from agents.coding.external import ExternalWork
from agents.llm.client import ModelClient, RetryPolicy
from agents.llm.gateway.gateway import GatewayBounds
from agents.llm.models import LanguageModel
from agents.loop.turns import Assignment
from domain.config.configuration import Configuration
from domain.errors import CodeAccessError, ToolError
from domain.ports import ModelBudget
from domain.runs.patches import ChangeSet, select_blocking, select_reported
from domain.runs.work_checkpoint import BrokenCheckpoint, WorkKey
from pipeline.issue.coding.shadow_session import DelegatedTask, Rejected, ShadowSession
from pipeline.issue.coding.work_item import WorkHistory, load_history
from pipeline.issue.coding.work_keeper import TakenBack
from pipeline.run_context import RunContext, run_while_current
from workspace.draft import Draft
from workspace.shadow import open_shadow

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
