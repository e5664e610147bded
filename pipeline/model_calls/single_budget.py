"""The money and the calls of one review without a database: counted in this process, and gone with it."""

from domain.config.configuration import Configuration
from domain.money import CallOutcome, Receipt, Refusal, Reservation, Totals
from domain.ports import ModelBudget
from domain.runs.run import Phase
from domain.value import new_id
from safety.breakers import check_iterations
from safety.call_admission import find_refusal, limits_of


class SingleBudget(ModelBudget):
    """Allows what the repository's configuration allows the review of one run.

    :param configuration: ``budgets`` and ``breakers.iteration`` count.
    """

    def __init__(self, configuration: Configuration) -> None:
        self._limits = limits_of(configuration.budgets)
        self._iterations = configuration.breakers.iteration
        self._calls = 0
        self._charged = 0
        self._held = 0

    async def reserve(self, step: str, model: str, amount: int) -> Reservation | Refusal:
        check = check_iterations(self._calls, Phase.review, self._iterations, granted=0)
        if check.should_break:
            return Refusal(check=check)
        spent = self._charged + self._held
        refused = find_refusal(amount, Totals(phase=spent, run=spent, day=spent), self._limits, Phase.review)
        if refused is not None:
            return refused
        self._calls += 1
        self._held += amount
        return Reservation(id=new_id(), amount=amount)

    async def settle(self, reservation: Reservation, receipt: Receipt) -> int:
        known = None if receipt.outcome is CallOutcome.lost else receipt.amount
        charged = reservation.amount if known is None else known
        self._held -= reservation.amount
        self._charged += charged
        return charged
