"""Tells what an agent changed in a shadow, and keeps checkpoints of that, while it works and when it ends."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import timedelta

import structlog

from domain.config.configuration import Configuration, Execution
from domain.errors import CodeAccessError, ToolError
from domain.runs.patches import NO_CHANGES, ChangeSet, Violation, select_blocking
from domain.runs.work_checkpoint import CheckpointCause, CheckpointDetails, shrink
from memory.runs import work_checkpoints
from memory.runs.work_checkpoints import ChainMoved, CheckpointTooLarge
from pipeline.issue.coding.work_item import WorkHistory, load_history
from pipeline.run_context import RunContext
from workspace.draft import Draft
from workspace.patches.refusals import show_path
from workspace.sandbox.processes import ProgramControl
from workspace.shadow import Shadow, ShadowChanges

_TAIL = 300  # characters of what was printed last
NOTHING = ShadowChanges(NO_CHANGES, ())


@dataclass(frozen=True)
class AllowedWork:
    """The part of a change that may be taken.

    :param refused: what is wrong with the rest.
    """

    change: ChangeSet
    refused: tuple[Violation, ...] = ()


@dataclass(frozen=True)
class ShadowWork:
    """The work of one agent in one shadow.

    :param draft: judges it.
    :param made: what was changed before the agent began.
    """

    shadow: Shadow
    draft: Draft
    made: ShadowChanges = NOTHING

    async def read(self) -> ShadowChanges:
        """What the agent changed up to now, and what is no change of a regular file.

        :raises CodeAccessError: git could not say what is ignored, or what the files were before.
        """
        found = await self.shadow.read_changes()
        before = {(file.path, file.after) for file in self.made.change.files}
        known = {(each.file, each.constraint) for each in self.made.violations}
        files = tuple(file for file in found.change.files if (file.path, file.after) not in before)
        wrong = tuple(each for each in found.violations if (each.file, each.constraint) not in known)
        return replace(found, change=ChangeSet(files=files), violations=wrong)

    async def judge(self, found: ShadowChanges) -> tuple[Violation, ...]:
        """Everything that is wrong with what was read."""
        return (*found.violations, *await self.draft.judge_change(found.change))

    async def select_allowed(self, found: ShadowChanges) -> AllowedWork:
        """The files that may be taken; none if what is wrong is not about single files."""
        change, refused = found.change, list(select_blocking(await self.judge(found)))
        wrong = refused
        while wrong and change.files:
            names = {each.file for each in wrong}
            kept = tuple(file for file in change.files if show_path(file.path) not in names)
            if len(kept) == len(change.files):
                is_about_files = all(each in found.violations for each in wrong)
                return AllowedWork(change if is_about_files else NO_CHANGES, tuple(refused))
            change = ChangeSet(files=kept)
            wrong = select_blocking(await self.draft.judge_change(change))
            refused += [each for each in wrong if each not in refused]
        return AllowedWork(change, tuple(refused))


log = structlog.get_logger(__name__)

_GAP_S = 5.0
"""The least time between two checkpoints."""
_PAUSE_S, _LONGEST_S = 10.0, 20.0
"""How long the pause may take, and a whole checkpoint. A slower one is none: nothing of it is called valid."""
_PER_HOUR = 120
_SPARING_S = 60.0
"""The least time between two checkpoints once half of those of an hour are made, so that they never run out."""
_FAILURES = 3
"""After so many failures in a row the agent is stopped, and a person is asked."""
_UNREADABLE_S = 300.0
"""How long there may be more files than can be read, as while something is unpacked, before the agent is stopped."""
_LOOK_S = 1.0
_SHARE = 0.05
"""How much of its time Forge may spend looking for changes."""
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
        self._state = self._seen = history.state
        self._get_words = get_words
        self._failures = 0

    @property
    def number(self) -> int:
        """The number of the newest checkpoint; 0 if there is none."""
        return 0 if self._newest is None else self._newest.number

    async def watch(self) -> None:
        """Keep checkpoints while the agent works: every so many seconds or changes. Never returns.

        :raises TakenBack: a person took the work back.
        :raises CannotKeep: they failed too often, or there is too much to read for too long.
        """
        kept_at = readable_at = time.monotonic()
        looked_for = 0.0
        while True:
            await asyncio.sleep(max(_LOOK_S, looked_for / _SHARE))
            await self._find_newest()
            began = time.monotonic()
            found = await self._look()
            now = time.monotonic()
            looked_for = now - began
            if found.has_given_up:
                if now - readable_at > _UNREADABLE_S:
                    raise CannotKeep(f"What it changed cannot be kept: {found.violations[0].message}")
                continue
            readable_at = now
            cause = await self._find_cause(len(found.change.since(self._seen).files), now - kept_at)
            if cause is not None:
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
        except (CodeAccessError, ToolError, TimeoutError, OSError) as error:
            why = str(error) or f"It took more than {_LONGEST_S:g} s."
            self._failures += not isinstance(error, CheckpointTooLarge)
            await self._record_failure(why, time.monotonic() - began)
            return why
        self._failures = 0
        return ""

    async def _keep(self, cause: CheckpointCause, said: str | None, began: float) -> None:
        async with self._control.pause(_PAUSE_S) as paused_seconds:
            found = await self._work.read()
        if found.has_given_up:
            return
        self._seen = found.change
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
            before = self._newest
            await self._find_newest()
            if self._newest == before:
                raise ToolError("The database refuses the checkpoint.")

    async def _try_to_add(self, cause: CheckpointCause, change: ChangeSet, details: CheckpointDetails) -> bool:
        """Whether the checkpoint was added, or is not needed; not if ours is not the newest."""
        context, delta = self._context, change.since(self._state)
        if not delta.files and cause is not CheckpointCause.done:
            return True
        details = details.model_copy(update={"changed": len(delta.files)})
        try:
            stored = shrink(delta, self._state)
            self._newest = await work_checkpoints.add(
                context.database, self._key, self._newest, cause, stored, details, context.now()
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

    async def _look(self) -> ShadowChanges:
        try:
            return await self._work.read()
        except CodeAccessError:
            return NOTHING

    async def _find_cause(self, changed: int, seconds: float) -> CheckpointCause | None:
        """Why a checkpoint is due, if it is.

        :param changed: files that differ from what was seen at the last one.
        """
        if not changed or seconds < _GAP_S:
            return None
        is_many = changed >= self._execution.checkpoint_changes
        if not is_many and seconds < self._execution.checkpoint_seconds:
            return None
        context = self._context
        since = context.now() - timedelta(hours=1)
        made = await work_checkpoints.count_since(context.database, self._key.run_id, since)
        if made >= _PER_HOUR or (made >= _PER_HOUR // 2 and seconds < _SPARING_S):
            return None
        return CheckpointCause.changes if is_many else CheckpointCause.time

    async def _record_failure(self, why: str, seconds: float) -> None:
        context, run_id = self._context, self._key.run_id
        log.warning("work.unkept", run=run_id, work=self._key.work, why=why, seconds=round(seconds, 3))
        await work_checkpoints.record_failure(context.database, run_id, why, seconds, context.now())


async def set_up_shadow(context: RunContext, configuration: Configuration, shadow: Shadow, base: str) -> str:
    """Hide what must not leave and run the set-up; what failed, for the agent, or empty.

    :param base: SHA of the commit that the shadow holds.
    :raises CodeAccessError: a file cannot be read.
    :raises ToolError: no sandbox here contains untrusted code.
    """
    never_send = configuration.review.never_send
    await shadow.hide(never_send)
    tester = context.build_tester(await context.fetch_mirror(), configuration)
    failed = await tester.set_up(shadow.checkout, base, uses_cache=not never_send)
    return "" if failed is None else describe_end(f"The set-up `{failed.line}`", failed.exit_status, failed.output)


def describe_end(what: str, status: int | None, printed: str) -> str:
    """How a program ended, and the end of what it printed, on one line."""
    said = " ".join(printed.split())[-_TAIL:]
    how = "did not end in time, or was stopped" if status is None else f"ended with exit status {status}"
    return f"{what} {how}.{f' It says: {said}' if said else ''}"
