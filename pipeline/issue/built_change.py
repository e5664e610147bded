"""What the implementation of a plan has made so far."""

from dataclasses import dataclass

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

    :param head: the last commit; the base if nothing changed.
    :param earlier: the commits before it.
    :param whole: everything that changed since the base.
    :param fixes: one for each time the change was sent back.
    :param ended: why not all tasks were done, if so.
    """

    head: str
    earlier: tuple[str, ...] = ()
    whole: ChangeSet = NO_CHANGES
    finished: tuple[FinishedTask, ...] = ()
    fixes: tuple[Worked, ...] = ()
    ended: RunEnd | None = None

    @property
    def tests_added(self) -> tuple[str, ...]:
        """Paths of test files that were added or changed."""
        return tuple(file.path for file in self.whole.files if file.after is not None and is_test(file.path))

    @property
    def last_answer(self) -> str:
        """What the agent of the last commit answered; empty if there is none."""
        worked = [*(each.worked for each in self.finished), *self.fixes]
        return worked[-1].summary if worked else ""
