"""Puts the memories of each repository in order once a night (UTC), durably and once over all processes."""

import asyncio
from datetime import date, datetime

import structlog
from pydantic import BaseModel

from domain.config.configuration import Memory
from domain.errors import ForgeError
from memory.learned import consolidation
from pipeline.config import loading
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import enqueue
from pipeline.durable.workflows import CONSOLIDATE
from safety import memory_consolidation as deciding
from safety.memory_consolidation import ConsolidationPlan

log = structlog.get_logger(__name__)

HOUR = 3
"""UTC, from which on a night's work begins."""
BATCH = 50
"""Memories that are changed in one transaction: nobody waits for the lock for long."""


class ConsolidationSweep:
    """The look of one process whether a night's work is due; each has its name, so that it is done once."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._begun: date | None = None

    async def enqueue_consolidations(self) -> None:
        """Begin tonight's work, unless this process did so."""
        now = self._services.clock.now()
        if now.hour < HOUR or self._begun == now.date():
            return
        for repository_id in await consolidation.list_repositories(self._services.database):
            await enqueue_consolidation(repository_id, now.date())
        self._begun = now.date()


async def enqueue_consolidation(repository_id: int, day: date) -> None:
    """Queue a night's work in a repository; a repeated call changes nothing."""
    await enqueue(CONSOLIDATE, repository_id, repository=repository_id, occasion=day.isoformat())


class _StoredPlan(BaseModel):
    """What is done, as decided at one moment: however often it is interrupted, it is carried out as it was."""

    plan: ConsolidationPlan
    at: datetime


class ConsolidationRun:
    """One night's work in one repository."""

    def __init__(self, services: Services, repository_id: int, workflow_id: str) -> None:
        self._services = services
        self._repository_id = repository_id
        self._workflow_id = workflow_id
        self._journal = WorkflowJournal(services, workflow_id)

    async def execute(self) -> str:
        """Put the memories in order; what that came to, in a few words."""
        settings = await self._journal.step("what may live", self._load_settings)
        if not settings.enabled:
            return "not here"
        planned = await self._journal.step("plan", self._plan, settings.max)
        changes = planned.plan.changes
        for start in range(0, len(changes), BATCH):
            await self._journal.step("carry out", self._carry_out, planned, start)
        await self._journal.step("report", self._report, planned)
        return f"{len(changes)} archived, {planned.plan.live} live"

    async def _load_settings(self) -> Memory:
        """What the repository says, or what is usual where it is out of reach."""
        services = self._services
        where = await consolidation.find_address(services.database, self._repository_id)
        if where is None:
            return Memory()
        try:
            ceilings = services.ceilings.of_configuration
            loaded = await loading.load(services.host, services.database, where, ceilings)
        except ForgeError as error:
            log.warning("consolidation.usual", repository=self._repository_id, error=str(error))
            return Memory()
        return loaded.configuration.memory

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
