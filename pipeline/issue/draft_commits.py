"""Opens drafts where agents may change files, commits them, and knows what was made so far and sent back."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from domain.errors import ForgeError
from domain.gates import BUDGET_GATES
from domain.github.commits import Signature
from domain.paths import is_test
from domain.runs.next_step import SendBack
from domain.runs.patches import NO_CHANGES, Areas, ChangeSet, Worked, select_blocking
from domain.runs.plan import Task
from memory import gates
from memory.runs import checkpoints
from pipeline.durable.journal import run_outside_journal
from pipeline.issue.contract_locks import ContractLocks
from pipeline.issue.issue_input import PlannedIssue
from pipeline.issue.plan_approval import GrantedPaths
from pipeline.issue.status_comment import RunEnd
from pipeline.publishing.gate_checks import show_gates
from pipeline.run_context import RunContext
from workspace.draft import Draft
from workspace.mirror import Mirror
from workspace.patches.tree import load_tree
from workspace.patches.validation import validate


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
    :param given: what the commits changed that no agent made, such as the fixes that linters know.
    :param whole: everything else that changed since the base.
    :param fixes: one for each time the change was sent back.
    :param ended: why not all tasks were done, if so.
    """

    tip: str
    before: tuple[str, ...] = ()
    signed: Mapping[str, str] = field(default_factory=dict[str, str])
    given: ChangeSet = NO_CHANGES
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
    def all(self) -> ChangeSet:
        """Everything that changed since the base."""
        return self.given.then(self.whole)

    @property
    def tests_added(self) -> tuple[str, ...]:
        """Paths of test files that were added or changed."""
        return tuple(file.path for file in self.whole.files if file.after is not None and is_test(file.path))

    @property
    def last_answer(self) -> str:
        """What the agent of the last commit answered; empty if there is none."""
        worked = [*(each.worked for each in self.finished), *self.fixes]
        return worked[-1].summary if worked else ""


@dataclass(frozen=True)
class DraftBase:
    """A commit, and where drafts on top of it may change files."""

    mirror: Mirror
    head: str
    areas: Areas

    def new_draft(self) -> Draft:
        return Draft(self.mirror, self.head, self.areas)


@dataclass(frozen=True)
class DraftCommits:
    """The drafts and commits of one run.

    Commits are made of what the journal holds. After a crash, or on another machine, they are made again, with the same
    ids, so they need no step.

    :param granted: what people decided about protected files.
    :param locks: on the contracts of the plan.
    """

    context: RunContext
    planned: PlannedIssue
    granted: GrantedPaths
    locks: ContractLocks

    async def prepare(self, head: str) -> DraftBase:
        """What drafts on top of a commit start from."""
        mirror = await run_outside_journal(self.context.fetch_mirror)
        return DraftBase(mirror, head, await self._load_areas())

    async def commit(self, built: BuiltChange, base: DraftBase, draft: Draft, message: str) -> BuiltChange:
        """The change with a draft committed on top, if that changes anything.

        :raises ForgeError: the change as a whole may not be pushed.
        """
        change = await draft.change()
        whole = built.whole.then(change)
        await self._require_allowed(base.mirror, whole)
        if not change.files:
            return built
        author = await self.context.journal.step("who commits", self._load_author)
        at = await self.context.load_commit_time()
        tip = await base.mirror.commit_change(draft.base, change, message, author, at)
        return replace(built, tip=tip, before=(*built.before, built.tip), whole=whole)

    async def _require_allowed(self, mirror: Mirror, whole: ChangeSet) -> None:
        """Each piece was allowed by itself; together they may be too much, or a lock was lost since.

        :raises ForgeError: they may not be pushed.
        """
        tree = await load_tree(mirror, self.context.run.base_sha, ())
        wrong = select_blocking(await asyncio.to_thread(validate, whole, await self._load_areas(), tree))
        if wrong:
            is_of_lock = wrong[0].constraint == "contract_lock"
            advice = "Write /forge run to begin anew." if is_of_lock else "Ask for less in one issue."
            raise ForgeError(f"The change as a whole may not be pushed: {wrong[0]}", advice)

    async def _load_author(self) -> Signature:
        return await self.context.services.host.signature(self.context.run.repository)

    async def _load_areas(self) -> Areas:
        """Where the plan, the repository and people let agents change files now.

        Never what they may not read, and contracts only under the run's locks.
        """
        plan, configuration = self.planned.plan.plan, self.planned.configuration
        return Areas(
            role="implementer",
            allowed=plan.allowed_areas,
            forbidden=(*plan.forbidden_areas, *configuration.review.never_send),
            protected=configuration.off_limits_to_agents,
            rules=configuration.paths.rules,
            contracts=await self.locks.load_locks(),
            granted=frozenset(self.granted.paths),
        )


async def load_send_backs(context: RunContext) -> list[SendBack]:
    return [*await checkpoints.load_send_backs(context.database, context.run)]


async def add_send_back(context: RunContext, sent_back: SendBack, count: int) -> None:
    """Keep a send-back. The gates of the old head become void; those of the budget have no head.

    :param count: how many there were before.
    """
    database, run, now = context.database, context.run, context.now()
    keep = [gate.id for gate in await gates.list_for_run(database, run.id) if gate.name in BUDGET_GATES]
    if await gates.void(database, run.id, keep, "settled", now):
        await show_gates(context.services, run)
    await checkpoints.save_send_back(database, run, sent_back, count, now)
