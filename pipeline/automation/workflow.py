"""Acts automatically on a reviewed head, as far as the repository's level allows: fixes, approves, merges.

Each check is a short workflow. If it has to wait, for required checks or for people to object, it schedules the next
check, which loads everything again. What GitHub does not say for certain counts as a no.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import structlog
from dbos._error import DBOSUnexpectedStepError  # not exported
from pydantic import BaseModel

from domain.errors import ForgeError, Superseded, Unprocessable
from domain.github.merging import Merged, MergeObstacle
from domain.runs.run import Run, RunState
from memory.repositories import automation_level
from memory.runs import outbox, runs, scheduled_checks
from messages import automation as automation_texts
from pipeline.automation import autofix, level, preconditions
from pipeline.automation.autofix import Correction
from pipeline.automation.preconditions import TAKEN_OVER, Preconditions
from pipeline.automation.writes import AutomaticWrites
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import enqueue
from pipeline.durable.workflows import AUTOMATE
from safety.automatic_actions import Action, ActionDecision, allows
from safety.required_checks import ChecksState, RequiredChecks

log = structlog.get_logger(__name__)

WINDOW = timedelta(minutes=automation_texts.WINDOW_MINUTES)
_PAUSES = (1, 2, 4, 8, 15, 30, 60, 120, 240)
"""Minutes between two checks while required checks run; eight hours in all."""
_MAX_CHECKS = 30  # of one run; people's commands cause some of them
_LOWEST_ACTIVE_LEVEL = 2  # nothing is automatic below
_FIRST_DELAY = timedelta(seconds=30)  # usually the end of the run queues the first check earlier


async def schedule_first_check(services: Services, run: Run) -> None:
    """Schedule the check of a run that is about to end, in case this process dies before it queues one."""
    check = scheduled_checks.ScheduledCheck(run.id, scheduled_checks.Cause.head, 0)
    await scheduled_checks.schedule(services.database, check, services.clock.now() + _FIRST_DELAY)


async def enqueue_first_check(run_id: str) -> None:
    """Queue the first check of a run; a repeated call changes nothing."""
    await _enqueue_check(scheduled_checks.ScheduledCheck(run_id, scheduled_checks.Cause.head, 0))


async def _enqueue_check(check: scheduled_checks.ScheduledCheck) -> None:
    await enqueue(AUTOMATE, check.run_id, check.number, run=check.run_id, occasion=_name_check(check))


async def enqueue_due_checks(services: Services) -> None:
    """Queue the scheduled checks that are due."""
    for check in await scheduled_checks.list_due(services.database, services.clock.now()):
        await _enqueue_check(check)
        await scheduled_checks.remove(services.database, check)


def _name_check(check: scheduled_checks.ScheduledCheck) -> str:
    """The check as part of a workflow's id: checks of a head have only their number."""
    return str(check.number) if check.cause is scheduled_checks.Cause.head else f"{check.cause} {check.number}"


class _CheckOutcome(BaseModel):
    """The outcome of a check: when the next one is due, or why there is none."""

    again: datetime | None = None
    why: str = ""


class AutomationRun:
    """One check of one run.

    :param count: of the checks before.
    """

    def __init__(self, services: Services, run: Run, count: int, workflow_id: str | None = None) -> None:
        self._services = services
        self._run = run
        self._count = count
        self._writes = AutomaticWrites(services, run)
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
        level = await self._journal.step("weigh the level", self._update_level)
        if level < _LOWEST_ACTIVE_LEVEL and not await self._journal.step("was it announced", self._was_announced):
            return f"nothing at level {level}"
        if self._count == 0:
            correction = await self._journal.step("make the fix", self._prepare, level)
            if correction is not None and await self._journal.step("push the fix", self._push, correction):
                return f"corrected: {correction.commit}"
        answer = await self._journal.step("approve and merge", self._approve_and_merge, level)
        return "again later" if answer.again is not None else answer.why

    async def _begin(self) -> bool:
        """Whether the run is over; if not, the next check is scheduled."""
        await scheduled_checks.remove(self._services.database, self._make_check(self._count))
        run = await runs.get(self._services.database, self._run.id)
        if run is not None and run.state is RunState.running and self._count < _MAX_CHECKS:
            await self._schedule_next(self._services.clock.now() + _FIRST_DELAY)
            return False
        return run is not None and run.state is RunState.completed

    async def _update_level(self) -> int:
        return await level.update_level(self._services, self._run)

    async def _was_announced(self) -> bool:
        return await automation_level.find_announcement(self._services.database, self._run.id) is not None

    async def _prepare(self, level: int) -> Correction | None:
        found = await preconditions.load_preconditions(self._services, self._run)
        return None if isinstance(found, str) else await autofix.prepare(self._services, found, level)

    async def _push(self, made: Correction) -> bool:
        return await autofix.push(self._services, self._run, made)

    # --- approving and merging ------------------------------------------------------------------------------------

    async def _approve_and_merge(self, level: int) -> _CheckOutcome:
        answer = await self._try_actions(level)
        if answer.again is not None and self._count >= _MAX_CHECKS:
            answer = _CheckOutcome(why="it took too long.")
        if answer.again is not None:
            await self._schedule_next(answer.again)
        elif answer.why:
            await self._withdraw_announcement(answer.why)
        return answer

    async def _try_actions(self, level: int) -> _CheckOutcome:
        if await self._was_merged_before():
            return await self._finish_merge()
        found = await preconditions.load_preconditions(self._services, self._run)
        if isinstance(found, str):
            return _CheckOutcome(why=found)
        against = await preconditions.find_blocking_reason(self._services, found)
        if against is not None:
            return _CheckOutcome(why=against)
        checks = await preconditions.load_required_checks(self._services, found)
        facts = found.with_checks(checks)
        approve, merge = allows(level, Action.auto_approve, facts), allows(level, Action.auto_merge, facts)
        if approve.allowed:
            await self._approve(approve, checks)
        if merge.allowed:
            return await self._merge(merge, found, checks)
        waits = checks.light is ChecksState.pending and "ladder.checks" in {approve.rule, merge.rule}
        return self._retry_later(checks) if waits else _CheckOutcome(why=_explain_refusal(merge, checks))

    async def _approve(self, allowed: ActionDecision, checks: RequiredChecks) -> None:
        marker = self._writes.approval_marker
        body = automation_texts.render_approval(
            allowed.reason.text, allowed.rule, self._run.head_sha, checks.checks, marker
        )
        try:
            is_there = await self._writes.approve(body)
        except Unprocessable as error:  # Forge's own pull request
            log.info("auto_approve.refused", run=self._run.id, error=str(error))
            return
        if is_there:
            await self._record(allowed.act, _dump_reason(allowed), checks=list(checks.checks))

    async def _merge(self, allowed: ActionDecision, found: Preconditions, checks: RequiredChecks) -> _CheckOutcome:
        """Merge once people had time to object; at the highest level at once, if the branch requires checks."""
        database, now = self._services.database, self._services.clock.now()
        window = WINDOW if allowed.override_window or not checks.are_required else timedelta(0)
        if await automation_level.find_announcement(database, self._run.id) is None:
            marker, until = self._writes.merge_marker, now + window if window else None
            reason = (allowed.reason.text, allowed.rule)
            await self._writes.announce(automation_texts.announce_merge(*reason, self._run.head_sha, until, marker))
            now = self._services.clock.now()
        until = await automation_level.record_announcement(
            database, self._run, now + window, now, _dump_reason(allowed)
        )
        if self._services.clock.now() < until:
            return _CheckOutcome(again=until)
        return await self._merge_now(allowed, found)

    async def _merge_now(self, allowed: ActionDecision, found: Preconditions) -> _CheckOutcome:
        if await preconditions.find_blocking_reason(self._services, found) is not None:  # somebody was faster
            return _CheckOutcome(why="somebody requested changes.")
        result = await self._writes.merge(self._count)
        if isinstance(result, Merged):
            await self._record_and_announce(result.sha, _dump_reason(allowed))
            return _CheckOutcome()
        if result.obstacle is MergeObstacle.base_moved:
            return self._retry_later(None)
        return _CheckOutcome(why=result.said)

    async def _was_merged_before(self) -> bool:
        """Whether this check merged it before its process died."""
        claimed = await outbox.is_claimed(
            self._services.database, self._run.id, AutomaticWrites.step_name(self._count), "merge"
        )
        return claimed and await self._writes.is_merged()

    async def _finish_merge(self) -> _CheckOutcome:
        result = await self._writes.merge(self._count)
        announced = await automation_level.find_announcement(self._services.database, self._run.id)
        if isinstance(result, Merged) and announced is not None:
            await self._record_and_announce(result.sha, {name: announced[name] for name in ("level", "rule", "text")})
        return _CheckOutcome()

    async def _record_and_announce(self, sha: str, told: Mapping[str, Any]) -> None:
        await self._record(Action.auto_merge, told, commit=sha)
        head, marker = self._run.head_sha, self._writes.merge_marker
        await self._writes.update_announcement(
            automation_texts.report_merge(str(told["text"]), str(told["rule"]), head, sha, marker)
        )

    async def _record(self, act: Action, told: Mapping[str, Any], **more: object) -> None:
        now = self._services.clock.now()
        await automation_level.record_action(
            self._services.database, self._run, act.value, now, {**told, "head": self._run.head_sha, **more}
        )

    def _retry_later(self, checks: RequiredChecks | None) -> _CheckOutcome:
        """Schedule the next check after a growing pause, or give up after the last one."""
        if self._count >= len(_PAUSES):
            return _CheckOutcome(
                why=f"checks are {checks.text}." if checks is not None else "the base branch keeps moving."
            )
        return _CheckOutcome(again=self._services.clock.now() + timedelta(minutes=_PAUSES[self._count]))

    async def _schedule_next(self, at: datetime) -> None:
        await scheduled_checks.schedule(self._services.database, self._make_check(self._count + 1), at)

    def _make_check(self, number: int) -> scheduled_checks.ScheduledCheck:
        return scheduled_checks.ScheduledCheck(self._run.id, scheduled_checks.Cause.head, number)

    async def _withdraw_announcement(self, why: str) -> None:
        """Show in the announcement, if there is one, that the merge is off."""
        database = self._services.database
        if await automation_level.find_announcement(database, self._run.id) is None:
            return
        if any(
            each["act"] == Action.auto_merge.value
            for each in await automation_level.list_actions(database, self._run.id)
        ):
            return
        await automation_level.record_stop(database, self._run, why.rstrip("."), self._services.clock.now())
        await self._writes.update_announcement(
            automation_texts.report_no_merge(self._run.head_sha, why, self._writes.merge_marker)
        )

    async def _give_up(self, why: str) -> str:
        try:
            await self._journal.step("withdraw", self._withdraw_announcement, why)
        except ForgeError as error:
            log.warning("acting.not_withdrawn", run=self._run.id, error=str(error))
        except DBOSUnexpectedStepError:
            raise
        except Exception:
            log.exception("acting.not_withdrawn", run=self._run.id)
        return why


def _explain_refusal(refused: ActionDecision, checks: RequiredChecks) -> str:
    return f"checks are {checks.text}." if refused.rule == "ladder.checks" else f"{refused.reason.text}."


def _dump_reason(allowed: ActionDecision) -> dict[str, Any]:
    return {"level": allowed.level, "rule": allowed.rule, "text": allowed.reason.text}
