"""Looks at a service before and after each step of its deployment."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.config.deploy import AnyMetric, HealthCheck
from domain.deployments.health import Look, check_figure
from domain.deployments.readings import (
    HealthTarget,
    JsonTarget,
    PrometheusTarget,
    Reading,
    take_reading,
)
from domain.ports import Outbound


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
