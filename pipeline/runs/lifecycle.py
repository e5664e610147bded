"""The life of a run around its work: it begins, waits, fails and ends the same way, whatever it is about."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog
from dbos._error import DBOSUnexpectedStepError  # not exported
from pydantic import JsonValue
from structlog.contextvars import bound_contextvars

from domain.errors import (
    HALTED,
    CodeHostError,
    CommitGone,
    Forbidden,
    ForgeError,
    Halted,
    NotFound,
    Superseded,
    Unauthorized,
)
from domain.gates import Gate
from domain.runs.run import Phase, ReasonCode, Run, RunState
from memory.reservations import reservations
from memory.runs import checkpoints, phases, runs
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.gates.ask import WaitingForGate, show_closed_gates
from pipeline.maintenance.purge import purge_copies
from pipeline.model_calls.recall import settle_memories
from pipeline.publishing.progress import ProgressUpdates
from pipeline.runs.closing import close_later
from pipeline.steps import run_outside_journal

log = structlog.get_logger(__name__)

T = TypeVar("T")

_POLL_SECONDS = 1.0  # seconds between two looks whether a run that works still owns its issue or pull request


class RunWorkflow(ABC):
    """One execution of a run as a durable workflow.

    Every step may be repeated after a crash: what it did before is found in the journal, the checkpoint or
    the outbox, so that nothing is done, paid or posted twice.
    """

    def __init__(self, services: Services, run: Run, workflow_id: str | None = None) -> None:
        self._services = services
        self._run = run
        self._journal = WorkflowJournal(services, workflow_id or run.id, self._record_wait)
        self._telling = ProgressUpdates(services.database, run, services.progress_delay)
        self._is_over = False  # in the ledger; what may still wait is the last word on GitHub

    @abstractmethod
    async def _work(self) -> str:
        """Bring the run to its end; how it ended, in one word."""

    @abstractmethod
    async def _show_waiting(self, gate: Gate) -> None:
        """Show that the run stopped in the middle, at a gate."""

    @abstractmethod
    async def _show_failure(self, error: ForgeError) -> None:
        """Show that the run failed, and what to do. Never an approval."""

    @abstractmethod
    async def _close(self) -> None:
        """Show that the run was put an end to."""

    async def execute(self) -> str:
        """Bring the run to its end, or to a question only a person can answer; how it ended, in one word.

        An answer begins this anew: what was done before is found again, and the run goes on behind the gate.
        """
        with bound_contextvars(trace=self._run.id):
            try:
                return await self._work_or_fail()
            except Superseded:
                return await self._end_superseded()
            finally:
                await self._telling.quiet()

    async def _work_or_fail(self) -> str:
        try:
            return await self._work()
        except WaitingForGate as stopped:
            gate = stopped.gate
            await self._journal.step("say what it waits for", lambda: answer_nothing(self._show_waiting(gate)))
            return await self._wait_for_a_person()
        except (Superseded, DBOSUnexpectedStepError):
            raise
        except ForgeError as error:
            return await self._fail(error)
        except Exception:
            log.exception("run.unexpected", run=self._run.id)
            return await self._fail(ForgeError("Forge made a mistake of its own; its log has the details."))

    async def _wait_for_a_person(self) -> str:
        """Free this run's place until somebody answers; the answer queues the run again."""
        return await self._wait(ReasonCode.gate)

    async def _wait(self, reason: ReasonCode) -> str:
        """Free this run's place until something happens that queues the run again."""
        await self._journal.step(f"wait: {reason.value}", lambda: self._move(RunState.waiting, reason))
        self._is_over = True
        return RunState.waiting.value

    async def _fail(self, error: ForgeError) -> str:
        """End the run with its reason, and say what happened."""
        log.warning("run.failed", run=self._run.id, error=str(error))
        reason = _choose_reason(error)
        is_said = await self._try_step("say what went wrong", lambda: answer_nothing(self._show_failure(error)))
        is_closed = await self._journal.step("end", lambda: self._end_failed(reason, error.message))
        if not is_said or is_closed is False:
            await close_later(self._run)
        return reason.value

    async def _end_failed(self, reason: ReasonCode, detail: str) -> JsonValue:
        """End the run; whether GitHub shows that what it asked is void now. That it does not holds nothing up."""
        await self._move(RunState.failed, reason, detail)
        try:
            await show_closed_gates(self._services, self._run)
        except (CodeHostError, Halted) as error:
            log.info("run.gates_unclosed", run=self._run.id, error=str(error))
            return False
        return True

    async def _end_superseded(self) -> str:
        """The run lost its place and was ended by who took it: close what it shows after its own last write."""

        async def close() -> JsonValue:
            await self._telling.quiet()
            await self._close_reservations()
            await self._purge_if_access_lost()
            await self._close()
            await show_closed_gates(self._services, self._run)
            return None

        self._is_over = True
        if not await self._try_step("close the check", close):
            await close_later(self._run)
        return RunState.cancelled.value

    async def _purge_if_access_lost(self) -> None:
        """Where access was lost, what this run read and kept after the purge goes, too."""
        run = self._run
        ended = await runs.get(self._services.database, run.id)
        if ended is not None and ended.reason is ReasonCode.access_lost:
            await checkpoints.purge(self._services.database, (run.repository.id,), run)
            await purge_copies(self._services, run.repository.installation_id, (run.repository.id,))

    async def _enter_phase(self, phase: Phase, turn: int = 1) -> None:
        """The run comes into a phase. No step: what was told is not told again.

        :param turn: which time it does.
        """
        now = self._services.clock.now()
        await run_outside_journal(lambda: phases.enter(self._services.database, self._run, phase, turn, now))

    async def _leave_phase(self, phase: Phase, turn: int = 1) -> None:
        """The run is through with a phase; see :meth:`_enter_phase`."""
        now = self._services.clock.now()
        await run_outside_journal(lambda: phases.leave(self._services.database, self._run, phase, turn, now))

    async def _try_step(self, key: str, call: Callable[[], Awaitable[JsonValue]]) -> bool:
        """A last word on GitHub; whether it was said. The run ends all the same, so that it is in nobody's way."""
        try:
            await self._journal.step_once(key, call)
        except Superseded:
            raise
        except ForgeError as error:
            log.warning("run.unsaid", run=self._run.id, step=key, error=str(error))
            return False
        except Exception:
            log.exception("run.unsaid", run=self._run.id, step=key)
            return False
        return True

    async def _move(self, target: RunState, reason: ReasonCode = ReasonCode.none, detail: str = "") -> JsonValue:
        """:raises Superseded: the run was put an end to."""
        now = self._services.clock.now()
        if not await runs.move(self._services.database, self._run.id, target, now, reason, detail):
            raise make_superseded(self._run)
        if target.is_final:
            await self._close_reservations()
            await settle_memories(self._services, self._run, succeeded=reason in _SUCCESSES)
        return None

    async def _close_reservations(self) -> None:
        """What is still reserved when a run ends was lost: nobody knows what the provider did."""
        await reservations.close(self._services.database, self._run.id, self._services.clock.now())

    async def _record_wait(self, why: str | None) -> None:
        if self._is_over:
            return
        if why is None:
            await self._move(RunState.running)
        else:
            reason = ReasonCode.halted if why == HALTED else ReasonCode.rate_limited
            await self._move(RunState.waiting, reason, why)


async def run_while_current(services: Services, run: Run, work: Awaitable[T]) -> T:
    """The answer of ``work``, which is stopped soon after the run lost its place.

    :raises Superseded: if it was.
    """
    task = asyncio.ensure_future(work)
    try:
        while not (await asyncio.wait({task}, timeout=_POLL_SECONDS))[0]:
            if not await runs.is_current(services.database, run):
                raise make_superseded(run)
        return task.result()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def make_superseded(run: Run) -> Superseded:
    """What ends a run that something else put an end to."""
    return Superseded(f"Run {run.id} was put an end to.")


async def answer_nothing(saying: Awaitable[None]) -> JsonValue:
    """A step that answers nothing."""
    await saying
    return None


_SUCCESSES = frozenset({ReasonCode.proposed, ReasonCode.planned})
"""A review is none: whether what led it to a finding was right, people say."""


def _choose_reason(error: ForgeError) -> ReasonCode:
    if isinstance(error, CommitGone):
        return ReasonCode.commit_gone
    if isinstance(error, Forbidden | NotFound | Unauthorized):
        return ReasonCode.access_lost
    return ReasonCode.error
