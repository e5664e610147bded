"""Takes the contracts that a plan changes for its run, so that no other run changes them at the same time."""

from collections.abc import Mapping, Sequence
from functools import partial

from pydantic import BaseModel, JsonValue

from domain import plan_texts
from domain.contracts import CONTRACTS, Holding
from domain.patches import ContractLock
from domain.runs import ReasonCode, Run, RunState
from memory import answers, leases
from pipeline.journal import WorkflowJournal
from pipeline.planning import Ended
from pipeline.services import Services
from pipeline.status import IssueStatus

_TOKENS = "contracts it holds"  # what is kept of a run that took its contracts


class Taken(BaseModel):
    """What became of taking contracts: all of them, or none.

    :param tokens: contract → fencing token.
    :param held: those that other runs hold.
    :param lost: those that went to another run after this one had taken them.
    """

    tokens: dict[str, int] = {}
    held: tuple[Holding, ...] = ()
    lost: tuple[str, ...] = ()


class Locks:
    """The locks on contracts that one run holds or asks for."""

    def __init__(self, services: Services, journal: WorkflowJournal, run: Run) -> None:
        self._services = services
        self._journal = journal
        self._run = run
        self._status = IssueStatus(services, run)
        self._tokens: Mapping[str, int] = {}

    async def take(self, contracts: Sequence[str]) -> Ended | None:
        """Take all of these contracts, or renew what was taken before; how the run ends if that cannot be.

        :param contracts: their names.
        """
        if not contracts:
            return None
        taken = Taken.model_validate(await self._journal.step("take contracts", partial(self._take, contracts)))
        self._tokens = taken.tokens
        spent = await self._status.spent()
        if taken.lost:
            return Ended(RunState.failed, ReasonCode.error, plan_texts.contracts_lost(taken.lost, spent=spent))
        if taken.held:
            return Ended(RunState.failed, ReasonCode.error, plan_texts.contracts_held(taken.held, spent=spent))
        return None

    async def known(self) -> dict[str, ContractLock]:
        """Every contract with the run's lock on it as it is at this moment."""
        newest: Mapping[str, int] = {}
        if self._tokens:
            newest = Taken.model_validate(await self._journal.step("whose contracts they are", self._newest)).tokens
        return {
            name: ContractLock(globs, self._tokens.get(name), newest.get(name)) for name, globs in CONTRACTS.items()
        }

    # --- steps -------------------------------------------------------------------------------------------------

    async def _take(self, contracts: Sequence[str]) -> JsonValue:
        return (await self._taken(contracts)).model_dump(mode="json")

    async def _taken(self, contracts: Sequence[str]) -> Taken:
        """What was taken once is never taken anew: between two leases another run may have changed the contract."""
        database, run, now = self._services.database, self._run, self._services.clock.now()
        kept = await answers.find(database, run, _TOKENS)
        if kept is not None:
            tokens = Taken.model_validate(kept).tokens
            return Taken(tokens=tokens, lost=await leases.renew(database, run.repository.id, tokens, run.id, now))
        acquired = await leases.acquire(database, run.repository.id, contracts, run.id, now)
        taken = Taken(tokens=dict(acquired.tokens), held=await leases.holdings(database, acquired.held))
        if acquired.is_ours:
            await answers.keep(database, run, _TOKENS, taken.model_dump(mode="json"), now)
        return taken

    async def _newest(self) -> JsonValue:
        newest = await leases.newest(self._services.database, self._run.repository.id)
        return Taken(tokens=newest).model_dump(mode="json")
