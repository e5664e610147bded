"""Takes the base into the branch of a pull request; a model resolves what conflicts, and people what is unclear."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from agents.coding.resolver import ConflictTask, build_agent, build_assignment
from agents.llm.models import LanguageModel, ModelTier, Unusable
from agents.loop.loop import Done, run_agent
from domain.runs.run import Phase, ReasonCode, RunState
from domain.text.redaction import redact_outgoing
from domain.value import Value
from messages import updates as texts
from pipeline.checkout import fetch_commits
from pipeline.durable.journal import run_outside_journal
from pipeline.issue.instruction.delivery import Proposal, name_source, render_resolved
from pipeline.issue.instruction.draft_tests import MergeTests, TestedDraft
from pipeline.issue.instruction.start import Start
from pipeline.issue.status_comment import RunEnd, end_unfinished
from pipeline.model_calls.budgeted import AgentSteps, BudgetedCalls
from pipeline.model_calls.guards import GuardedTask
from pipeline.publishing.instructions import Instruction
from pipeline.run_context import RunContext
from pipeline.runs.lifecycle import enter_phase, leave_phase
from safety.conflicts import (
    BesideEdit,
    JudgedHunk,
    Merge,
    Outside,
    ResolvedHunks,
    SideCommit,
    judge,
    keep_from_agents,
    list_paths,
)
from safety.guards import TaskKind
from workspace.conflicts import commit_merge, list_side_commits, locate_beside, merge, read_outside, write_resolved
from workspace.mirror import Mirror
from workspace.snapshot import Snapshot

_WORKFLOWS = ".github/workflows/"
_MOST_NAMED = 50  # commits that are counted

Resolve = Callable[[ConflictTask, int], Awaitable[ResolvedHunks | RunEnd]]


class MergedBase(Value):
    """The base, merged as far as git does it; in journals.

    :param came_in: subjects of its commits that the branch does not have, the newest first; none: it has all.
    :param workflows: files below ``.github/workflows/`` that it changes on the branch.
    :param branch, base: the commits that touched files with conflicts on each side.
    """

    merge: Merge
    came_in: tuple[str, ...]
    workflows: tuple[str, ...] = ()
    branch: tuple[SideCommit, ...] = ()
    base: tuple[SideCommit, ...] = ()


@dataclass(frozen=True)
class BaseUpdate:
    """One update.

    :param context: of its run, whose head and base are the head on which it began.
    :param trailer: of the commit, which names who asked.
    """

    context: RunContext
    asked: Instruction
    start: Start
    trailer: str

    async def make(self) -> Proposal | RunEnd:
        """The merge, or how the run ends without it.

        :raises WaitingForGate: a person has to decide first.
        """
        merged = await self.context.journal.step("merge the base", self._merge)
        if not merged.came_in:
            text = texts.report_up_to_date(self._base_ref, self.start.base)
            return RunEnd(RunState.completed, ReasonCode.unchanged, text)
        if merged.workflows and not await self.context.journal.step("may it push workflows", self._may_push_workflows):
            return await self._report_workflows(merged)
        await enter_phase(self.context, Phase.implementation)
        made = await (self._propose_clean(merged) if merged.merge.is_clean else self._resolve(merged))
        await leave_phase(self.context, Phase.implementation)
        return made

    def build_tests(self, resolved: tuple[str, ...]) -> MergeTests:
        """The tests of the merge.

        :param resolved: files in which conflicts were resolved.
        """
        return MergeTests(self.context, self.start.configuration, self.start.base, resolved)

    async def _propose_clean(self, merged: MergedBase) -> Proposal:
        tip = await self.context.journal.step("make the merge", self._commit, dict[int, str](), ())
        return self._build_proposal(merged, tip, (), await self.build_tests(()).run(tip))

    async def _resolve(self, merged: MergedBase) -> Proposal | RunEnd:
        """What a model makes of the conflicts."""
        resolver = ConflictResolver(self.context, self.start, self._load_merged)
        model = resolver.choose_model()
        if isinstance(model, str) or not merged.merge.hunks:
            return await self._report_conflicts(merged, model if isinstance(model, str) else "")
        task = ConflictTask(
            title=self.start.pull_request.title,
            hunks=merged.merge.hunks,
            branch=merged.branch,
            base=merged.base,
            words=self.asked.words,
        )
        tests = self.build_tests(list_paths(task.hunks))
        made = await self._resolve_once(merged, partial(resolver.resolve, model), task, tests, 1)
        if isinstance(made, RunEnd) or not made.tested.is_failed:
            return made
        again = task.model_copy(update={"mistakes": self._list_mistakes(made.tested)})
        return await self._resolve_once(merged, partial(resolver.resolve, model), again, tests, 2)

    async def _resolve_once(
        self, merged: MergedBase, resolve: Resolve, task: ConflictTask, tests: MergeTests, attempt: int
    ) -> Proposal | RunEnd:
        resolved = await resolve(task, attempt)
        if isinstance(resolved, RunEnd):
            return resolved
        judged = judge(task.hunks, resolved)
        if merged.merge.unmerged or any(each.question for each in judged):
            return await self._ask_people(merged, judged, resolved.beside)
        chosen = {each.hunk.number: each.text for each in judged}
        beside = resolved.beside
        tip = await self.context.journal.step("make the merge", self._commit, chosen, tests.resolved, beside)
        places = await self.context.journal.step("where else", self._locate, chosen, beside) if beside else {}
        tested = await tests.run(tip)
        return self._build_proposal(merged, tip, judged, tested, texts.render_beside(beside, places))

    def _list_mistakes(self, tested: TestedDraft) -> tuple[str, ...]:
        """What tests say of a resolution, for the model."""
        says_words = not self.start.configuration.review.never_send
        return tuple(f"{each.rule}: {each.message}" if says_words else each.rule for each in tested.to_fix)

    async def _report_conflicts(self, merged: MergedBase, why: str) -> RunEnd:
        conflicts, spent = merged.merge, await self.context.load_cost()
        source = name_source(self.context, self.start)
        text = texts.report_conflicts(conflicts.hunks, conflicts.unmerged, self._base_ref, source, why, spent)
        return RunEnd(RunState.completed, ReasonCode.questions, text)

    async def _report_workflows(self, merged: MergedBase) -> RunEnd:
        conflicts = [*list_paths(merged.merge.hunks), *(each.path for each in merged.merge.unmerged)]
        source, branch = name_source(self.context, self.start), self.start.pull_request.head_ref
        spent = await self.context.load_cost()
        text = texts.report_workflows(merged.workflows, conflicts, self._base_ref, source, branch, spent)
        return RunEnd(RunState.completed, ReasonCode.unchanged, text)

    async def _ask_people(
        self, merged: MergedBase, judged: Sequence[JudgedHunk], beside: Sequence[BesideEdit]
    ) -> RunEnd:
        """Nothing is committed; what is clear is shown as a patch."""
        asked = {each.hunk.path for each in judged if each.question}
        sure = [each for each in judged if each.hunk.path not in asked]
        paths = list_paths([each.hunk for each in sure])
        chosen = {each.hunk.number: each.text for each in sure}
        patch = (
            await self.context.journal.step("render what is clear", self._render_patch, chosen, paths, beside)
            if sure
            else ""
        )
        spent, branch = await self.context.load_cost(), self.start.pull_request.head_ref
        source = name_source(self.context, self.start)
        text = texts.report_open(judged, merged.merge.unmerged, self._base_ref, source, branch, patch, spent)
        questions = "\n".join(each.question for each in judged if each.question)
        return RunEnd(RunState.completed, ReasonCode.questions, text, asked=questions)

    def _build_proposal(
        self, merged: MergedBase, tip: str, judged: Sequence[JudgedHunk], tested: TestedDraft, beside: str = ""
    ) -> Proposal:
        paths = list_paths([each.hunk for each in judged])
        details = "\n".join(filter(None, (texts.render_resolved(judged), beside)))
        return Proposal(
            tip=tip,
            message=self._render_message(paths),
            title=self._title,
            summary=texts.summarise(self._base_ref, self.start.base, merged.came_in, _MOST_NAMED),
            tested=tested,
            merges=self.start.base,
            resolved=paths,
            details=lambda _where: details,
        )

    @property
    def _base_ref(self) -> str:
        return self.start.pull_request.base_ref

    @property
    def _title(self) -> str:
        return texts.render_title(self._base_ref, self.start.pull_request.head_ref)

    def _render_message(self, paths: Sequence[str]) -> str:
        return redact_outgoing(texts.render_message(self._title, paths, self.context.run.id, self.trailer))

    # --- steps -------------------------------------------------------------------------------------------------

    async def _merge(self) -> MergedBase:
        mirror, head, base = await self._open(), self.start.head, self.start.base
        came_in = await mirror.list_first_parents(head, base, _MOST_NAMED)
        if not came_in:
            return MergedBase(merge=Merge(tree=await mirror.tree_of(head)), came_in=())
        merged = await self._load_merge(mirror)
        paths = list_paths(merged.hunks)
        before, after = [(await Snapshot.of(mirror, each)).files for each in (head, merged.tree)]
        workflows = [path for path in sorted({*before, *after}) if path.startswith(_WORKFLOWS)]
        return MergedBase(
            merge=merged,
            came_in=tuple(subject for _, subject in came_in),
            workflows=tuple(path for path in workflows if before.get(path) != after.get(path)),
            branch=await list_side_commits(mirror, base, head, paths),
            base=await list_side_commits(mirror, head, base, paths),
        )

    async def _may_push_workflows(self) -> bool:
        """Whether GitHub takes them from this App; to a fork nothing is pushed."""
        repository = self.context.run.repository
        if self.start.pull_request.is_from_fork(repository.id):
            return True
        granted = await self.context.services.host.installation_permissions(repository.installation_id)
        return granted.get("workflows") == "write"

    async def _commit(self, chosen: Mapping[int, str], paths: Sequence[str], beside: Sequence[BesideEdit] = ()) -> str:
        """The merge; the same one again after a crash, also on another machine."""
        mirror, parents = await self._open(), (self.start.head, self.start.base)
        tree = await self._write(mirror, chosen, beside)
        return await commit_merge(mirror, tree, parents, self._render_message(paths), *await self.context.load_stamp())

    async def _render_patch(self, chosen: Mapping[int, str], paths: Sequence[str], beside: Sequence[BesideEdit]) -> str:
        mirror = await self._open()
        tree = await self._write(mirror, chosen, beside)
        return await render_resolved(self.context, mirror, self.start, tree, paths, is_all=False)

    async def _write(self, mirror: Mirror, chosen: Mapping[int, str], beside: Sequence[BesideEdit]) -> str:
        return await write_resolved(mirror, await self._load_merge(mirror), chosen, beside)

    async def _locate(self, chosen: Mapping[int, str], beside: Sequence[BesideEdit]) -> dict[str, str]:
        mirror = await self._open()
        return await locate_beside(mirror, await self._load_merge(mirror), chosen, beside)

    async def _load_merged(self) -> tuple[Snapshot, Mapping[str, Outside]]:
        mirror = await self._open()
        merged = await self._load_merge(mirror)
        return await Snapshot.of(mirror, merged.tree), await read_outside(mirror, merged)

    async def _load_merge(self, mirror: Mirror) -> Merge:
        return keep_from_agents(await merge(mirror, self.start.head, self.start.base), self.start.configuration)

    async def _open(self) -> Mirror:
        run = self.context.run
        return await fetch_commits(self.context.services, run.repository, run.number, self.start.head, self.start.base)


@dataclass(frozen=True)
class ConflictResolver:
    """The model that resolves conflicts, within one run.

    :param load_merged: loads the files as git merged them, and the text around the conflicts by path.
    """

    context: RunContext
    start: Start
    load_merged: Callable[[], Awaitable[tuple[Snapshot, Mapping[str, Outside]]]]

    def choose_model(self) -> LanguageModel | str:
        """The model; or why there is none, as a sentence."""
        if not self.start.configuration.review.may_ask_model:
            return texts.CODE_KEPT
        model = self.context.services.models.choose(ModelTier.strong)
        return texts.explain_missing_model(model.reason) if isinstance(model, Unusable) else model

    async def resolve(self, model: LanguageModel, task: ConflictTask, attempt: int) -> ResolvedHunks | RunEnd:
        """What it makes of each conflict, or how the run ends without.

        :param attempt: from 1.
        :raises WaitingForGate: a person has to decide first.
        """
        key = f"resolve {attempt}"
        snapshot, outside = await run_outside_journal(self.load_merged)
        agent = build_agent(snapshot, task.hunks, outside, self.start.configuration.review.never_send)
        assignment = build_assignment(key, task)
        guarded = GuardedTask(f"{key} ", TaskKind.implementation)
        calls = BudgetedCalls(self.context, Phase.implementation, self.start.configuration, task=guarded)
        match await run_agent(agent, AgentSteps(calls, agent, assignment, model)):
            case Done(value):
                return value
            case unfinished:
                return await end_unfinished(self.context, unfinished)
