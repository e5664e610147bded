"""Takes the contracts that a plan changes for its run, so that no other run changes them at the same time."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial

import structlog
from pydantic import BaseModel, JsonValue

from domain.errors import ForgeError
from domain.gates import digest
from domain.runs.contracts import CONTRACTS, LEASE, LONGEST_WAIT, HeldContract
from domain.runs.patches import ContractLock
from domain.runs.run import ReasonCode, Run, RunState
from memory.budgets import model_answers
from memory.runs import contract_leases, runs, scheduled_checks
from messages import plan as plan_texts
from messages.plan import StepState
from messages.pull_request import Progress
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.issue.planning import RunEnd
from pipeline.publishing.issue_comment import IssueStatus
from pipeline.runs.lifecycle import answer_nothing

log = structlog.get_logger(__name__)

_TOKENS, _WAITS = "contracts it holds", "contracts it waits for"  # what is kept of a run
_RENEWAL_SECONDS = LEASE.total_seconds() / 5  # between two renewals
_FIRST_CHECK_NUMBER = 1_000  # from here on looks at contracts are counted; those at a pull request stay far below


class TakenContracts(BaseModel):
    """What became of taking contracts: all of them, or none.

    :param tokens: contract → fencing token.
    :param held: those that other runs hold.
    :param lost: those that went to another run after this one had taken them.
    :param is_late: it waited for them for as long as a run waits.
    """

    tokens: dict[str, int] = {}
    held: tuple[HeldContract, ...] = ()
    lost: tuple[str, ...] = ()
    is_late: bool = False


class ContractWait(BaseModel):
    """How a run waits for contracts.

    :param since: when it asked first.
    :param times: how often it asked.
    """

    since: datetime
    times: int = 0


class ContractLocks:
    """The locks on contracts that one run holds or asks for."""

    def __init__(self, services: Services, journal: WorkflowJournal, run: Run) -> None:
        self._services = services
        self._journal = journal
        self._run = run
        self._status = IssueStatus(services, run)
        self._tokens: Mapping[str, int] = {}

    async def take(self, contracts: Sequence[str]) -> Sequence[HeldContract] | RunEnd:
        """Take all of these contracts, or renew what was taken before.

        :param contracts: their names.
        :returns: none, or those that other runs hold: then this one asks again in a while; or how the run ends.
        """
        if not contracts:
            return ()
        taken = TakenContracts.model_validate(
            await self._journal.step("take contracts", partial(self._take, contracts))
        )
        self._tokens = taken.tokens
        spent = await self._status.load_cost()
        if taken.lost:
            return RunEnd(RunState.failed, ReasonCode.contract, plan_texts.contracts_lost(taken.lost, spent=spent))
        if taken.is_late:
            return RunEnd(RunState.failed, ReasonCode.contract, plan_texts.contracts_held(taken.held, spent=spent))
        return taken.held

    async def show_holders(self, held: Sequence[HeldContract], progress: Progress) -> None:
        """Say in the run's comment for whom it waits.

        :param progress: as it will be then.
        """
        shown = await self._status.render_progress(replace(progress, implementation=StepState.next))
        text = f"{shown}\n\n{plan_texts.waits_for_contracts(held)}"
        step = f"waits for contracts {digest(*held)}"
        await self._journal.step("say what it waits for", lambda: answer_nothing(self._status.show(step, text)))

    @asynccontextmanager
    async def keep_renewed(self) -> AsyncGenerator[None]:
        """Around the work under these locks: they last for as long as this process goes on."""
        beating = asyncio.create_task(self._renew_leases())
        try:
            yield
        finally:
            beating.cancel()
            await asyncio.gather(beating, return_exceptions=True)

    async def wake_waiting_runs(self) -> None:
        """If the run is over, let those ask at once who wait for its contracts."""
        if self._tokens:
            await self._journal.step("let others take the contracts", self._wake_others)

    async def _renew_leases(self) -> None:
        """Renew the leases again and again. That it fails shows before the push at the latest."""
        while self._tokens:
            database, run, now = self._services.database, self._run, self._services.clock.now()
            try:
                await contract_leases.renew(database, run.repository.id, self._tokens, run.id, now)
            except ForgeError as error:
                log.warning("contracts.not_renewed", run=run.id, error=str(error))
            await asyncio.sleep(_RENEWAL_SECONDS)

    async def load_locks(self) -> dict[str, ContractLock]:
        """Every contract with the run's lock on it as it is at this moment."""
        newest: Mapping[str, int] = {}
        if self._tokens:
            newest = TakenContracts.model_validate(
                await self._journal.step("whose contracts they are", self._load_newest)
            ).tokens
        return {
            name: ContractLock(globs, self._tokens.get(name), newest.get(name)) for name, globs in CONTRACTS.items()
        }

    async def require_held(self) -> None:
        """That every contract taken is still this run's, right before something is pushed under it.

        :raises ForgeError: another run took one meanwhile.
        """
        database, run, now = self._services.database, self._run, self._services.clock.now()
        lost = (
            await contract_leases.renew(database, run.repository.id, self._tokens, run.id, now) if self._tokens else ()
        )
        if lost:
            raise ForgeError(*plan_texts.contracts_gone(lost))

    # --- steps -------------------------------------------------------------------------------------------------

    async def _take(self, contracts: Sequence[str]) -> JsonValue:
        return (await self._acquire(contracts)).model_dump(mode="json")

    async def _acquire(self, contracts: Sequence[str]) -> TakenContracts:
        """What was taken once is never taken anew: between two leases another run may have changed the contract."""
        database, run, now = self._services.database, self._run, self._services.clock.now()
        kept = await model_answers.find(database, run, _TOKENS)
        if kept is not None:
            tokens = TakenContracts.model_validate(kept).tokens
            return TakenContracts(
                tokens=tokens, lost=await contract_leases.renew(database, run.repository.id, tokens, run.id, now)
            )
        acquired = await contract_leases.acquire(database, run.repository.id, contracts, run.id, now)
        taken = TakenContracts(
            tokens=dict(acquired.tokens), held=await contract_leases.load_holdings(database, acquired.held)
        )
        if acquired.is_ours:
            await model_answers.keep(database, run, _TOKENS, taken.model_dump(mode="json"), now)
            return taken
        return taken.model_copy(update={"is_late": await self._is_late(now)})

    async def _is_late(self, now: datetime) -> bool:
        """Whether the run waited long enough; if not, it asks again in a while."""
        database, run = self._services.database, self._run
        kept = await model_answers.find(database, run, _WAITS)
        waited = ContractWait(since=now) if kept is None else ContractWait.model_validate(kept)
        if now - waited.since >= LONGEST_WAIT:
            return True
        again = waited.model_copy(update={"times": waited.times + 1})
        await model_answers.keep(database, run, _WAITS, again.model_dump(mode="json"), now)
        await scheduled_checks.schedule(database, run.id, _FIRST_CHECK_NUMBER + waited.times, now + LEASE)
        return False

    async def _wake_others(self) -> JsonValue:
        database, run = self._services.database, self._run
        ended = await runs.get(database, run.id)
        if ended is not None and ended.state.is_final:
            waiting = [
                each
                for each in await scheduled_checks.list_for_repository(database, run.repository.id)
                if each.is_of_issue
            ]
            await scheduled_checks.run_now(database, [each.id for each in waiting], self._services.clock.now())
        return None

    async def _load_newest(self) -> JsonValue:
        newest = await contract_leases.load_newest_tokens(self._services.database, self._run.repository.id)
        return TakenContracts(tokens=newest).model_dump(mode="json")
