"""Approves a reviewed head automatically, once; merges it after people had time to object."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import structlog

from domain.errors import Behind, HostFailure, NotFound, Unprocessable
from domain.github.pull_requests import Approval, Merged, MergeObstacle, NotMerged, Queued
from domain.runs.run import Run
from domain.value import Value
from memory.repositories import automation_level
from memory.runs import outbox
from messages import automation as automation_texts
from pipeline.automation import preconditions
from pipeline.automation.preconditions import Preconditions
from pipeline.context import Services
from pipeline.publishing import comments, pull_requests, reviews
from pipeline.publishing.publisher import NO_ID
from pipeline.verdicts.approval import build_approval_marker, is_approval_of, withdraw_if_lost
from safety.allowed_actions import Action, ActionDecision, RequiredChecks

_PAUSES = (1, 2, 4, 8, 15, 30, 60, 120, 240)
"""Minutes between two checks while required checks run; eight hours in all."""


class CheckOutcome(Value):
    """The outcome of a check: when the next one is due, or why there is none."""

    again: datetime | None = None
    why: str = ""


def retry_later(count: int, now: datetime, why: str) -> CheckOutcome:
    """The next check after a growing pause; none after the last pause.

    :param count: of the checks before.
    :param why: there is no next check, if there is none.
    """
    if count >= len(_PAUSES):
        return CheckOutcome(why=why)
    return CheckOutcome(again=now + timedelta(minutes=_PAUSES[count]))


log = structlog.get_logger(__name__)


async def approve(services: Services, run: Run, allowed: ActionDecision, checks: RequiredChecks) -> None:
    """Approve exactly this head and record that. May be repeated, and then changes nothing."""
    marker = build_approval_marker(services, run)
    body = automation_texts.render_approval(allowed.reason.text, allowed.rule, run.head_sha, checks.checks, marker)
    try:
        is_there = await _approve_once(services, run, body)
    except Unprocessable as error:  # Forge's own pull request
        log.info("auto_approve.refused", run=run.id, error=str(error))
        return
    if is_there:
        await automation_level.record_action(
            services.database,
            run,
            allowed.act.value,
            services.clock.now(),
            {**allowed.dump_reason(), "head": run.head_sha, "checks": list(checks.checks)},
        )


async def _approve_once(services: Services, run: Run, body: str) -> bool:
    """Whether Forge's approval is there.

    If a person dismissed an approval of this head, for any base, it is not given again.
    """
    repository, number = run.repository, run.number

    async def find() -> int | None:
        given = await _list_approvals(services, run)
        return next((each.id for each in given if each.is_dismissed or is_approval_of(each, services, run)), None)

    again = len(await outbox.list_withdrawn(services.database, repository.id, number))
    step = f"{outbox.APPROVAL} {again}" if again else outbox.APPROVAL
    given = await reviews.approve_once(services, run, step, body, find=find)
    await withdraw_if_lost(services, run)
    shown = {each.id: each for each in await services.host.approvals(repository, number)}.get(given)
    return shown is None or not shown.is_dismissed  # GitHub may not show it yet


async def _list_approvals(services: Services, run: Run) -> list[Approval]:
    """The approvals of this head, without those that Forge withdrew: it may give them again."""
    taken_back = await outbox.list_withdrawn(services.database, run.repository.id, run.number)
    given = await services.host.approvals(run.repository, run.number)
    return [each for each in given if each.head_sha == run.head_sha and each.id not in taken_back]


WINDOW = timedelta(minutes=automation_texts.WINDOW_MINUTES)
_ANNOUNCEMENT = "auto_merge"  # the step of the announcement in the outbox


@dataclass(frozen=True)
class AutomaticMerge:
    """The merge of one reviewed head. Every method may be repeated and then writes nothing again.

    :param count: of the checks before; each check claims its own merge.
    """

    services: Services
    run: Run
    count: int

    async def announce_or_merge(
        self, allowed: ActionDecision, found: Preconditions, checks: RequiredChecks
    ) -> CheckOutcome:
        """Merge once people had time to object; at the highest level at once, if the branch requires checks."""
        database, now = self.services.database, self.services.clock.now()
        window = WINDOW if allowed.override_window or not checks.are_required else timedelta(0)
        if await automation_level.find_announcement(database, self.run.id) is None:
            until = now + window if window else None
            reason = (allowed.reason.text, allowed.rule)
            body = automation_texts.announce_merge(*reason, self.run.head_sha, until, self._marker)
            await comments.ensure_comment(self.services, self.run, _ANNOUNCEMENT, self._marker, body)
            now = self.services.clock.now()
        until = await automation_level.record_announcement(database, self.run, now + window, now, allowed.dump_reason())
        if self.services.clock.now() < until:
            return CheckOutcome(again=until)
        return await self._merge(allowed, found)

    async def was_merged_before(self) -> bool:
        """Whether this check merged it, or put it into the merge queue, before its process died."""
        claimed = await outbox.is_claimed(self.services.database, self.run.id, self._step, "merge")
        return claimed and (await self._is_merged() or await self._is_queued())

    async def finish(self) -> CheckOutcome:
        """Record and announce a merge that :meth:`was_merged_before` found."""
        result = await self._merge_once()
        announced = await automation_level.find_announcement(self.services.database, self.run.id)
        if not isinstance(result, NotMerged) and announced is not None:
            await self._record_and_announce(result, {name: announced[name] for name in ("level", "rule", "text")})
        return CheckOutcome()

    async def report_dequeued(self, why: str) -> bool:
        """Show in the announcement that the merge queue took the head out, which is not tried again.

        :param why: as a clause.
        :returns: whether Forge had put it there.
        """
        actions = await automation_level.list_actions(self.services.database, self.run.id)
        if not any(each.get("queued") for each in actions):
            return False
        said = f"the merge queue took it out: {why}"
        await automation_level.record_stop(self.services.database, self.run, said, self.services.clock.now())
        await self._update_announcement(automation_texts.report_no_merge(self.run.head_sha, f"{said}.", self._marker))
        return True

    async def withdraw_announcement(self, why: str) -> None:
        """Show in the announcement, if there is one, that the merge is off."""
        database = self.services.database
        if await automation_level.find_announcement(database, self.run.id) is None:
            return
        actions = await automation_level.list_actions(database, self.run.id)
        if any(each["act"] == Action.auto_merge.value for each in actions):
            return
        await automation_level.record_stop(database, self.run, why.rstrip("."), self.services.clock.now())
        await self._update_announcement(automation_texts.report_no_merge(self.run.head_sha, why, self._marker))

    @property
    def _marker(self) -> str:
        """The marker of the announcement: one per run, so each run announces again."""
        return self.services.markers.make("merge", self.run.id)

    @property
    def _step(self) -> str:
        """The step of the merge in the outbox: one for each check."""
        return f"auto_merge {self.count}"

    async def _merge(self, allowed: ActionDecision, found: Preconditions) -> CheckOutcome:
        if await preconditions.find_blocking_reason(self.services, found) is not None:  # somebody was faster
            return CheckOutcome(why="somebody requested changes.")
        result = await self._merge_once()
        if not isinstance(result, NotMerged):
            await self._record_and_announce(result, allowed.dump_reason())
            return CheckOutcome()
        if result.obstacle is MergeObstacle.base_moved:
            return retry_later(self.count, self.services.clock.now(), "the base branch keeps moving.")
        return CheckOutcome(why=result.said)

    async def _merge_once(self) -> Merged | Queued | NotMerged:
        """Merge exactly this head, or put it into the merge queue."""

        async def find() -> int | None:
            return NO_ID if await self._is_merged() or await self._is_queued() else None

        find_obstacle = partial(preconditions.find_merge_obstacle, self.services, self.run)
        result = await pull_requests.merge_once(
            self.services, self.run, self._step, find=find, find_obstacle=find_obstacle
        )
        if result is not None:
            return result
        if await self._is_queued():
            return Queued()
        if not await self._is_merged():
            raise Behind(f"GitHub does not show yet that #{self.run.number} was merged.", "Forge looks again.")
        return await pull_requests.find_merge_commit(self.services, self.run)

    async def _is_merged(self) -> bool:
        live = await self.services.host.pull_request(self.run.repository, self.run.number)
        return live.is_merged and live.head_sha == self.run.head_sha

    async def _is_queued(self) -> bool:
        return await self.services.host.is_queued(self.run.repository, self.run.number)

    async def _record_and_announce(self, result: Merged | Queued, told: Mapping[str, Any]) -> None:
        head, reason = self.run.head_sha, (str(told["text"]), str(told["rule"]))
        done = {"queued": True} if isinstance(result, Queued) else {"commit": result.sha}
        await automation_level.record_action(
            self.services.database,
            self.run,
            Action.auto_merge.value,
            self.services.clock.now(),
            {**told, "head": head, **done},
        )
        if isinstance(result, Queued):
            body = automation_texts.report_queued(*reason, head, self.run.base_ref, self._marker)
        else:
            body = automation_texts.report_merge(*reason, head, result.sha, self._marker)
        await self._update_announcement(body)

    async def _update_announcement(self, body: str) -> None:
        """Show the outcome in the announcement, whoever owns the pull request now."""
        host, repository = self.services.host, self.run.repository
        try:
            comment = await outbox.find_remote_id(self.services.database, self.run.id, _ANNOUNCEMENT, "comment")
            comment = comment or await host.find_comment(repository, self.run.number, self._marker)
            if comment is not None:
                await comments.edit_comment(self.services, repository, comment, body)
        except NotFound:
            log.info("merge.announcement_gone", run=self.run.id)
        except HostFailure as error:
            log.warning("merge.not_told", run=self.run.id, error=str(error))
