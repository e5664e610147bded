"""Acts automatically on a reviewed head, as far as the repository's level allows: fixes, approves, merges.

Each check is a short workflow. If it has to wait, for required checks or for people to object, it schedules the next
check, which loads everything again. What GitHub does not say for certain counts as a no.
"""

from datetime import datetime, timedelta

import structlog
from dbos._error import DBOSUnexpectedStepError  # not exported

from domain.errors import ForgeError, Superseded
from domain.runs.run import Run, RunState
from memory.repositories import automation_level
from memory.runs import runs, waits
from pipeline.automation import autofix, preconditions
from pipeline.automation.auto_merge import AutomaticMerge, CheckOutcome, approve, retry_later
from pipeline.automation.autofix import Correction
from pipeline.automation.level import update_level
from pipeline.automation.preconditions import TAKEN_OVER
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import AUTOMATE, enqueue
from safety.allowed_actions import Action, ChecksState, allows

log = structlog.get_logger(__name__)

_MAX_CHECKS = 30  # of one run; people's commands cause some of them
_LOWEST_ACTIVE_LEVEL = 2  # nothing is automatic below
_FIRST_DELAY = timedelta(seconds=30)  # usually the end of the run queues the first check earlier


async def schedule_first_check(services: Services, run: Run) -> None:
    """Schedule the check of a run that is about to end, in case this process dies before it queues one."""
    check = waits.ScheduledCheck(run.id, waits.CheckCause.head, 0)
    await waits.schedule(services.database, check, services.clock.now() + _FIRST_DELAY)


async def enqueue_first_check(run_id: str) -> None:
    """Queue the first check of a run; a repeated call changes nothing."""
    await _enqueue_check(waits.ScheduledCheck(run_id, waits.CheckCause.head, 0))


async def _enqueue_check(check: waits.ScheduledCheck) -> None:
    is_of_head = check.cause is waits.CheckCause.head  # these have only their number in the workflow's id
    occasion = str(check.number) if is_of_head else f"{check.cause} {check.number}"
    await enqueue(AUTOMATE, check.run_id, check.number, run=check.run_id, occasion=occasion)


async def enqueue_due_checks(services: Services) -> None:
    """Queue the scheduled checks that are due."""
    for check in await waits.list_due_checks(services.database, services.clock.now()):
        await _enqueue_check(check)
        await waits.remove_check(services.database, check)


class AutomationRun:
    """One check of one run.

    :param count: of the checks before.
    """

    def __init__(self, services: Services, run: Run, count: int, workflow_id: str | None = None) -> None:
        self._services = services
        self._run = run
        self._count = count
        self._merge = AutomaticMerge(services, run, count)
        self._journal = WorkflowJournal(services, workflow_id or f"{run.id}/act {count}")

    async def execute(self) -> str:
        """Do what is allowed now; the outcome in a few words."""
        try:
            return await self._execute()
        except Superseded:
            return await self._give_up(TAKEN_OVER)
        except ForgeError as error:
            log.warning("acting.failed", run=self._run.id, error=str(error))
            return await self._give_up("something went wrong; Forge's log has the details.")
        except DBOSUnexpectedStepError:
            raise
        except Exception:
            log.exception("acting.unexpected", run=self._run.id)
            return await self._give_up("Forge made a mistake of its own; its log has the details.")

    async def _execute(self) -> str:
        if not await self._journal.step("begin", self._begin):
            return "the run goes on"
        level = await self._journal.step("weigh the level", update_level, self._services, self._run)
        if level < _LOWEST_ACTIVE_LEVEL and not await self._journal.step("was it announced", self._was_announced):
            return f"nothing at level {level}"
        if self._count == 0:
            correction = await self._journal.step("make the fix", self._prepare, level)
            if correction is not None and await self._journal.step(
                "push the fix", autofix.push, self._services, self._run, correction
            ):
                return f"corrected: {correction.commit}"
        answer = await self._journal.step("approve and merge", self._approve_and_merge, level)
        return "again later" if answer.again is not None else answer.why

    async def _begin(self) -> bool:
        """Whether the run is over; if not, the next check is scheduled."""
        await waits.remove_check(self._services.database, self._make_check(self._count))
        run = await runs.get(self._services.database, self._run.id)
        if run is not None and run.state is RunState.running and self._count < _MAX_CHECKS:
            await self._schedule_next(self._services.clock.now() + _FIRST_DELAY)
            return False
        return run is not None and run.state is RunState.completed

    async def _was_announced(self) -> bool:
        return await automation_level.find_announcement(self._services.database, self._run.id) is not None

    async def _prepare(self, level: int) -> Correction | None:
        found = await preconditions.load_preconditions(self._services, self._run)
        return None if isinstance(found, str) else await autofix.prepare(self._services, found, level)

    async def _approve_and_merge(self, level: int) -> CheckOutcome:
        answer = await self._try_actions(level)
        if answer.again is not None and self._count >= _MAX_CHECKS:
            answer = CheckOutcome(why="it took too long.")
        if answer.again is not None:
            await self._schedule_next(answer.again)
        elif answer.why:
            await self._merge.withdraw_announcement(answer.why)
        return answer

    async def _try_actions(self, level: int) -> CheckOutcome:
        if await self._merge.was_merged_before():
            return await self._merge.finish()
        found = await preconditions.load_preconditions(self._services, self._run)
        if isinstance(found, str):
            return CheckOutcome(why=found)
        against = await preconditions.find_blocking_reason(self._services, found)
        if against is not None:
            return CheckOutcome(why=against)
        checks = await preconditions.load_required_checks(self._services, found)
        facts = found.with_checks(checks)
        approval, merge = allows(level, Action.auto_approve, facts), allows(level, Action.auto_merge, facts)
        if approval.allowed:
            await approve(self._services, self._run, approval, checks)
        if merge.allowed:
            return await self._merge.announce_or_merge(merge, found, checks)
        if checks.light is ChecksState.pending and "ladder.checks" in {approval.rule, merge.rule}:
            return retry_later(self._count, self._services.clock.now(), f"checks are {checks.text}.")
        is_about_checks = merge.rule == "ladder.checks"
        return CheckOutcome(why=f"checks are {checks.text}." if is_about_checks else f"{merge.reason.text}.")

    async def _schedule_next(self, at: datetime) -> None:
        await waits.schedule(self._services.database, self._make_check(self._count + 1), at)

    def _make_check(self, number: int) -> waits.ScheduledCheck:
        return waits.ScheduledCheck(self._run.id, waits.CheckCause.head, number)

    async def _give_up(self, why: str) -> str:
        try:
            await self._journal.step("withdraw", self._merge.withdraw_announcement, why)
        except ForgeError as error:
            log.warning("acting.not_withdrawn", run=self._run.id, error=str(error))
        except DBOSUnexpectedStepError:
            raise
        except Exception:
            log.exception("acting.not_withdrawn", run=self._run.id)
        return why
