"""Loads what a pull request consists of, and who pushed it: its commits, and those that forced pushes overwrote."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from domain.errors import CommitGone
from domain.github.commits import MOST_COMMITS, Commit, Push
from domain.github.pull_requests import PullRequest
from domain.runs.run import RepositoryRef, Run
from memory.deliveries import pushes
from pipeline.checkout import fetch_commits, fetch_mirror, find_base
from pipeline.context import Services
from safety.authorship import Contribution, Doubt, EarlierHeads, find_parts, list_overwriting
from workspace.conflicts import has_same_change, is_clean_merge, list_own_commits
from workspace.mirror import Mirror

_MOST_MERGES = 50  # that are made again for a comparison; others count as made by hand
_MOST_HEADS = 30  # earlier ones that are fetched; others count as gone


async def load_contributions(
    services: Services,
    repository: RepositoryRef,
    pull_request: PullRequest,
    listed: Sequence[Commit],
    trusted: Collection[int],
) -> tuple[Contribution, ...]:
    """Who wrote the commits of a pull request.

    :param listed: the commits as GitHub lists them.
    :param trusted: Apps that nobody makes push what they like.
    :raises CodeHostError: if GitHub does not say who pushed.
    :raises CodeAccessError: if what it consists of could not be fetched.
    """
    history = _BranchHistory(services, repository, pull_request, listed)
    is_fork = pull_request.is_from_fork(repository.id)
    owners = [pull_request.author_id, *filter(None, [pull_request.head_owner_id])] if is_fork else None
    parts = await history.find_parts(owners, trusted)
    if not is_fork and any(part.doubt is Doubt.unknown for part in parts):  # the App came later, or a delivery was lost
        history.told = await services.host.pushes_to(repository, pull_request.head_ref)
        parts = await history.find_parts(owners, trusted)
    if len(listed) >= MOST_COMMITS or pull_request.head_sha not in {each.sha for each in listed}:  # not all are listed
        parts = (*parts, Contribution(pull_request.head_sha, frozenset(), Doubt.unknown))
    return parts


async def list_shown(services: Services, run: Run) -> frozenset[str]:
    """The commits that a run was about: those of its head that its base did not have; none where that is not known.

    :raises CodeAccessError: if they could not be fetched.
    """
    try:
        mirror = await fetch_mirror(services, run)
    except CommitGone:
        return frozenset()
    return frozenset(await list_own_commits(mirror, run.base_sha, run.head_sha, MOST_COMMITS) or ())


class _BranchHistory:
    """The commits of a pull request and of the heads before it, as far as pushes are known.

    :ivar told: the pushes that GitHub lists, where those that Forge heard of are not all.
    """

    def __init__(
        self, services: Services, repository: RepositoryRef, pull_request: PullRequest, listed: Sequence[Commit]
    ) -> None:
        self._services, self._repository, self._pull_request = services, repository, pull_request
        self.commits: Sequence[Commit] = listed
        self.told: Sequence[Push] = ()
        self._mirror: Mirror | None = None
        self._earlier: dict[str, Commit] = {}
        self._looked: set[str] = set()
        self._gone: set[str] = set()
        self._base = ""

    async def find_parts(self, owners: Collection[int] | None, trusted: Collection[int]) -> tuple[Contribution, ...]:
        known = await self._load_pushes()
        await self._mark_clean_merges()
        same = await self._list_same(known)
        earlier = EarlierHeads(tuple(self._earlier.values()), frozenset(self._gone), same)
        return find_parts(self.commits, known, owners, trusted, earlier)

    async def _load_pushes(self) -> list[Push]:
        """The pushes of all commits. What they overwrote is looked up, and who pushed that."""
        homes = {self._repository.id, *filter(None, [self._pull_request.head_repository_id])}
        while True:
            shas = [*(commit.sha for commit in self.commits), *self._earlier]
            there = set(shas)
            known = await pushes.load(self._services.database, homes, shas)
            known += [push for push in self.told if push.after in there]
            before = sorted({push.before for push in known if push.before} - there - self._looked)
            if not before:
                return known
            for head in before:
                await self._look_up(head)

    async def _look_up(self, head: str) -> None:
        """Find the commits of a head that was overwritten; one that the base has was none of the pull request's."""
        self._looked.add(head)
        if len(self._looked) > _MOST_HEADS:
            self._gone.add(head)
            return
        try:
            mirror = await self._fetch_with_base()
            await mirror.fetch(head, self._base, self._pull_request.number)
        except CommitGone:
            self._gone.add(head)
            return
        found = await list_own_commits(mirror, self._base, head, MOST_COMMITS)
        if found is None:
            self._gone.add(head)
            return
        there = {commit.sha for commit in self.commits}
        self._earlier |= {sha: Commit(sha, parents) for sha, parents in found.items() if sha not in there}

    async def _fetch_with_base(self) -> Mirror:
        """The mirror with the head and what the base branch is now.

        :raises CommitGone: one of them is gone.
        """
        self._base = self._base or await find_base(self._services.host, self._repository, self._pull_request)
        number, head = self._pull_request.number, self._pull_request.head_sha
        self._mirror = await fetch_commits(self._services, self._repository, number, head, self._base)
        return self._mirror

    async def _mark_clean_merges(self) -> None:
        """Find out which merges git makes just so. It takes their parents, not the base, which may be gone."""
        merges = [each for each in (*self.commits, *self._earlier.values()) if len(each.parents) > 1]
        if not merges:
            return
        number, head = self._pull_request.number, self._pull_request.head_sha
        mirror = self._mirror or await fetch_commits(self._services, self._repository, number, head, head)
        clean = {each.sha for each in merges[:_MOST_MERGES] if await is_clean_merge(mirror, each.sha, each.parents)}
        self.commits = [replace(each, is_clean_merge=each.sha in clean) for each in self.commits]
        self._earlier = {sha: replace(each, is_clean_merge=sha in clean) for sha, each in self._earlier.items()}

    async def _list_same(self, known: Sequence[Push]) -> frozenset[tuple[str, str]]:
        """The heads that forced pushes overwrote with ones that change the same."""
        everything = (*self.commits, *self._earlier.values())
        pairs = {(push.before, push.after) for push in list_overwriting(everything, known)}
        if not pairs:
            return frozenset()
        try:
            mirror = await self._fetch_with_base()
        except CommitGone:
            return frozenset()
        return frozenset([pair for pair in sorted(pairs) if await has_same_change(mirror, self._base, *pair)])
