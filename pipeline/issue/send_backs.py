"""Keeps how often, and why, the change of an issue's run was sent back."""

from dataclasses import dataclass

from domain.gates import BUDGET_GATES
from domain.runs.next_step import SendBack
from memory.gates import gates
from memory.runs import checkpoints
from pipeline.gates.ask import show_gates
from pipeline.run_context import RunContext


@dataclass(frozen=True)
class SendBacks:
    """The send-backs of one run."""

    context: RunContext

    async def load(self) -> list[SendBack]:
        return await self.context.journal.step("what was sent back", self._load)

    async def add(self, sent_back: SendBack, count: int) -> None:
        """:param count: how many there were before."""
        await self.context.journal.step("send it back", self._add, sent_back, count)

    async def _load(self) -> list[SendBack]:
        return [*await checkpoints.load_send_backs(self.context.database, self.context.run)]

    async def _add(self, sent_back: SendBack, count: int) -> None:
        """The gates of the old head become void; those of the budget have no head."""
        database, run, now = self.context.database, self.context.run, self.context.now()
        keep = [gate.id for gate in await gates.list_for_run(database, run.id) if gate.name in BUDGET_GATES]
        if await gates.void(database, run.id, keep, "settled", now):
            await show_gates(self.context.services, run)
        await checkpoints.save_send_back(database, run, sent_back, count, now)
