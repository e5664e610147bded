"""The implementation phase of an issue's run: each task of the plan becomes a commit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agents.coding.implementer import DoneTask, ImplementationTask, TriedFix
from agents.llm.models import ModelTier, Unusable
from domain.review.reading import NO_CONVENTIONS, Conventions
from domain.runs.next_step import SendBack
from domain.runs.patches import Worked
from domain.runs.plan import TaskId, sort_tasks
from domain.runs.run import Phase
from messages import pull_request as pull_request_texts
from pipeline.durable.steps import run_outside_journal
from pipeline.issue.attempts import Attempts
from pipeline.issue.built_change import BuiltChange, FinishedTask
from pipeline.issue.coding.work_item import WorkItem
from pipeline.issue.draft_commits import DraftCommits
from pipeline.issue.issue_input import load_conventions
from pipeline.issue.run_end import RunEnd, end_without_model
from pipeline.run_context import RunContext
from safety.guards import TaskKind


@dataclass(frozen=True)
class Implementation:
    """The implementation of one plan."""

    context: RunContext
    commits: DraftCommits

    @property
    def _attempts(self) -> Attempts:
        return Attempts(self.context, self.commits.planned.configuration)

    async def build(self) -> BuiltChange:
        """Work on one task after the other. If one fails, those before it count."""
        built = BuiltChange(self.context.run.base_sha)
        for task in sort_tasks(self.commits.planned.plan.plan):
            message = pull_request_texts.render_commit_message(task, self.context.run.id)
            work = await self._build_task(task.id, built, task.files)
            item = WorkItem(f"implement {task.id}", work, message, built=built.all)
            built, worked = await self._add_commit(built, item)
            if worked is None:
                break
            built = replace(built, finished=(*built.finished, FinishedTask(task, worked)))
        return built

    async def fix(self, built: BuiltChange, sent_back: SendBack, earlier: Sequence[SendBack]) -> BuiltChange:
        """Fix what a review or a test found, in one more commit.

        :param earlier: the send-backs before, each of which ``built`` has a fix for.
        """
        tried = _list_tried(earlier, built.fixes)
        paths = [each.path for each in sent_back.to_fix if each.path]
        task = await self._build_task(None, built, paths)
        task = task.model_copy(update={"to_fix": sent_back.to_fix, "tried": tried})
        message = pull_request_texts.render_fix_message(sent_back, self.context.run.id)
        kind = TaskKind.tests if sent_back.phase is Phase.testing else TaskKind.implementation
        item = WorkItem(f"mend {len(built.fixes) + 1}", task, message, kind, built=built.all)
        item = replace(item, sent_back=sent_back, said_before=built.last_answer)
        built, worked = await self._add_commit(built, item)
        return built if worked is None else replace(built, fixes=(*built.fixes, worked))

    async def _add_commit(self, built: BuiltChange, item: WorkItem) -> tuple[BuiltChange, Worked | None]:
        """One more piece on top; None if the agent did not finish it."""
        model = self.context.services.models.choose(ModelTier.strong)
        if isinstance(model, Unusable):
            return replace(built, ended=end_without_model(model.reason)), None
        base = await self.commits.prepare(built.tip)
        carried = await self._attempts.carry_out(base, item, model)
        if isinstance(carried, RunEnd):
            return replace(built, ended=carried), None
        return await self.commits.commit(built, base, carried.draft, item.message), carried.worked

    async def _build_task(self, task: TaskId | None, built: BuiltChange, paths: Sequence[str]) -> ImplementationTask:
        """:param paths: files that it is about, as far as they are known."""
        planned, granted = self.commits.planned, self.commits.granted
        return ImplementationTask(
            plan=planned.plan.plan,
            task=task,
            done=tuple(DoneTask(id=each.task.id, summary=each.worked.summary) for each in built.finished),
            protected=(*granted.refused, *planned.configuration.off_limits_to_agents),
            granted=granted.paths,
            baseline=planned.baseline,
            conventions=await self._load_conventions(paths),
        )

    async def _load_conventions(self, paths: Sequence[str]) -> Conventions:
        """Those for some files; none where the planner had none, whose run began under a version before."""
        planned = self.commits.planned
        if planned.input.task.conventions is None:
            return NO_CONVENTIONS
        at = planned.input.conventions_at
        return await run_outside_journal(load_conventions, self.context, planned.configuration, paths, at)


def _list_tried(send_backs: Sequence[SendBack], fixes: Sequence[Worked]) -> tuple[TriedFix, ...]:
    pairs = zip(send_backs, fixes, strict=False)
    return tuple(TriedFix(to_fix=sent_back.to_fix, answer=worked.summary) for sent_back, worked in pairs)
