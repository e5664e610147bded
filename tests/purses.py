"""A purse without a database, for tests that are not about the books."""

from dataclasses import dataclass, field

from domain.money import CallOutcome, Limits, Receipt, Refusal, Reservation, Totals
from domain.runs.run import Phase
from safety.call_admission import find_refusal


@dataclass
class OpenPurse:
    """Gives whatever is asked for until four fifths of ``money`` micro-USD are spent or reserved."""

    money: int = 10**12
    open: dict[str, Reservation] = field(default_factory=dict[str, Reservation])
    receipts: list[Receipt] = field(default_factory=list[Receipt])
    reserved: list[int] = field(default_factory=list[int])
    charged: int = 0

    async def reserve(self, step: str, model: str, amount: int) -> Reservation | Refusal:
        del step, model
        held = self.charged + sum(each.amount for each in self.open.values())
        refused = find_refusal(amount, Totals(phase=held), Limits(phase={Phase.review: self.money}), Phase.review)
        if refused is not None:
            return refused
        reservation = Reservation(id=str(len(self.reserved)), amount=amount)
        self.reserved.append(amount)
        self.open[reservation.id] = reservation
        return reservation

    async def settle(self, reservation: Reservation, receipt: Receipt) -> int:
        self.open.pop(reservation.id)
        self.receipts.append(receipt)
        in_full = receipt.amount is None or receipt.outcome is CallOutcome.lost
        cost = reservation.amount if in_full or receipt.amount is None else receipt.amount
        self.charged += cost
        return cost
