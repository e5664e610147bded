"""The second phase of an issue's run: each task of the plan becomes a commit, made of diffs judged one by one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import JsonValue

from agents import implementer
from agents.implementer import DoneTask, ImplementationTask, OnDraft
from agents.llm.models import LanguageModel, Unusable
from agents.llm.models import Task as Strength
from agents.loop.loop import Agent, Done, Stopped, Stuck, work
from agents.loop.tools.apply_patch import patching
from agents.loop.tools.files import reading
from agents.loop.tools.run_tests import running
from agents.loop.tools.tool import Tool
from agents.loop.turns import Assignment
from agents.testing.tester import Tester
from domain.errors import ForgeError
from domain.github.commits import Signature
from domain.paths import is_test
from domain.review.review import RiskLevel
from domain.runs.next_step import Bounce
from domain.runs.patches import NOTHING, Areas, ChangeSet, blocking
from domain.runs.plan import Task, TaskId, Weighed, in_order
from domain.runs.run import Phase, ReasonCode, Run, RunState
from domain.runs.task_result import ToFix, Worked, mistakes
from domain.runs.testing import TestRun
from domain.text.redaction import outgoing
from memory.runs import runs
from messages import plan as plan_texts
from messages import pull_request as pull_request_texts
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.issue.contract_locks import Locks
from pipeline.issue.help_needed import Helping
from pipeline.issue.planning import Begun, Ended, not_finished
from pipeline.issue.protected_paths import Granted
from pipeline.model_calls.agent_journal import AgentSteps
from pipeline.model_calls.budgeted import Paying
from pipeline.model_calls.guards import Guarded
from pipeline.model_calls.recall import About
from pipeline.publishing.issue_comment import IssueStatus
from pipeline.runs.lifecycle import while_current
from pipeline.steps import surely
from safety.guards import TaskKind
from workspace.draft import Draft
from workspace.mirror import Mirror
from workspace.patches.bases import of_commit
from workspace.patches.validation import validate


@dataclass(frozen=True)
class Finished:
    """A task an agent was through with."""

    task: Task
    worked: Worked


@dataclass(frozen=True)
class Built:
    """What came of a plan so far.

    :param head: the last commit; the base where nothing changed.
    :param earlier: the commits before it.
    :param whole: all that changed since the base.
    :param mended: what was done about each time the change was sent back.
    :param ended: why not everything was worked on, if that is so.
    """

    head: str
    earlier: tuple[str, ...] = ()
    whole: ChangeSet = NOTHING
    finished: tuple[Finished, ...] = ()
    mended: tuple[Worked, ...] = ()
    ended: Ended | None = None

    @property
    def tests_added(self) -> tuple[str, ...]:
        """Paths of files with tests that were made or changed, as the change itself tells."""
        return tuple(file.path for file in self.whole.files if file.after is not None and is_test(file.path))


@dataclass(frozen=True)
class _Piece:
    """A piece of work that becomes one commit.

    :param key: names it in the journal.
    """

    key: str
    told: ImplementationTask
    message: str
    kind: TaskKind = TaskKind.implementation

    def again(self, attempts: int, why: str) -> "_Piece":
        """The same after so many attempts, the last of which came to nothing."""
        failed = ToFix(path="", rule=f"attempt {attempts}", message=f"It came to nothing: {why}")
        told = self.told.model_copy(update={"to_fix": (*self.told.to_fix, failed)})
        return replace(self, key=f"again {attempts} {self.key}", told=told)


class Implementing:
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
        begun: Begun,
        plan: Weighed,
        granted: Granted,
        locks: Locks,
    ) -> None:
        self._services = services
        self._journal = journal
        self._run = run
        self._configuration = begun.configuration
        self._plan = plan.plan
        self._granted = granted
        self._locks = locks
        self._status = IssueStatus(services, run)
        self._helping = Helping(services, journal, run)

    async def carry_out(self) -> Built:
        """Work on one task after the other; what was finished counts, also where the rest was not."""
        built = Built(self._run.base_sha)
        for task in in_order(self._plan):
            message = pull_request_texts.commit_message(task, self._run.id)
            piece = _Piece(f"implement {task.id}", self._told(task.id, built), message)
            built, worked = await self._add(built, piece)
            if worked is None:
                break
            built = replace(built, finished=(*built.finished, Finished(task, worked)))
        return built

    async def mend(self, built: Built, bounce: Bounce) -> Built:
        """Have mended what a review or a test found: one more commit."""
        told = self._told(None, built).model_copy(update={"to_fix": bounce.to_fix})
        message = pull_request_texts.mending_message(bounce, self._run.id)
        kind = TaskKind.tests if bounce.phase is Phase.testing else TaskKind.implementation
        built, worked = await self._add(built, _Piece(f"mend {len(built.mended) + 1}", told, message, kind))
        return built if worked is None else replace(built, mended=(*built.mended, worked))

    async def _add(self, built: Built, piece: _Piece) -> tuple[Built, Worked | None]:
        """One more piece on top; without what came of it where the agent did not get through."""
        model = self._services.models.choose(Strength.strong)
        if isinstance(model, Unusable):
            ended = Ended(RunState.failed, ReasonCode.error, plan_texts.no_model(model.reason))
            return replace(built, ended=ended), None
        mirror = await surely(lambda: fetch_mirror(self._services, self._run))
        areas = await self._areas()
        draft = Draft(mirror, built.head, areas)
        done = await self._work(piece, draft, model)
        attempts = 1
        while isinstance(done, Stuck) and await self._may_retry(piece, attempts, done):
            draft = Draft(mirror, built.head, areas)
            done = await self._work(piece.again(attempts, done.why), draft, model)
            attempts += 1
        if not isinstance(done, Done):
            return replace(built, ended=await not_finished(self._status, done)), None
        change = await draft.change()
        whole = built.whole.then(change)
        await self._require_allowed(mirror, whole)
        if not change.files:
            return built, done.value
        author = Signature.model_validate(await self._journal.step("who commits", self._author))
        began = await runs.began(self._services.database, self._run.id) or self._services.clock.now()
        head = await mirror.commit_change(draft.base, change, piece.message, author, began)
        return replace(built, head=head, earlier=(*built.earlier, built.head), whole=whole), done.value

    async def _work(self, piece: _Piece, draft: Draft, model: LanguageModel) -> Done[Worked] | Stuck | Stopped:
        """Let the implementer work on one piece."""
        never = self._configuration.review.never_send
        tools = (
            *reading(draft.snapshot, never_send=never, redact=outgoing),
            patching(draft, redact=outgoing),
            *self._running(draft),
        )
        assignment = Assignment(
            key=piece.key, instructions=implementer.instructions(), content=implementer.content(piece.told, outgoing)
        )
        phase, about = Phase.implementation, _about(piece.told)
        task = Guarded(f"{piece.key} ", piece.kind)
        paying = Paying(self._services, self._journal, self._run, phase, self._configuration, about, task)
        steps = AgentSteps(self._services, self._journal, self._run, phase, paying, assignment, Worked, tools, model)
        return await work(Agent(Worked, tools, mistakes), OnDraft(steps, draft))

    def _running(self, draft: Draft) -> Sequence[Tool]:
        """The tool that runs the tests here; none where the repository has its own workflows do that."""
        if self._configuration.testing.runner == "actions":
            return ()

        async def test(commit: str) -> TestRun:
            mirror = await fetch_mirror(self._services, self._run)
            change = await mirror.change(self._run.base_sha, commit)
            tester = Tester(mirror, self._services.toolbox, self._configuration.commands)
            return await while_current(self._services, self._run, tester.test(change, RiskLevel.low))

        return (running(draft, test, redact=outgoing, says_words=not self._configuration.review.never_send),)

    async def _may_retry(self, piece: _Piece, attempts: int, stuck: Stuck) -> bool:
        phase = Phase.implementation
        return await self._helping.may_retry(self._configuration, phase, piece.key, attempts, stuck.why)

    def _told(self, task: TaskId | None, built: Built) -> ImplementationTask:
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
        tree = await of_commit(mirror, self._run.base_sha, ())
        wrong = blocking(validate(whole, await self._areas(), tree))
        if wrong:
            is_of_lock = wrong[0].constraint == "contract_lock"
            advice = "Write /forge run to begin anew." if is_of_lock else "Ask for less in one issue."
            raise ForgeError(f"The change as a whole may not be pushed: {wrong[0]}", advice)

    async def _author(self) -> JsonValue:
        return (await self._services.host.signature(self._run.repository)).model_dump(mode="json")

    async def _areas(self) -> Areas:
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
            contracts=await self._locks.known(),
            granted=frozenset(self._granted.paths),
        )


def _about(told: ImplementationTask) -> About:
    """The task and its files, and what is to be fixed."""
    mine = told.mine
    words = [] if mine is None else [mine.title, mine.description]
    files = () if mine is None else mine.files
    wrong = [f"{each.rule} {each.message}" for each in told.to_fix]
    return About("\n".join([*words, *wrong]), (*files, *(each.path for each in told.to_fix if each.path)))
