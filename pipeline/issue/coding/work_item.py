"""A piece of work for an agent, whichever attempt it is."""

from dataclasses import dataclass, replace

from agents.coding.implementer import ImplementationTask
from agents.coding.recovery import RecoveryTask
from domain.runs.next_step import SendBack
from domain.runs.patches import NO_CHANGES, ChangeSet
from domain.runs.task_result import RequiredFix
from safety.guards import TaskKind


@dataclass(frozen=True)
class WorkItem:
    """A piece of work that becomes one commit.

    :param key: names it in the journal.
    :param message: of the commit.
    :param first_key: of the first attempt, if this is a later one.
    :param built: what the pieces before it changed.
    :param sent_back: what it is to mend, if a review or the tests sent the change back.
    :param said_before: what the agent answered whose change was sent back.
    :param left: what the attempt before left in the draft, from which a recovery goes on.
    """

    key: str
    task: ImplementationTask
    message: str
    kind: TaskKind = TaskKind.implementation
    first_key: str = ""
    built: ChangeSet = NO_CHANGES
    sent_back: SendBack | None = None
    said_before: str = ""
    left: ChangeSet = NO_CHANGES

    @property
    def work(self) -> str:
        """Names the piece of work, whichever attempt it is."""
        return self.first_key or self.key

    def with_retry(self, attempts: int, why: str) -> "WorkItem":
        """The same piece after failed attempts.

        :param why: the last one failed, one or two sentences.
        """
        failed = RequiredFix(path="", rule=f"attempt {attempts}", message=why)
        task = self.task.model_copy(update={"to_fix": (*self.task.to_fix, failed)})
        return replace(self, key=f"again {attempts} {self.key}", task=task, first_key=self.work)

    def with_recovery(self, number: int, recovery: RecoveryTask, left: ChangeSet) -> "WorkItem":
        """The same piece after a failure was hidden in it.

        :param number: of the attempt to recover, from 1.
        :param left: what the attempt before left in the draft.
        """
        task = self.task.model_copy(update={"recovery": recovery})
        return replace(self, key=f"recovery {number} of {self.key}", task=task, first_key=self.work, left=left)
