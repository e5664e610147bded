"""The implementation phase of an issue's run: each task of the plan becomes a commit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

from agents.coding.implementer import DoneTask, ImplementationTask, TriedFix
from agents.llm.models import LanguageModel, ModelTier, Unusable
from agents.loop.loop import Done, Stopped, Stuck
from domain.runs.next_step import SendBack
from domain.runs.plan import TaskId, sort_tasks
from domain.runs.run import Phase
from domain.runs.task_result import Worked
from messages import pull_request as pull_request_texts
from pipeline.issue.built_change import BuiltChange, FinishedTask
from pipeline.issue.coding.external_agent import ExternalAgent
from pipeline.issue.coding.interactive_agent import InteractiveAgent
from pipeline.issue.coding.own_agent import CodingAgent, WorkItem
from pipeline.issue.draft_commits import DraftBase, DraftCommits
from pipeline.issue.help_needed import HelpGate
from pipeline.issue.run_end import end_unfinished, end_without_model
from pipeline.run_context import RunContext
from safety.guards import TaskKind
from workspace.draft import Draft


@dataclass(frozen=True)
class Implementation:
    """The implementation of one plan."""

    context: RunContext
    commits: DraftCommits

    @cached_property
    def _agent(self) -> CodingAgent | ExternalAgent | InteractiveAgent:
        configuration = self.commits.planned.configuration
        has_other = configuration.agents.implementer.command is not None
        if (self.context.run.mode or configuration.execution.mode) == "deterministic":
            return CodingAgent(self.context, configuration)
        return (ExternalAgent if has_other else InteractiveAgent)(self.context, configuration)

    @cached_property
    def _help(self) -> HelpGate:
        return HelpGate(self.context, self.commits.planned.configuration)

    async def build(self) -> BuiltChange:
        """Work on one task after the other. If one fails, those before it count."""
        built = BuiltChange(self.context.run.base_sha)
        for task in sort_tasks(self.commits.planned.plan.plan):
            message = pull_request_texts.render_commit_message(task, self.context.run.id)
            item = WorkItem(f"implement {task.id}", self._build_task(task.id, built), message)
            built, worked = await self._add_commit(built, item)
            if worked is None:
                break
            built = replace(built, finished=(*built.finished, FinishedTask(task, worked)))
        return built

    async def fix(self, built: BuiltChange, sent_back: SendBack, earlier: Sequence[SendBack]) -> BuiltChange:
        """Fix what a review or a test found, in one more commit.

        :param earlier: the send-backs before, each of which ``built`` has a fix for.
        """
        tried = _list_tried(earlier, built.fixes) if sent_back.recalls else ()
        task = self._build_task(None, built).model_copy(update={"to_fix": sent_back.to_fix, "tried": tried})
        message = pull_request_texts.render_fix_message(sent_back, self.context.run.id)
        kind = TaskKind.tests if sent_back.phase is Phase.testing else TaskKind.implementation
        built, worked = await self._add_commit(built, WorkItem(f"mend {len(built.fixes) + 1}", task, message, kind))
        return built if worked is None else replace(built, fixes=(*built.fixes, worked))

    async def _add_commit(self, built: BuiltChange, item: WorkItem) -> tuple[BuiltChange, Worked | None]:
        """One more piece on top; None if the agent did not finish it."""
        model = self.context.services.models.choose(ModelTier.strong)
        if isinstance(model, Unusable):
            return replace(built, ended=end_without_model(model.reason)), None
        base = await self.commits.prepare(built.head)
        draft, done = await self._attempt(base, item, model)
        while isinstance(done, Done) and not await self._take(item, draft, done.value):
            draft, done = await self._attempt(base, item, model)
        if not isinstance(done, Done):
            return replace(built, ended=await end_unfinished(self.context, done)), None
        return await self.commits.commit(built, base, draft, item.message), done.value

    async def _attempt(
        self, base: DraftBase, item: WorkItem, model: LanguageModel
    ) -> tuple[Draft, Done[Worked] | Stuck | Stopped]:
        """What an agent made of a piece, as often as people let it try."""
        draft = base.new_draft()
        done = await self._agent.work(item, draft, model)
        for attempt in count(1):
            why = await self._find_reason_to_retry(item, attempt, done)
            if not why:
                break
            draft = base.new_draft()
            done = await self._agent.work(item.with_retry(attempt, why), draft, model)
        return draft, done

    async def _take(self, item: WorkItem, draft: Draft, worked: Worked) -> bool:
        """Whether the work may be committed; not if somebody took it back at the last moment."""
        return not isinstance(self._agent, ExternalAgent) or await self._agent.take(item, draft, worked.summary)

    async def _find_reason_to_retry(self, item: WorkItem, attempt: int, done: Done[Worked] | Stuck | Stopped) -> str:
        """Why a person lets the agent try once more; empty if it is done, or nobody does.

        A fix that leaves something is no such reason: the next review or test tells.
        """
        match done:
            case Stuck(why) if await self._help.may_retry(item.key, attempt, why):
                return f"It came to nothing: {why}"
            case Done(Worked(is_done=False, not_done=left)) if item.task.mine is not None:
                may_finish = await self._help.may_finish(item.key, attempt, item.task.mine, left)
                kept = "" if isinstance(self._agent, ExternalAgent) else ", and nothing of it was kept"
                return f"It left this undone{kept}: {left}" if may_finish else ""
            case _:
                return ""

    def _build_task(self, task: TaskId | None, built: BuiltChange) -> ImplementationTask:
        planned, granted = self.commits.planned, self.commits.granted
        return ImplementationTask(
            plan=planned.plan.plan,
            task=task,
            done=tuple(DoneTask(id=each.task.id, summary=each.worked.summary) for each in built.finished),
            protected=(*planned.configuration.paths.protected, *granted.refused),
            granted=granted.paths,
            baseline=planned.baseline,
        )


def _list_tried(send_backs: Sequence[SendBack], fixes: Sequence[Worked]) -> tuple[TriedFix, ...]:
    pairs = zip(send_backs, fixes, strict=False)
    return tuple(TriedFix(to_fix=sent_back.to_fix, answer=worked.summary) for sent_back, worked in pairs)
