"""Looks at a service, written as a person would say them."""

from collections.abc import Mapping, Sequence
from typing import Any

from domain.config.deploy import WatchSettings
from domain.deployments.health import Health, Look, Signal, StageHealth
from domain.deployments.readings import Reading

ADDRESS = "https://shop.example.com/health"
FIGURES = "https://shop.example.com/figures"
METRICS: Mapping[str, Any] = {
    name: {"url": FIGURES, "path": f"now.{name}"} for name in ("error_rate", "latency", "throughput")
}


def watch(*names: str, health: int = 0, **more: Any) -> WatchSettings:
    """Settings that watch these metrics, and so many health addresses.

    :param more: other settings; those of a metric are added to its address.
    """
    watched = {name: METRICS[name] | more.pop(name, {}) for name in names}
    addresses = [{"url": f"{ADDRESS}/{place}"} for place in range(health)]
    return WatchSettings.model_validate({"health": addresses, **watched, **more})


def read(value: float | None, problem: str = "it does not answer") -> Reading:
    """A reading; without a value the problem says why."""
    return Reading(value=value) if value is not None else Reading(problem=problem)


def look(health: Sequence[float | None] = (), **figures: float | None) -> Look:
    """What one look found."""
    return Look(
        health=tuple(read(value) for value in health),
        figures={name: read(value) for name, value in figures.items()},
    )


def looks(name: str, *values: float | None) -> list[Look]:
    """Looks at one metric."""
    return [Look(figures={name: read(value)}) for value in values]


def find(stage: StageHealth, name: str) -> Signal:
    """What one address or metric says."""
    return next(signal for signal in stage.signals if signal.name == name)


WELL = StageHealth(
    health=Health.healthy,
    signals=(Signal(name="latency", health=Health.healthy, before=100, now=101, history=(100, None, 101)),),
    looks=3,
    is_final=True,
)
