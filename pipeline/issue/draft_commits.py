"""Opens drafts where agents may change files, and commits them."""

import asyncio
from dataclasses import dataclass, replace

from domain.errors import ForgeError
from domain.github.commits import Signature
from domain.runs.patches import Areas, ChangeSet, select_blocking
from pipeline.durable.journal import run_outside_journal
from pipeline.issue.built_change import BuiltChange
from pipeline.issue.contract_locks import ContractLocks
from pipeline.issue.issue_input import PlannedIssue
from pipeline.issue.protected_paths import GrantedPaths
from pipeline.run_context import RunContext
from workspace.draft import Draft
from workspace.mirror import Mirror
from workspace.patches.tree import load_tree
from workspace.patches.validation import validate


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
