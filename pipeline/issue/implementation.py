"""The implementation phase of an issue's run: agents try each task of the plan until it becomes a commit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count

from agents.coding.implementer import DoneTask, ImplementationTask, TriedFix
from agents.llm.models import LanguageModel, ModelTier, Unusable
from agents.loop.loop import Done, Stopped, Stuck
from domain.config.configuration import Configuration
from domain.runs.next_step import SendBack
from domain.runs.patches import Worked
from domain.runs.plan import TaskId, sort_tasks
from domain.runs.recovery import AgentMake
from domain.runs.run import Phase
from messages import pull_request as pull_request_texts
from pipeline.durable.journal import run_outside_journal
from pipeline.issue.coding.external_agent import ExternalAgent
from pipeline.issue.coding.own_agent import work_alone, work_with_commands
from pipeline.issue.coding.work_item import WorkItem
from pipeline.issue.draft_commits import BuiltChange, DraftBase, DraftCommits, FinishedTask
from pipeline.issue.help_needed import HelpGate
from pipeline.issue.issue_input import load_conventions
from pipeline.issue.recovery import Recoveries
from pipeline.issue.status_comment import RunEnd, end_unfinished, end_without_model
from pipeline.run_context import RunContext
from safety.guards import TaskKind
from workspace.draft import Draft


@dataclass(frozen=True)
class Implementation:
    """The implementation of one plan."""

    context: RunContext
    commits: DraftCommits

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
        pairs = zip(earlier, built.fixes, strict=False)
        tried = tuple(TriedFix(to_fix=before.to_fix, answer=worked.summary) for before, worked in pairs)
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
        carried = await Attempts(self.context, self.commits.planned.configuration).carry_out(base, item, model)
        if isinstance(carried, RunEnd):
            return replace(built, ended=carried), None
        return await self.commits.commit(built, base, carried.draft, item.message), carried.worked

    async def _build_task(self, task: TaskId | None, built: BuiltChange, paths: Sequence[str]) -> ImplementationTask:
        """:param paths: files that it is about, as far as they are known."""
        planned, granted = self.commits.planned, self.commits.granted
        where = (self.context, planned.configuration, paths, planned.input.conventions_at)
        return ImplementationTask(
            plan=planned.plan.plan,
            task=task,
            done=tuple(DoneTask(id=each.task.id, summary=each.worked.summary) for each in built.finished),
            protected=(*granted.refused, *planned.configuration.off_limits_to_agents),
            granted=granted.paths,
            baseline=planned.baseline,
            conventions=await run_outside_journal(load_conventions, *where),
        )


@dataclass(frozen=True)
class Carried:
    """A piece of work that may be taken."""

    draft: Draft
    worked: Worked


@dataclass(frozen=True)
class _Try:
    """One attempt of an agent, and what it made.

    :param outcome: how the run ends if no attempt may begin.
    """

    make: AgentMake
    item: WorkItem
    draft: Draft
    outcome: Done[Worked] | Stuck | Stopped | RunEnd


@dataclass(frozen=True)
class Attempts:
    """The attempts of agents at the pieces of a plan: again with advice, again otherwise, until one may be taken."""

    context: RunContext
    configuration: Configuration

    async def carry_out(self, base: DraftBase, item: WorkItem, model: LanguageModel) -> Carried | RunEnd:
        """What an agent made of a piece, or how the run ends.

        :raises WaitingForGate: nobody answered yet.
        """
        while True:
            tried = await self._try_with_help(base, item, model)
            match tried.outcome:
                case RunEnd():
                    return tried.outcome
                case Done(worked):
                    # What another agent made is not taken if somebody took it back at the last moment.
                    is_own = tried.make is AgentMake.own
                    if is_own or await self._other_agent.take(tried.item, tried.draft, worked.summary):
                        return Carried(tried.draft, worked)
                case unfinished:
                    return await end_unfinished(self.context, unfinished)

    async def _try_with_help(self, base: DraftBase, item: WorkItem, model: LanguageModel) -> _Try:
        """As often as people let it try."""
        tried = await self._try_openly(base, item, model)
        for attempt in count(1):
            why = await self._find_reason_to_retry(item, attempt, tried)
            if not why:
                break
            tried = await self._try_openly(base, item.with_retry(attempt, why), model)
        return tried

    async def _try_openly(self, base: DraftBase, item: WorkItem, model: LanguageModel) -> _Try:
        """As often as it may recover, until it hides no failure."""
        first, make, left, numbers = item, self._usual_make, item.left, count(1)
        recoveries = Recoveries(self.context, self.configuration)
        caught = await recoveries.recall(item, make)
        while True:
            draft = base.new_draft()
            if caught is not None:
                begun = await recoveries.begin(caught, item)
                if isinstance(begun, RunEnd):
                    return _Try(make, item, draft, begun)
                if make is AgentMake.other and begun.agent is AgentMake.own:
                    await self._other_agent.give_away(item, draft)
                make, task = begun.agent, await recoveries.build_task(begun, item.built.then(left))
                item = first.with_recovery(next(numbers), task, left)
            tried = _Try(make, item, draft, await self._work(make, item, draft, model))
            if not isinstance(tried.outcome, Done):
                return tried
            left = await draft.change()
            caught = await recoveries.look(item, make, item.built.then(left), tried.outcome.value.summary)
            if caught is None:
                return tried

    async def _work(
        self, make: AgentMake, item: WorkItem, draft: Draft, model: LanguageModel
    ) -> Done[Worked] | Stuck | Stopped:
        if make is AgentMake.other:
            return await self._other_agent.work(item, draft, model)
        work = work_with_commands if self._is_interactive and not self._has_other else work_alone
        return await work(self.context, self.configuration, item, draft, model)

    async def _find_reason_to_retry(self, item: WorkItem, attempt: int, tried: _Try) -> str:
        """Why a person lets the agent try once more; empty if it is done, or nobody does.

        A fix that leaves something is no such reason: the next review or test tells.
        """
        gate = HelpGate(self.context, self.configuration)
        match tried.outcome:
            case Stuck(why) if await gate.may_retry(item.key, attempt, why):
                return f"It came to nothing: {why}"
            case Done(Worked(is_done=False, not_done=left)) if item.task.mine is not None:
                may_finish = await gate.may_finish(item.key, attempt, item.task.mine, left)
                kept = "" if tried.make is AgentMake.other else ", and nothing of it was kept"
                return f"It left this undone{kept}: {left}" if may_finish else ""
            case _:
                return ""

    @property
    def _usual_make(self) -> AgentMake:
        return AgentMake.other if self._is_interactive and self._has_other else AgentMake.own

    @property
    def _is_interactive(self) -> bool:
        return (self.context.run.mode or self.configuration.execution.mode) != "deterministic"

    @property
    def _has_other(self) -> bool:
        return self.configuration.agents.implementer.command is not None

    @property
    def _other_agent(self) -> ExternalAgent:
        return ExternalAgent(self.context, self.configuration)
