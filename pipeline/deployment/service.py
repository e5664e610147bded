"""Reaches a service: brings a commit to a share of its traffic, by a workflow or a command, and looks how it is."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain, repeat

import structlog

from agents.deployment import CommandOutcome, Deployer
from domain.config.deploy import AnyMetric, HealthCheck
from domain.deployments.deployment import Cause, Deployment, DeploymentState
from domain.deployments.health import HealthBefore, Look, check_figure
from domain.deployments.readings import HealthTarget, JsonTarget, PrometheusTarget, Reading, take_reading
from domain.errors import HostFailure, NotFound, Unprocessable
from domain.github.checks import WorkflowRun
from domain.ports import Outbound
from domain.value import Value
from memory.deployments import deployments
from memory.runs import outbox
from pipeline.checkout import fetch_commits
from pipeline.deployment.plan import DeploymentPlan, load_or_keep
from pipeline.publishing.publisher import NO_ID, write_once
from pipeline.run_context import RunContext, run_while_current

_LOOKS = 3
_BEFORE = "before"

log = structlog.get_logger(__name__)

_POLLS = tuple(timedelta(seconds=seconds) for seconds in (1, 2, 4, 8, 10))
"""The pauses between the looks at a workflow; the last one is repeated."""
_CANCELLING = 30  # more looks at a run that was cancelled: five minutes in all
_EARLIER = timedelta(minutes=1)  # GitHub's clock may be behind ours
_KIND = "dispatch"


class _Started(Value):
    """A workflow that was started.

    :param github_id: of its run; None where GitHub did not tell it.
    """

    at: datetime
    github_id: int | None


@dataclass(frozen=True)
class DeployTransport:
    """The way to an environment."""

    context: RunContext
    deployment: Deployment
    plan: DeploymentPlan

    async def deploy(self, sha: str, percentage: int, key: str) -> CommandOutcome:
        """Bring a commit to a share of the traffic; how that ended.

        :param key: names this step; the workflow gets it as `deployment` and shows it in its title.
        """
        inputs = {
            "environment": self.deployment.environment,
            "ref": sha,
            "percentage": str(percentage),
            "deployment": key,
        }
        environment = self.plan.environment
        if environment.workflow is None:
            return await self.context.journal.step(f"deploy {percentage} %", self._run_command, sha, inputs)
        return await self._run_workflow(environment.workflow, inputs)

    async def _run_command(self, sha: str, inputs: dict[str, str]) -> CommandOutcome:
        # A rollout that is under way comes to its end during a halt: half of one is worse.
        work = self._execute(sha, inputs)
        return await run_while_current(self.context.services, self.context.run, work, ends_at_halt=False)

    async def _execute(self, sha: str, inputs: dict[str, str]) -> CommandOutcome:
        services, run = self.context.services, self.context.run
        mirror = await fetch_commits(services, run.repository, run.number, sha, sha)
        deployer = Deployer(mirror, services.toolbox, self.plan.configuration.commands)
        access = services.find_deploy_access(run.repository.full_name, self.deployment.environment)
        line, seconds = self.plan.environment.command or "", self.plan.step_time.total_seconds()
        tried = f"tried {inputs['deployment']}"
        was_tried = await deployments.load_kept(services.database, run.id, tried) is not None
        await deployments.keep(services.database, run.id, tried, {})
        outcome = await deployer.deploy(sha, line, inputs, access, seconds, self.plan.build_command)
        return outcome.model_copy(update={"began": True}) if was_tried else outcome  # it may have been killed midway

    async def _run_workflow(self, workflow: str, inputs: dict[str, str]) -> CommandOutcome:
        """Start the workflow once, and wait for its end."""
        journal = self.context.journal
        try:
            started = await journal.step("start the workflow", self._start, workflow, inputs)
        except (NotFound, Unprocessable) as error:
            return CommandOutcome(problem=f"GitHub did not start {workflow}: {error.message.rstrip('.')}", began=False)
        until = started.at + self.plan.step_time
        pauses = chain(_POLLS, repeat(_POLLS[-1]))
        while True:
            ended = await journal.step("how the workflow is", self._look, workflow, inputs["deployment"], started)
            if ended is not None and ended.is_completed:
                return _describe_end(workflow, ended)
            if await journal.read_time() >= until:
                minutes = self.plan.step_time.total_seconds() / 60
                if ended is None:
                    late = f"{workflow} did not begin within {minutes:.0f} minutes, and may still do so"
                    return CommandOutcome(problem=late, may_go_on=True)
                late = f"{workflow} did not end within {minutes:.0f} minutes"
                is_over = await self._cancel_run(workflow, ended.id)
                return CommandOutcome(
                    problem=late if is_over else f"{late}, nor when it was cancelled", may_go_on=not is_over
                )
            await journal.pause(next(pauses), f"{workflow} runs.")

    async def _cancel_run(self, workflow: str, github_id: int) -> bool:
        """Cancel a workflow's run, and wait for its end: what follows must not overlap it; whether it ended."""
        journal, started = self.context.journal, _Started(at=self.context.now(), github_id=github_id)
        await journal.step("cancel the workflow", self._cancel, github_id)
        for pause in (*_POLLS, *[_POLLS[-1]] * _CANCELLING):
            ended = await journal.step("whether it was cancelled", self._look, workflow, "", started)
            if ended is None or ended.is_completed:
                return True
            await journal.pause(pause, f"{workflow} is being cancelled.")
        return False

    async def _start(self, workflow: str, inputs: dict[str, str]) -> _Started:
        services, run = self.context.services, self.context.run
        key, began = inputs["deployment"], services.clock.now()

        async def find() -> int | None:
            since = began - timedelta(days=1)
            found = await services.host.find_dispatched_run(run.repository, workflow, key, since)
            return None if found is None else found.id

        async def start() -> int:
            branch = self.plan.default_branch
            return await services.host.dispatch_workflow(run.repository, workflow, branch, inputs) or NO_ID

        started = await write_once(services, run, f"workflow {key}", _KIND, start, find=find)
        at = await outbox.get_done_at(services.database, run.id, f"workflow {key}", _KIND)
        return _Started(at=at or began, github_id=started if started != NO_ID else None)

    async def _look(self, workflow: str, key: str, started: _Started) -> WorkflowRun | None:
        host, repository = self.context.services.host, self.context.run.repository
        if started.github_id is not None:
            return await host.workflow_run(repository, started.github_id)
        return await host.find_dispatched_run(repository, workflow, key, started.at - _EARLIER)

    async def _cancel(self, github_id: int) -> None:
        try:
            await self.context.services.host.cancel_workflow_run(self.context.run.repository, github_id)
        except HostFailure as error:
            log.warning("deployment.workflow_not_cancelled", run=self.context.run.id, error=str(error))


def _describe_end(workflow: str, ended: WorkflowRun) -> CommandOutcome:
    if ended.conclusion == "success":
        return CommandOutcome(output=ended.url)
    return CommandOutcome(problem=f"{workflow} ended with {ended.conclusion}: {ended.url}", output=ended.url)


@dataclass(frozen=True)
class Watcher:
    """Reads all that is configured for an environment at once. What cannot be read is a reading without a figure."""

    outbound: Outbound
    health: Sequence[HealthCheck]
    metrics: Mapping[str, AnyMetric]

    async def look(self) -> Look:
        """What all addresses say at this moment."""
        checks = [self._read_health(each) for each in self.health]
        figures = [self._read_metric(each) for each in self.metrics.values()]
        readings = await asyncio.gather(*checks, *figures)
        healthy, rest = readings[: len(checks)], readings[len(checks) :]
        return Look(health=tuple(healthy), figures=dict(zip(self.metrics, rest, strict=True)))

    async def _read_health(self, check: HealthCheck) -> Reading:
        return await take_reading(self.outbound, HealthTarget(url=check.url, contains=check.contains))

    async def _read_metric(self, metric: AnyMetric) -> Reading:
        if metric.query:
            target = PrometheusTarget(url=metric.url, query=metric.query)
        else:
            target = JsonTarget(url=metric.url, path=metric.path)
        return check_figure(metric, await take_reading(self.outbound, target))


class _Before(Value):
    """What is kept of it."""

    looks: tuple[Look, ...] = ()
    well: Mapping[str, float] = {}


@dataclass(frozen=True)
class BaselineReader:
    """Reads it once, before anything of a deployment is deployed."""

    context: RunContext
    deployment: Deployment
    plan: DeploymentPlan
    watcher: Watcher

    async def read(self) -> HealthBefore:
        """What an earlier execution saw; else what is seen now, with pauses as between other looks."""
        journal = self.context.journal
        before = await journal.step("what was seen before it", self._load)
        if before is None:
            looks: list[Look] = []
            for number in range(_LOOKS if self.plan.environment.verify.watches else 0):
                if number and self.deployment.cause is not Cause.rollback:  # that waits for nothing
                    interval = timedelta(seconds=self.plan.environment.verify.interval)
                    await journal.pause(interval, "The next look at the service before it.")
                looks.append(await journal.step("look before it", self.watcher.look))
            before = await journal.step("keep what was seen before it", self._keep, looks)
        return HealthBefore(before.looks, before.well)

    async def _load(self) -> _Before | None:
        kept = await deployments.load_kept(self.context.database, self.context.run.id, _BEFORE)
        return None if kept is None else _Before.model_validate(kept)

    async def _keep(self, looks: list[Look]) -> _Before:
        async def describe() -> _Before:
            return _Before(looks=tuple(looks), well=await self._find_well())

        return await load_or_keep(self.context.services, self.context.run, _BEFORE, _Before, describe)

    async def _find_well(self) -> Mapping[str, float]:
        """The figures at the end of the last deployment that was well, of metrics that are read as they were then."""
        database, where = self.context.database, (self.context.run.repository.id, self.deployment.environment)
        there = await deployments.find_there(database, *where)
        if there is None or there.state is not DeploymentState.healthy:
            return {}
        kept = await deployments.load_kept(database, there.run_id, "plan")
        steps = await deployments.list_steps(database, there.run_id)
        health = steps[-1].health if steps else None
        if kept is None or health is None:
            return {}
        known = DeploymentPlan.model_validate(kept).environment.verify.metrics
        same = {
            name
            for name, metric in self.plan.environment.verify.metrics.items()
            if name in known and _name_source(known[name]) == _name_source(metric)
        }
        return {each.name: each.now for each in health.signals if each.name in same and each.now is not None}


def _name_source(metric: AnyMetric) -> tuple[str, str, str]:
    return metric.url, metric.path, metric.query
