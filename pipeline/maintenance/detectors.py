"""Tries the detectors of giving up against kept false alarms, and tells the operator which are wrong too often."""

from datetime import datetime, timedelta

import structlog

from agents.review.avoidance.detection import VersionPair, detect_in_pairs
from agents.review.checks.worker_pool import WorkerBudget
from domain.errors import ToolError
from domain.review.avoidance import MEMORY_DAYS, list_certain
from memory.findings import detectors, false_alarms
from memory.findings.false_alarms import FalseAlarm
from pipeline.context import Services

log = structlog.get_logger(__name__)

_TRIES_EVERY, _TELLS_EVERY = timedelta(hours=1), timedelta(days=1)
_AT_ONCE = 50
"""False alarms that are tried in one sweep; more, and those that could not be, wait for the next one."""


class DetectorSweep:
    """The sweep of one process. Several may run at once: to try one again changes nothing."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._tried: datetime | None = None
        self._told: datetime | None = None

    async def sweep(self) -> None:
        """Once an hour try what this version was not tried against; once a day say which are wrong too often."""
        now = self._services.clock.now()
        if _is_due(self._tried, _TRIES_EVERY, now):
            self._tried = now
            for alarm in await false_alarms.list_untried(self._services.database, _AT_ONCE):
                await self._try(alarm)
        if _is_due(self._told, _TELLS_EVERY, now):
            self._told = now
            await self._tell(now)

    async def _try(self, alarm: FalseAlarm) -> None:
        toolbox = self._services.toolbox
        pair = VersionPair(alarm.path, alarm.old_path, alarm.before, alarm.after)
        try:
            done = await detect_in_pairs([pair], WorkerBudget(toolbox.pool, toolbox.seconds))
        except ToolError as error:
            log.warning("detector.not_tried", rule=alarm.rule, error=str(error))
            return
        if done.problem is not None:
            log.warning("detector.not_tried", rule=alarm.rule, error=done.problem)
            return
        still = any(each.kind.rule == alarm.rule for each in list_certain(done.found))
        await false_alarms.record_trial(self._services.database, alarm, is_found=still)

    async def _tell(self, now: datetime) -> None:
        records = await detectors.load_records(self._services.database, None, now - timedelta(days=MEMORY_DAYS))
        for rule, record in sorted(records.items()):
            if record.is_unreliable:
                share = round(record.dismissed / record.found, 3)
                log.warning(
                    "detector.unreliable", rule=rule, found=record.found, dismissed=record.dismissed, share=share
                )


def _is_due(last: datetime | None, every: timedelta, now: datetime) -> bool:
    """Whether it is time again; a clock that went back counts as that, too."""
    return last is None or not timedelta() <= now - last < every
