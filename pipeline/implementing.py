"""The second phase of an issue's run: each task of the plan becomes a commit, made of diffs judged one by one."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from agents import implementer
from agents.implementer import DoneTask, ImplementationTask, OnDraft
from agents.loop import Agent, Done, Stopped, Stuck, work
from agents.models import LanguageModel, Unusable
from agents.models import Task as Strength
from agents.tools.patching import patching
from agents.tools.reading import reading
from agents.turns import Assignment
from domain import plan_texts, proposal_texts
from domain.errors import ForgeError
from domain.patches import Areas, ChangeSet, blocking
from domain.plan import Task, Weighed, in_order
from domain.ports import Signature
from domain.redaction import outgoing
from domain.runs import Phase, ReasonCode, Run, RunState
from domain.work import Worked, mistakes
from memory import runs
from pipeline.agent_steps import AgentSteps
from pipeline.drawing import mirror_of
from pipeline.journal import WorkflowJournal
from pipeline.paying import Paying
from pipeline.planning import Begun, Ended, not_finished
from pipeline.services import Services
from pipeline.status import IssueStatus
from pipeline.steps import surely
from workspace.bases import of_commit
from workspace.draft import Draft
from workspace.mirror import Mirror
from workspace.validate import validate


@dataclass(frozen=True)
class Finished:
    """A task an agent was through with."""

    task: Task
    worked: Worked


@dataclass(frozen=True)
class Built:
    """What came of a plan.

    :param head: the last commit; the base where nothing changed.
    :param ended: why not every task was worked on, if that is so.
    """

    head: str
    finished: tuple[Finished, ...]
    ended: Ended | None = None


class Implementing:
    """The implementation of one plan.

    Commits are made of what the journal holds, so on another machine, or after a crash, they are made again as they
    were, and need no step of their own.
    """

    def __init__(
        self,
        services: Services,
        journal: WorkflowJournal,
        run: Run,
        begun: Begun,
        plan: Weighed,
    ) -> None:
        self._services = services
        self._journal = journal
        self._run = run
        self._configuration = begun.configuration
        self._plan = plan.plan
        self._status = IssueStatus(services, run)

    async def carry_out(self) -> Built:
        """Work on one task after the other; what was finished counts, also where the rest was not."""
        model = self._services.models.choose(Strength.strong)
        if isinstance(model, Unusable):
            ended = Ended(RunState.failed, ReasonCode.error, plan_texts.no_model(model.reason))
            return Built(self._run.base_sha, (), ended)
        mirror = await surely(lambda: mirror_of(self._services, self._run))
        author = Signature.model_validate(await self._journal.step("who commits", self._author))
        head, whole, finished = self._run.base_sha, ChangeSet(files=()), list[Finished]()
        for task in in_order(self._plan):
            draft = Draft(mirror, head, self._areas)
            ended = await self._work(task, draft, finished, model)
            if not isinstance(ended, Done):
                return Built(head, tuple(finished), await not_finished(self._status, ended))
            change = await draft.change()
            whole = whole.then(change)
            await self._require_allowed(mirror, whole)
            head = await self._committed(task, mirror, author, draft.base, change)
            finished.append(Finished(task, ended.value))
        return Built(head, tuple(finished))

    async def _work(
        self, task: Task, draft: Draft, finished: Sequence[Finished], model: LanguageModel
    ) -> Done[Worked] | Stuck | Stopped:
        """Let the implementer work on one task."""
        never = self._configuration.review.never_send
        tools = (*reading(draft.snapshot, never_send=never, redact=outgoing), patching(draft, redact=outgoing))
        assignment = Assignment(
            key=f"implement {task.id}",
            instructions=implementer.instructions(),
            content=implementer.content(self._told(task, finished), outgoing),
        )
        phase, scope = Phase.implementation, f"{assignment.key} "
        paying = Paying(self._services, self._journal, self._run, phase, self._configuration, scope)
        steps = AgentSteps(self._services, self._journal, self._run, phase, paying, assignment, Worked, tools, model)
        return await work(Agent(Worked, tools, mistakes), OnDraft(steps, draft))

    def _told(self, task: Task, finished: Sequence[Finished]) -> ImplementationTask:
        return ImplementationTask(
            plan=self._plan,
            task=task.id,
            done=tuple(DoneTask(id=each.task.id, summary=each.worked.summary) for each in finished),
            protected=self._configuration.paths.protected,
        )

    async def _require_allowed(self, mirror: Mirror, whole: ChangeSet) -> None:
        """That all tasks together may be pushed, although each might be by itself: they are too much, say.

        :raises ForgeError: they may not.
        """
        tree = await of_commit(mirror, self._run.base_sha, ())
        wrong = blocking(validate(whole, self._areas, tree))
        if wrong:
            raise ForgeError(f"The change as a whole may not be pushed: {wrong[0]}", "Ask for less in one issue.")

    async def _author(self) -> JsonValue:
        return (await self._services.host.signature(self._run.repository)).model_dump(mode="json")

    async def _committed(self, task: Task, mirror: Mirror, author: Signature, base: str, change: ChangeSet) -> str:
        """The commit of a task; the one before, if it changed nothing."""
        if not change.files:
            return base
        began = await runs.began(self._services.database, self._run.id)
        message = proposal_texts.commit_message(task, self._run.id)
        return await mirror.commit_change(base, change, message, author, began or self._services.clock.now())

    @property
    def _areas(self) -> Areas:
        """Where the plan and the repository let agents change files: none that they may not read, and no contracts."""
        paths = self._configuration.paths
        return Areas(
            role="implementer",
            allowed=self._plan.allowed_areas,
            forbidden=(*self._plan.forbidden_areas, *self._configuration.review.never_send),
            protected=paths.protected,
            rules=paths.rules,
        )
