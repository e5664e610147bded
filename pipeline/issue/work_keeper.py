"""Keeps checkpoints of what an agent changed, while it works and when it ends (SPEC X6, X9)."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import structlog

from domain.config.configuration import Execution
from domain.errors import CodeAccessError, ToolError
from domain.runs.patches import ChangeSet
from domain.runs.work_checkpoint import CheckpointCause
from memory.runs import work_checkpoints
from memory.runs.work_checkpoints import ChainMoved, CheckpointDetails
from pipeline.issue.shadow_work import ShadowWork
from pipeline.issue.work_history import WorkHistory, load_history
from pipeline.run_context import RunContext
from workspace.sandbox.suspension import ProgramControl

log = structlog.get_logger(__name__)

_GAP_S = 5.0
"""The least time between two checkpoints."""
_LONGEST_S = 10.0
"""How long a checkpoint may take. A slower one is none: nothing of it is called valid."""
_PER_HOUR = 120
_FAILURES = 3
"""After so many failures in a row the agent is stopped, and a person is asked."""
_LOOK_S = 1.0
_SHARE = 0.05
"""How much of its time Forge may spend looking for changes (SPEC X11)."""
_REFUSED = 20  # lines that are kept of what is refused


class CannotKeep(ToolError):
    """Checkpoints fail one after the other, so the work is not safe any more."""


class TakenBack(Exception):
    """A person took the work back to an earlier state; the agent has to begin there."""


class WorkKeeper:
    """The checkpoints of one agent.

    :param history: the checkpoints before.
    :param control: pauses the agent, so that no file changes while they are read.
    :param get_words: the agent's last words.
    """

    def __init__(
        self,
        context: RunContext,
        execution: Execution,
        history: WorkHistory,
        work: ShadowWork,
        control: ProgramControl,
        get_words: Callable[[], str] = str,
    ) -> None:
        self._context = context
        self._execution = execution
        self._key = history.key
        self._work = work
        self._control = control
        self._newest = history.newest
        self._state = history.state
        self._get_words = get_words
        self._failures = 0

    async def watch(self) -> None:
        """Keep checkpoints while the agent works: every so many seconds or changes. Never returns.

        :raises TakenBack: a person took the work back.
        :raises CannotKeep: they failed too often.
        """
        kept_at = time.monotonic()
        looked_for = 0.0
        while True:
            await asyncio.sleep(max(_LOOK_S, looked_for / _SHARE))
            await self._find_newest()
            began = time.monotonic()
            changed = await self._count_changes()
            looked_for = time.monotonic() - began
            cause = self._find_cause(changed, time.monotonic() - kept_at)
            if cause is not None and await self._may_keep():
                why = await self.keep(cause)
                kept_at = time.monotonic()
                if self._failures >= _FAILURES:
                    raise CannotKeep(f"{_FAILURES} checkpoints of what it changed failed in a row: {why}")

    async def keep(self, cause: CheckpointCause, said: str | None = None) -> str:
        """Keep what may be taken of what the agent changed, unless nothing changed since the last checkpoint.

        :param said: in place of the agent's last words.
        :returns: why that failed; empty if it did not.
        :raises TakenBack: a person took the work back.
        """
        began = time.monotonic()
        try:
            async with asyncio.timeout(_LONGEST_S):
                await self._keep(cause, said, began)
        except (CodeAccessError, ToolError, TimeoutError) as error:
            why = str(error) or f"It took more than {_LONGEST_S:g} s."
            self._failures += 1
            await self._record_failure(why, time.monotonic() - began)
            return why
        self._failures = 0
        return ""

    async def _keep(self, cause: CheckpointCause, said: str | None, began: float) -> None:
        async with self._control.pause() as paused_seconds:
            found = await self._work.read()
        if found.has_given_up:
            raise ToolError(found.violations[0].message)
        allowed = await self._work.select_allowed(found)
        details = CheckpointDetails(
            files=len(allowed.change.files),
            refused=tuple(str(each) for each in allowed.refused[:_REFUSED]),
            said=self._get_words() if said is None else said,
            spent_usd=await self._context.load_cost() / 1_000_000,
            seconds=time.monotonic() - began,
            paused_seconds=paused_seconds,
        )
        while not await self._try_to_add(cause, allowed.change, details):
            await self._find_newest()

    async def _try_to_add(self, cause: CheckpointCause, change: ChangeSet, details: CheckpointDetails) -> bool:
        """Whether the checkpoint was added, or is not needed; not if ours is not the newest."""
        context, delta = self._context, change.since(self._state)
        if not delta.files and cause is not CheckpointCause.done:
            return True
        details = replace(details, changed=len(delta.files))
        try:
            self._newest = await work_checkpoints.add(
                context.database, self._key, self._newest, cause, delta, details, context.now()
            )
        except ChainMoved:
            return False
        self._state = change
        return True

    async def _find_newest(self) -> None:
        """Go on from the newest checkpoint: one that was cut off may have been stored all the same.

        :raises TakenBack: it is a roll-back.
        """
        found = await work_checkpoints.find_newest(self._context.database, self._key)
        if found == self._newest:
            return
        if found is None or found.cause is CheckpointCause.rollback:
            raise TakenBack
        history = await load_history(self._context.database, self._key)
        self._newest, self._state = history.newest, history.state

    async def _count_changes(self) -> int:
        """How many files differ from the last checkpoint; the most there can be if they cannot be read."""
        try:
            found = await self._work.read()
        except CodeAccessError:
            return self._execution.checkpoint_changes
        if found.has_given_up:
            return self._execution.checkpoint_changes
        return len(found.change.since(self._state).files)

    def _find_cause(self, changed: int, seconds: float) -> CheckpointCause | None:
        """Why a checkpoint is due, if it is."""
        if not changed or seconds < _GAP_S:
            return None
        if changed >= self._execution.checkpoint_changes:
            return CheckpointCause.changes
        return CheckpointCause.time if seconds >= self._execution.checkpoint_seconds else None

    async def _may_keep(self) -> bool:
        context = self._context
        since = context.now() - timedelta(hours=1)
        return await work_checkpoints.count_since(context.database, self._key.run_id, since) < _PER_HOUR

    async def _record_failure(self, why: str, seconds: float) -> None:
        context, run_id = self._context, self._key.run_id
        log.warning("work.unkept", run=run_id, work=self._key.work, why=why, seconds=round(seconds, 3))
        await work_checkpoints.record_failure(context.database, run_id, why, seconds, context.now())
