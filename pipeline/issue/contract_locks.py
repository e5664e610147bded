"""Locks the contracts that a plan changes, so that no other run changes them at the same time."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

import structlog

from domain.errors import ForgeError
from domain.runs.patches import ContractLock
from domain.runs.plan import CONTRACTS, LEASE, LONGEST_WAIT, HeldContract
from domain.runs.run import ReasonCode, RunState, Trigger
from domain.value import Value
from memory.runs import contract_leases, model_answers, runs, waits
from messages import plan as plan_texts
from pipeline.issue.status_comment import RunEnd
from pipeline.run_context import RunContext

log = structlog.get_logger(__name__)

_TOKENS, _WAITS = "contracts it holds", "contracts it waits for"  # keys in the database
_RENEWAL_SECONDS = LEASE.total_seconds() / 5  # between two renewals


class TakenContracts(Value):
    """Either all contracts were taken, or none.

    :param tokens: contract → fencing token.
    :param held: contracts that other runs hold.
    :param lost: contracts that another run took from this one.
    :param is_late: this run has waited for them as long as a run may.
    """

    tokens: dict[str, int] = {}
    held: tuple[HeldContract, ...] = ()
    lost: tuple[str, ...] = ()
    is_late: bool = False


class ContractWait(Value):
    """How long a run has waited for contracts.

    :param since: its first request.
    :param times: its requests.
    """

    since: datetime
    times: int = 0


class ContractLocks:
    """The locks of one run."""

    def __init__(self, context: RunContext) -> None:
        self._context = context
        self._tokens: Mapping[str, int] = {}

    async def take(self, contracts: Sequence[str]) -> Sequence[HeldContract] | RunEnd:
        """Take all of these contracts, or renew them.

        :param contracts: their names.
        :returns: empty, or the contracts that other runs hold: then this run asks again later; or how the run ends.
        """
        if not contracts:
            return ()
        taken = await self._context.journal.step("take contracts", self._take, contracts)
        self._tokens = taken.tokens
        spent = await self._context.load_cost()
        if taken.lost:
            return RunEnd(RunState.failed, ReasonCode.contract, plan_texts.contracts_lost(taken.lost, spent=spent))
        if taken.is_late:
            return RunEnd(RunState.failed, ReasonCode.contract, plan_texts.contracts_held(taken.held, spent=spent))
        return taken.held

    @asynccontextmanager
    async def keep_renewed(self) -> AsyncGenerator[None]:
        """Renew the locks while this process works."""
        beating = asyncio.create_task(self._renew_leases())
        try:
            yield
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)

    async def wake_waiting_runs(self) -> None:
        """If this run is over, wake the runs that wait for its contracts."""
        if self._tokens:
            await self._context.journal.step("let others take the contracts", self._wake_others)

    async def load_locks(self) -> dict[str, ContractLock]:
        """Every contract with this run's lock as it is now."""
        newest: Mapping[str, int] = {}
        if self._tokens:
            newest = (await self._context.journal.step("whose contracts they are", self._load_newest)).tokens
        return {
            name: ContractLock(globs, self._tokens.get(name), newest.get(name)) for name, globs in CONTRACTS.items()
        }

    async def require_held(self) -> None:
        """Check that this run still holds its locks, right before it pushes.

        :raises ForgeError: another run took one.
        """
        lost = await self._renew() if self._tokens else ()
        if lost:
            raise ForgeError(*plan_texts.contracts_gone(lost))

    async def _renew_leases(self) -> None:
        """Renew the leases again and again. The check before the push shows whether that failed."""
        while self._tokens:
            try:
                await self._renew()
            except ForgeError as error:
                log.warning("contracts.not_renewed", run=self._context.run.id, error=str(error))
            await asyncio.sleep(_RENEWAL_SECONDS)

    async def _renew(self) -> Sequence[str]:
        """The contracts that were lost."""
        run, now = self._context.run, self._context.now()
        return await contract_leases.renew(self._context.database, run.repository.id, self._tokens, run.id, now)

    # --- steps -------------------------------------------------------------------------------------------------

    async def _take(self, contracts: Sequence[str]) -> TakenContracts:
        """Take them, once: between two leases another run may have changed the contract."""
        database, run, now = self._context.database, self._context.run, self._context.now()
        kept = await model_answers.find(database, run, _TOKENS)
        if kept is not None:
            tokens = TakenContracts.model_validate(kept).tokens
            lost = await contract_leases.renew(database, run.repository.id, tokens, run.id, now)
            return TakenContracts(tokens=tokens, lost=tuple(lost))
        acquired = await contract_leases.acquire(database, run.repository.id, contracts, run.id, now)
        held = await contract_leases.load_holdings(database, acquired.held)
        taken = TakenContracts(tokens=dict(acquired.tokens), held=tuple(held))
        if acquired.is_ours:
            await model_answers.keep(database, run, _TOKENS, taken.model_dump(mode="json"), now)
            return taken
        return taken.model_copy(update={"is_late": await self._is_late(now)})

    async def _is_late(self, now: datetime) -> bool:
        """Whether the run waited long enough; if not, it asks again later."""
        database, run = self._context.database, self._context.run
        kept = await model_answers.find(database, run, _WAITS)
        waited = ContractWait(since=now) if kept is None else ContractWait.model_validate(kept)
        if now - waited.since >= LONGEST_WAIT:
            return True
        again = waited.model_copy(update={"times": waited.times + 1})
        await model_answers.keep(database, run, _WAITS, again.model_dump(mode="json"), now)
        check = waits.ScheduledCheck(run.id, waits.CheckCause.contracts, waited.times)
        await waits.schedule(database, check, now + LEASE)
        return False

    async def _wake_others(self) -> None:
        database, run = self._context.database, self._context.run
        ended = await runs.get(database, run.id)
        if ended is not None and ended.state.is_final:
            scheduled = await waits.list_checked_runs(database, run.repository.id)
            waiting = [each.id for each in scheduled if each.is_of_issue or each.trigger is Trigger.instruction]
            await waits.run_checks_now(database, waiting, self._context.now())

    async def _load_newest(self) -> TakenContracts:
        run = self._context.run
        newest = await contract_leases.load_newest_tokens(self._context.database, run.repository.id)
        return TakenContracts(tokens=newest)
