"""What the implementation of a plan has made so far."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from domain.paths import is_test
from domain.runs.patches import NO_CHANGES, ChangeSet
from domain.runs.plan import Task
from domain.runs.task_result import Worked
from pipeline.issue.run_end import RunEnd


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
    :param whole: everything that changed since the base.
    :param fixes: one for each time the change was sent back.
    :param ended: why not all tasks were done, if so.
    """

    tip: str
    before: tuple[str, ...] = ()
    signed: Mapping[str, str] = field(default_factory=dict[str, str])
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
    def tests_added(self) -> tuple[str, ...]:
        """Paths of test files that were added or changed."""
        return tuple(file.path for file in self.whole.files if file.after is not None and is_test(file.path))

    @property
    def last_answer(self) -> str:
        """What the agent of the last commit answered; empty if there is none."""
        worked = [*(each.worked for each in self.finished), *self.fixes]
        return worked[-1].summary if worked else ""
