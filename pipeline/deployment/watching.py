"""Looks at a service before and after each step of its deployment, and says what these looks are compared with."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from domain.config.deploy import AnyMetric, HealthCheck
from domain.deployments.deployment import Cause, Deployment, DeploymentState
from domain.deployments.health import HealthBefore, Look, check_figure
from domain.deployments.readings import (
    HealthTarget,
    JsonTarget,
    PrometheusTarget,
    Reading,
    take_reading,
)
from domain.ports import Outbound
from domain.value import Value
from memory.deployments import deployments
from pipeline.deployment.plan import DeploymentPlan
from pipeline.run_context import RunContext


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


_LOOKS = 3
_BEFORE = "before"


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
            for number in range(self._count):
                if number and self.deployment.cause is not Cause.rollback:  # that waits for nothing
                    interval = timedelta(seconds=self.plan.environment.verify.interval)
                    await journal.pause(interval, "The next look at the service before it.")
                looks.append(await journal.step("look before it", self.watcher.look))
            before = await journal.step("keep what was seen before it", self._keep, looks)
        return HealthBefore(before.looks, before.well)

    @property
    def _count(self) -> int:
        return _LOOKS if self.plan.environment.verify.watches else 0

    async def _load(self) -> _Before | None:
        kept = await deployments.load_kept(self.context.database, self.context.run.id, _BEFORE)
        return None if kept is None else _Before.model_validate(kept)

    async def _keep(self, looks: list[Look]) -> _Before:
        before = _Before(looks=tuple(looks), well=await self._find_well()).model_dump(mode="json")
        kept = await deployments.keep(self.context.database, self.context.run.id, _BEFORE, before)
        return _Before.model_validate(kept)

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
