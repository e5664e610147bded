"""Starts, waits, fails and ends every run in the same way, phase by phase, whatever it is about."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import TypeVar, TypeVarTuple

import structlog
from dbos._error import DBOSUnexpectedStepError
from structlog.contextvars import bound_contextvars

from domain.errors import (
    HALTED,
    OWN_MISTAKE,
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
from memory import gates, reservations
from memory.runs import checkpoints, runs, transitions
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal, run_outside_journal
from pipeline.gates.ask import WaitingForGate
from pipeline.maintenance.retention import purge_copies
from pipeline.model_calls.memories import settle_memories
from pipeline.publishing import trouble
from pipeline.publishing.gate_checks import show_closed_gates, show_gates
from pipeline.run_context import RunContext, make_superseded
from pipeline.runs.status import close_later


async def enter_phase(context: RunContext, phase: Phase, turn: int = 1) -> None:
    """:param turn: counts the times the run enters this phase."""
    await run_outside_journal(transitions.enter, context.database, context.run, phase, turn, context.now())


async def leave_phase(context: RunContext, phase: Phase, turn: int = 1) -> None:
    """:param turn: see :func:`enter_phase`."""
    await run_outside_journal(transitions.leave, context.database, context.run, phase, turn, context.now())


log = structlog.get_logger(__name__)

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")


class RunWorkflow(ABC):
    """One execution of a run as a durable workflow.

    Every step may be repeated after a crash: the journal, the checkpoint or the outbox know what it did before, so
    nothing is done, paid or posted twice.
    """

    _waits_for = ReasonCode.rate_limited  # where it waits for no person

    def __init__(self, services: Services, run: Run, workflow_id: str | None = None) -> None:
        self._services = services
        self._run = run
        self._journal = WorkflowJournal(services, workflow_id or run.id, self._record_wait)
        self._context = RunContext(services, run, self._journal)
        self._is_over = False  # in the ledger; GitHub may not show it yet

    @abstractmethod
    async def _work(self) -> str:
        """Bring the run to its end; how it ended, in one word."""

    @abstractmethod
    async def _show_waiting(self, gate: Gate) -> None:
        """Show that the run waits at a gate."""

    @abstractmethod
    async def _show_failure(self, error: ForgeError) -> None:
        """Show that the run failed, and what to do. Never an approval."""

    @abstractmethod
    async def _close(self) -> None:
        """Show that the run was stopped."""

    async def execute(self) -> str:
        """Bring the run to its end, or to a question that only a person can answer; how it ended, in one word.

        The answer starts another execution, which finds what was done and continues behind the gate.
        """
        with bound_contextvars(trace=self._run.id):
            try:
                return await self._work_or_fail()
            except Superseded:
                return await self._end_superseded()
            finally:
                await self._context.progress.quiet()

    async def _work_or_fail(self) -> str:
        try:
            return await self._work()
        except WaitingForGate as stopped:
            return await self._wait_at_gate(stopped.gate)
        except (Superseded, DBOSUnexpectedStepError):
            raise
        except ForgeError as error:
            return await self._fail(error)
        except Exception:
            log.exception("run.unexpected", run=self._run.id)
            return await self._fail(ForgeError(OWN_MISTAKE))

    async def _wait_at_gate(self, gate: Gate) -> str:
        """Show the gate and free this run's place; the answer queues the run again."""
        await self._journal.step("say what it waits for", self._show_waiting, gate)
        return await self._wait(ReasonCode.gate)

    async def _wait(self, reason: ReasonCode) -> str:
        """Free this run's place until something queues the run again."""
        await self._journal.step(f"wait: {reason.value}", self._move, RunState.waiting, reason)
        self._is_over = True
        return RunState.waiting.value

    async def _fail(self, error: ForgeError) -> str:
        """End the run with its reason, and show what happened."""
        log.warning("run.failed", run=self._run.id, error=str(error))
        reason = _choose_reason(error)
        is_shown = await self._try_step("say what went wrong", self._show_failure, error)
        if not is_shown and isinstance(error, Forbidden):
            where = (self._services, self._run.repository, self._run.number)
            await self._try_step("say it below", trouble.say_below, *where, error)
        are_gates_closed = await self._journal.step("end", self._end_failed, reason, error.message)
        if not is_shown or not are_gates_closed:
            await close_later(self._run)
        return reason.value

    async def _end_failed(self, reason: ReasonCode, detail: str) -> bool:
        """End the run; whether GitHub shows that its gates are void."""
        await self._move(RunState.failed, reason, detail)
        try:
            await show_closed_gates(self._services, self._run)
        except (CodeHostError, Halted) as error:
            log.info("run.gates_unclosed", run=self._run.id, error=str(error))
            return False
        return True

    async def _end_superseded(self) -> str:
        """Something else ended the run: close what GitHub shows of it after its own last write."""
        self._is_over = True
        if not await self._try_step("close the check", self._close_superseded):
            await close_later(self._run)
        return RunState.cancelled.value

    async def _close_superseded(self) -> None:
        await self._context.progress.quiet()
        await self._close_reservations()
        await self._purge_if_access_lost()
        await self._close()
        await show_closed_gates(self._services, self._run)

    async def _purge_if_access_lost(self) -> None:
        """Remove what this run read and kept after the purge of its repository."""
        run = self._run
        ended = await runs.get(self._services.database, run.id)
        if ended is not None and ended.reason is ReasonCode.access_lost:
            await checkpoints.purge(self._services.database, (run.repository.id,), run)
            await purge_copies(self._services, run.repository.installation_id, (run.repository.id,))

    async def _try_step(self, key: str, call: Callable[[*Arguments], Awaitable[T]], *arguments: *Arguments) -> bool:
        """Make the last write of a run; whether that worked. The run ends either way."""
        try:
            await self._journal.step_once(key, call, *arguments)
        except Superseded:
            raise
        except ForgeError as error:
            log.warning("run.unsaid", run=self._run.id, step=key, error=str(error))
            return False
        except Exception:
            log.exception("run.unsaid", run=self._run.id, step=key)
            return False
        return True

    async def _move(self, target: RunState, reason: ReasonCode = ReasonCode.none, detail: str = "") -> None:
        """:raises Superseded: something else ended the run."""
        if not await runs.move(self._services.database, self._run.id, target, self._context.now(), reason, detail):
            raise make_superseded(self._run)
        if target.is_final:
            await self._close_reservations()
            await settle_memories(self._services, self._run, succeeded=reason in _SUCCESSES)

    async def _settle(self, state: RunState, reason: ReasonCode, detail: str) -> None:
        """End the run and void its gates, which would block its pull request."""
        services, run = self._services, self._run
        if await gates.void(services.database, run.id, (), "settled", services.clock.now()):
            await show_gates(services, run)
        await self._move(state, reason, detail)

    async def _close_reservations(self) -> None:
        """Count what is still reserved as spent: nobody knows what the provider did."""
        await reservations.close(self._services.database, self._run.id, self._context.now())

    async def _record_wait(self, why: str | None) -> None:
        if self._is_over:
            return
        if why is None:
            await self._move(RunState.running)
        else:
            reason = ReasonCode.halted if why == HALTED else self._waits_for
            await self._move(RunState.waiting, reason, why)


_SUCCESSES = frozenset({ReasonCode.proposed, ReasonCode.planned})
"""A review is no success by itself: people decide whether its findings were right."""


def _choose_reason(error: ForgeError) -> ReasonCode:
    if isinstance(error, CommitGone):
        return ReasonCode.commit_gone
    if isinstance(error, Forbidden | NotFound | Unauthorized):
        return ReasonCode.access_lost
    return ReasonCode.error
