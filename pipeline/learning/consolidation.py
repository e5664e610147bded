"""Consolidates the memories of each repository once a night (UTC), as a durable workflow."""

import asyncio
from datetime import date, datetime

import structlog

from domain.config.configuration import MemorySettings
from domain.errors import ForgeError
from domain.value import Value
from memory.learned import consolidation
from memory.repositories import addresses
from pipeline.config import loading
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import CONSOLIDATE, enqueue
from safety import memory_consolidation as deciding
from safety.memory_consolidation import ConsolidationPlan

log = structlog.get_logger(__name__)

HOUR = 3
"""UTC, from which on consolidations start."""
BATCH = 50
"""Memories changed in one transaction, so that the lock is short."""


class ConsolidationSweep:
    """Queues tonight's consolidations. Their ids make sure that several processes queue each once."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._queued_on: date | None = None

    async def enqueue_consolidations(self) -> None:
        """Queue them, unless this process did so already."""
        now = self._services.clock.now()
        if now.hour < HOUR or self._queued_on == now.date():
            return
        for repository_id in await consolidation.list_repositories(self._services.database):
            await enqueue_consolidation(repository_id, now.date())
        self._queued_on = now.date()


async def enqueue_consolidation(repository_id: int, day: date) -> None:
    """Queue a consolidation; a repeated call changes nothing."""
    await enqueue(CONSOLIDATE, repository_id, repository=repository_id, occasion=day.isoformat())


class _StoredPlan(Value):
    """The plan of one consolidation, in journals: after an interruption the same plan continues."""

    plan: ConsolidationPlan
    at: datetime


class ConsolidationRun:
    """One consolidation in one repository."""

    def __init__(self, services: Services, repository_id: int, workflow_id: str) -> None:
        self._services = services
        self._repository_id = repository_id
        self._workflow_id = workflow_id
        self._journal = WorkflowJournal(services, workflow_id)

    async def execute(self) -> str:
        """Consolidate; the outcome in a few words."""
        settings = await self._journal.step("what may live", self._load_settings)
        if not settings.enabled:
            return "not here"
        planned = await self._journal.step("plan", self._plan, settings.max)
        changes = planned.plan.changes
        for start in range(0, len(changes), BATCH):
            await self._journal.step("carry out", self._carry_out, planned, start)
        await self._journal.step("report", self._report, planned)
        return f"{len(changes)} archived, {planned.plan.live} live"

    async def _load_settings(self) -> MemorySettings:
        """The settings of the repository, or the defaults if it cannot be read."""
        services = self._services
        where = await addresses.find_address(services.database, self._repository_id)
        if where is None:
            return MemorySettings()
        try:
            configuration = await loading.load_configuration(services, where)
        except ForgeError as error:
            log.warning("consolidation.usual", repository=self._repository_id, error=str(error))
            return MemorySettings()
        return configuration.memory

    async def _plan(self, most: int) -> _StoredPlan:
        database, now = self._services.database, self._services.clock.now()
        known = await consolidation.load_memories(database, self._repository_id)
        held = await consolidation.list_protected(database, self._repository_id)
        plan = await asyncio.to_thread(deciding.plan_consolidation, known, now, most, held)
        return _StoredPlan(plan=plan, at=now)

    async def _carry_out(self, planned: _StoredPlan, start: int) -> None:
        changes = planned.plan.changes[start : start + BATCH]
        await consolidation.apply_changes(self._services.database, changes, planned.at)

    async def _report(self, planned: _StoredPlan) -> None:
        database = self._services.database
        await consolidation.report(database, self._repository_id, self._workflow_id, planned.plan, planned.at)
