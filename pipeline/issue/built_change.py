"""What the implementation of a plan has made so far, and how often and why it was sent back."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from domain.gates import BUDGET_GATES
from domain.paths import is_test
from domain.runs.next_step import SendBack
from domain.runs.patches import NO_CHANGES, ChangeSet
from domain.runs.plan import Task
from domain.runs.task_result import Worked
from memory import gates
from memory.runs import checkpoints
from pipeline.gates.ask import show_gates
from pipeline.issue.run_end import RunEnd
from pipeline.run_context import RunContext


@dataclass(frozen=True)
class FinishedTask:
    """A task that an agent finished."""

    task: Task
    worked: Worked


@dataclass(frozen=True)
class BuiltChange:
    """The commits made for a plan.

    :param tip: the last commit as Forge made it, on which it goes on; the base if nothing changed.
    :param before: the commits before it, as Forge made them.
    :param signed: commit as Forge made it → as GitHub signed it, of those that were pushed.
    :param given: what the commits changed that no agent made, such as the fixes that linters know.
    :param whole: everything else that changed since the base.
    :param fixes: one for each time the change was sent back.
    :param ended: why not all tasks were done, if so.
    """

    tip: str
    before: tuple[str, ...] = ()
    signed: Mapping[str, str] = field(default_factory=dict[str, str])
    given: ChangeSet = NO_CHANGES
    whole: ChangeSet = NO_CHANGES
    finished: tuple[FinishedTask, ...] = ()
    fixes: tuple[Worked, ...] = ()
    ended: RunEnd | None = None

    @property
    def head(self) -> str:
        """The last commit as GitHub knows it."""
        return self.signed.get(self.tip, self.tip)

    @property
    def earlier(self) -> tuple[str, ...]:
        """The commits before it as GitHub knows them."""
        return tuple(self.signed.get(each, each) for each in self.before)

    @property
    def all(self) -> ChangeSet:
        """Everything that changed since the base."""
        return self.given.then(self.whole)

    @property
    def tests_added(self) -> tuple[str, ...]:
        """Paths of test files that were added or changed."""
        return tuple(file.path for file in self.whole.files if file.after is not None and is_test(file.path))

    @property
    def last_answer(self) -> str:
        """What the agent of the last commit answered; empty if there is none."""
        worked = [*(each.worked for each in self.finished), *self.fixes]
        return worked[-1].summary if worked else ""


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
