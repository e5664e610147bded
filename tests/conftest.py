"""Settings of all tests, and which of them are played on both databases."""

import os
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import HealthCheck, settings

# No test is timed: a loaded machine generates examples slowly, which says nothing about the code.
settings.register_profile("forge", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("forge")

WHOLE = {"stories", "threats"}
ON_BOTH = {
    "test_budget",
    "test_durability",
    "test_gate_times",
    "test_gates",
    "test_ids",
    "test_start",
    "test_storage",
    "test_webhook",
    "test_worker",
}
"""Tests of a whole Forge that say something about the database; statements alone are tried on both by unit tests."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what would say the same again on PostgreSQL; ``make test-both`` and ``make security`` play it."""
    if os.environ.get("FORGE_TEST_BOTH"):
        return
    again = {
        item
        for item in items
        if "postgresql" in item.name and item.path.parent.name in WHOLE and item.path.stem not in ON_BOTH
    }
    config.hook.pytest_deselected(items=list(again))
    items[:] = [item for item in items if item not in again]


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """What a ``.env`` gives the providers' SDKs stays in the process, and would give the next test a model."""
    before = dict(os.environ)
    yield
    for name in os.environ.keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


@pytest.fixture(autouse=True)
def logs() -> Iterator[None]:
    """A command of the terminal sets up logging for its process, to a stream that is closed with its test."""
    yield
    structlog.reset_defaults()
