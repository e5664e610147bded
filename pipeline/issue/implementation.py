"""The second phase of an issue's run: each task of the plan becomes a commit, made of diffs judged one by one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from agents import implementer
from agents.implementer import DoneTask, ImplementationTask, OnDraft
from agents.llm.models import LanguageModel, ModelTier, Unusable
from agents.loop.loop import Agent, Done, Stopped, Stuck, run_agent
from agents.loop.tools.apply_patch import make_apply_patch
from agents.loop.tools.files import make_file_tools
from agents.loop.tools.run_tests import make_run_tests
from agents.loop.tools.tool import Tool
from agents.loop.turns import Assignment
from agents.testing.tester import Tester
from domain.errors import ForgeError
from domain.github.commits import Signature
from domain.paths import is_test
from domain.review.review import RiskLevel
from domain.runs.next_step import SendBack
from domain.runs.patches import NO_CHANGES, Areas, ChangeSet, select_blocking
from domain.runs.plan import RatedPlan, Task, TaskId, sort_tasks
from domain.runs.run import Phase, ReasonCode, Run, RunState
from domain.runs.task_result import RequiredFix, Worked, find_mistakes
from domain.runs.testing import TestRun
from domain.text.redaction import redact_outgoing
from memory.runs import runs
from messages import plan as plan_texts
from messages import pull_request as pull_request_texts
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.issue.contract_locks import ContractLocks
from pipeline.issue.help_needed import HelpGate
from pipeline.issue.planning import IssueRunInput, RunEnd, end_unfinished
from pipeline.issue.protected_paths import GrantedPaths
from pipeline.model_calls.agent_journal import AgentSteps
from pipeline.model_calls.budgeted import BudgetedCalls
from pipeline.model_calls.guards import GuardedTask
from pipeline.model_calls.recall import RecallTopic
from pipeline.publishing.issue_comment import IssueStatus
from pipeline.runs.lifecycle import run_while_current
from pipeline.steps import run_outside_journal
from safety.guards import TaskKind
from workspace.draft import Draft
from workspace.mirror import Mirror
from workspace.patches.bases import load_tree
from workspace.patches.validation import validate


@dataclass(frozen=True)
class FinishedTask:
    """A task an agent was through with."""

    task: Task
    worked: Worked


@dataclass(frozen=True)
class BuiltChange:
    """What came of a plan so far.

    :param head: the last commit; the base where nothing changed.
    :param earlier: the commits before it.
    :param whole: all that changed since the base.
    :param mended: what was done about each time the change was sent back.
    :param ended: why not everything was worked on, if that is so.
    """

    head: str
    earlier: tuple[str, ...] = ()
    whole: ChangeSet = NO_CHANGES
    finished: tuple[FinishedTask, ...] = ()
    mended: tuple[Worked, ...] = ()
    ended: RunEnd | None = None

    @property
    def tests_added(self) -> tuple[str, ...]:
        """Paths of files with tests that were made or changed, as the change itself tells."""
        return tuple(file.path for file in self.whole.files if file.after is not None and is_test(file.path))


@dataclass(frozen=True)
class _WorkItem:
    """A piece of work that becomes one commit.

    :param key: names it in the journal.
    """

    key: str
    told: ImplementationTask
    message: str
    kind: TaskKind = TaskKind.implementation

    def with_retry(self, attempts: int, why: str) -> "_WorkItem":
        """The same after so many attempts, the last of which came to nothing."""
        failed = RequiredFix(path="", rule=f"attempt {attempts}", message=f"It came to nothing: {why}")
        told = self.told.model_copy(update={"to_fix": (*self.told.to_fix, failed)})
        return replace(self, key=f"again {attempts} {self.key}", told=told)


class Implementation:
    """The implementation of one plan.

    :param granted: what people said about protected files that the plan names.
    :param locks: on the contracts that the plan changes.

    Commits are made of what the journal holds, so on another machine, or after a crash, they are made again as they
    were, and need no step of their own.
    """

    def __init__(
        self,
        services: Services,
        journal: WorkflowJournal,
        run: Run,
        begun: IssueRunInput,
        plan: RatedPlan,
        granted: GrantedPaths,
        locks: ContractLocks,
    ) -> None:
        self._services = services
        self._journal = journal
        self._run = run
        self._configuration = begun.configuration
        self._plan = plan.plan
        self._granted = granted
        self._locks = locks
        self._status = IssueStatus(services, run)
        self._helping = HelpGate(services, journal, run)

    async def carry_out(self) -> BuiltChange:
        """Work on one task after the other; what was finished counts, also where the rest was not."""
        built = BuiltChange(self._run.base_sha)
        for task in sort_tasks(self._plan):
            message = pull_request_texts.render_commit_message(task, self._run.id)
            piece = _WorkItem(f"implement {task.id}", self._build_task(task.id, built), message)
            built, worked = await self._add_commit(built, piece)
            if worked is None:
                break
            built = replace(built, finished=(*built.finished, FinishedTask(task, worked)))
        return built

    async def mend(self, built: BuiltChange, bounce: SendBack) -> BuiltChange:
        """Have mended what a review or a test found: one more commit."""
        told = self._build_task(None, built).model_copy(update={"to_fix": bounce.to_fix})
        message = pull_request_texts.render_fix_message(bounce, self._run.id)
        kind = TaskKind.tests if bounce.phase is Phase.testing else TaskKind.implementation
        built, worked = await self._add_commit(built, _WorkItem(f"mend {len(built.mended) + 1}", told, message, kind))
        return built if worked is None else replace(built, mended=(*built.mended, worked))

    async def _add_commit(self, built: BuiltChange, piece: _WorkItem) -> tuple[BuiltChange, Worked | None]:
        """One more piece on top; without what came of it where the agent did not get through."""
        model = self._services.models.choose(ModelTier.strong)
        if isinstance(model, Unusable):
            ended = RunEnd(RunState.failed, ReasonCode.error, plan_texts.no_model(model.reason))
            return replace(built, ended=ended), None
        mirror = await run_outside_journal(lambda: fetch_mirror(self._services, self._run))
        areas = await self._load_areas()
        draft = Draft(mirror, built.head, areas)
        done = await self._work(piece, draft, model)
        attempts = 1
        while isinstance(done, Stuck) and await self._may_retry(piece, attempts, done):
            draft = Draft(mirror, built.head, areas)
            done = await self._work(piece.with_retry(attempts, done.why), draft, model)
            attempts += 1
        if not isinstance(done, Done):
            return replace(built, ended=await end_unfinished(self._status, done)), None
        change = await draft.change()
        whole = built.whole.then(change)
        await self._require_allowed(mirror, whole)
        if not change.files:
            return built, done.value
        author = Signature.model_validate(await self._journal.step("who commits", self._load_author))
        began = await runs.get_started_at(self._services.database, self._run.id) or self._services.clock.now()
        head = await mirror.commit_change(draft.base, change, piece.message, author, began)
        return replace(built, head=head, earlier=(*built.earlier, built.head), whole=whole), done.value

    async def _work(self, piece: _WorkItem, draft: Draft, model: LanguageModel) -> Done[Worked] | Stuck | Stopped:
        """Let the implementer work on one piece."""
        never = self._configuration.review.never_send
        tools = (
            *make_file_tools(draft.snapshot, never_send=never, redact=redact_outgoing),
            make_apply_patch(draft, redact=redact_outgoing),
            *self._choose_test_tools(draft),
        )
        assignment = Assignment(
            key=piece.key,
            instructions=implementer.load_instructions(),
            content=implementer.build_content(piece.told, redact_outgoing),
        )
        phase, about = Phase.implementation, _build_recall_topic(piece.told)
        task = GuardedTask(f"{piece.key} ", piece.kind)
        paying = BudgetedCalls(self._services, self._journal, self._run, phase, self._configuration, about, task)
        steps = AgentSteps(self._services, self._journal, self._run, phase, paying, assignment, Worked, tools, model)
        return await run_agent(Agent(Worked, tools, find_mistakes), OnDraft(steps, draft))

    def _choose_test_tools(self, draft: Draft) -> Sequence[Tool]:
        """The tool that runs the tests here; none where the repository has its own workflows do that."""
        if self._configuration.testing.runner == "actions":
            return ()

        async def test(commit: str) -> TestRun:
            mirror = await fetch_mirror(self._services, self._run)
            change = await mirror.change(self._run.base_sha, commit)
            tester = Tester(mirror, self._services.toolbox, self._configuration.commands)
            return await run_while_current(self._services, self._run, tester.test(change, RiskLevel.low))

        return (
            make_run_tests(draft, test, redact=redact_outgoing, says_words=not self._configuration.review.never_send),
        )

    async def _may_retry(self, piece: _WorkItem, attempts: int, stuck: Stuck) -> bool:
        phase = Phase.implementation
        return await self._helping.may_retry(self._configuration, phase, piece.key, attempts, stuck.why)

    def _build_task(self, task: TaskId | None, built: BuiltChange) -> ImplementationTask:
        return ImplementationTask(
            plan=self._plan,
            task=task,
            done=tuple(DoneTask(id=each.task.id, summary=each.worked.summary) for each in built.finished),
            protected=(*self._configuration.paths.protected, *self._granted.refused),
            granted=self._granted.paths,
        )

    async def _require_allowed(self, mirror: Mirror, whole: ChangeSet) -> None:
        """That all pieces together may be pushed, although each might be by itself: they are too much, say, or the
        lock on a contract went to another run since.

        :raises ForgeError: they may not.
        """
        tree = await load_tree(mirror, self._run.base_sha, ())
        wrong = select_blocking(validate(whole, await self._load_areas(), tree))
        if wrong:
            is_of_lock = wrong[0].constraint == "contract_lock"
            advice = "Write /forge run to begin anew." if is_of_lock else "Ask for less in one issue."
            raise ForgeError(f"The change as a whole may not be pushed: {wrong[0]}", advice)

    async def _load_author(self) -> JsonValue:
        return (await self._services.host.signature(self._run.repository)).model_dump(mode="json")

    async def _load_areas(self) -> Areas:
        """Where the plan, the repository and people let agents change files at this moment.

        None that they may not read, and contracts under the run's locks only.
        """
        paths = self._configuration.paths
        return Areas(
            role="implementer",
            allowed=self._plan.allowed_areas,
            forbidden=(*self._plan.forbidden_areas, *self._configuration.review.never_send),
            protected=paths.protected,
            rules=paths.rules,
            contracts=await self._locks.load_locks(),
            granted=frozenset(self._granted.paths),
        )


def _build_recall_topic(told: ImplementationTask) -> RecallTopic:
    """The task and its files, and what is to be fixed."""
    mine = told.mine
    words = [] if mine is None else [mine.title, mine.description]
    files = () if mine is None else mine.files
    wrong = [f"{each.rule} {each.message}" for each in told.to_fix]
    return RecallTopic("\n".join([*words, *wrong]), (*files, *(each.path for each in told.to_fix if each.path)))
