"""Finds which merges go live with a deployment: all since what its environment runs, each with its review.

A review counts where the merge is exactly what was reviewed: its files are those that git makes of the branch before
it and the reviewed head. A merge commit may hold more, by hand or where a conflict was resolved.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import structlog

from domain.config.configuration import Configuration
from domain.deployments.deployment import MOST, Deployment, DeploymentState, LiveContents, LiveMerge, limit
from domain.errors import CodeAccessError, NotFound
from domain.gates import GateState
from domain.github.pull_requests import MergedPull
from domain.review.review import Review
from domain.runs.run import Run
from memory import gates
from memory.deployments import deployments
from pipeline.checkout import fetch_commits
from pipeline.context import Services
from pipeline.deployment.facts import load_review_of
from safety.gates import list_protected
from workspace.git import Unrelated
from workspace.merges import is_merge_of
from workspace.mirror import Mirror

_PAST = 100  # earlier deployments to an environment that are looked at
log = structlog.get_logger(__name__)


async def load_contents(
    services: Services, run: Run, deployment: Deployment, configuration: Configuration
) -> LiveContents | None:
    """What goes live; None where Forge does not know what the environment runs."""
    if not deployment.previous_sha:
        return None
    before, after = deployment.previous_sha, deployment.sha
    try:
        mirror = await fetch_commits(services, run.repository, run.number, after, before)
        commits = await mirror.list_first_parents(before, after, MOST + 1)
        undone = await _list_undone(mirror, before, after, [sha for sha, _ in commits])
    except (CodeAccessError, NotFound) as error:
        log.warning("deployment.not_compared", repository=run.repository.id, error=str(error))
        return LiveContents(is_whole=False)
    refused, went_back = await _load_past(services, deployment, [sha for sha, _ in commits])
    described = await _Reader(services, run, configuration, mirror).describe(commits)
    contents = limit(
        [
            each.model_copy(update={"refused_by": refused.get(each.sha, ""), "went_back": each.sha in went_back})
            for each in described
        ]
    )
    return contents.model_copy(update={"undone": undone})


async def _list_undone(mirror: Mirror, before: str, after: str, commits: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """What the environment runs and the new commits were not made on: the branch was rewritten.

    :param commits: that go live, the newest first; none if an older state comes back.
    :returns: (sha, subject) of each, the newest first; at least the one that runs there.
    """
    if not commits or len(commits) > MOST or await mirror.first_parent(commits[-1]) == before:
        return ()
    gone = await mirror.list_first_parents(after, before, MOST)
    return tuple(gone) or ((before, "and what was made on it"),)


@dataclass(frozen=True)
class _Reader:
    """Tells what is known of the commits of the default branch that go live."""

    services: Services
    run: Run
    configuration: Configuration
    mirror: Mirror

    async def describe(self, commits: Sequence[tuple[str, str]]) -> list[LiveMerge]:
        """:param commits: SHA and subject of each, the newest first; a rebased pull request has several in a row."""
        found = [(sha, title, await self._find_pull(sha)) for sha, title in commits]
        described: list[LiveMerge] = []
        for pull, group in groupby(found, key=lambda each: each[2]):
            named = [(sha, title) for sha, title, _ in group]
            review = None if pull is None else await self._find_review(pull, named[0][0], named[-1][0])
            described += [self._describe(sha, title, pull, review) for sha, title in named]
        return described

    async def _find_pull(self, sha: str) -> MergedPull | None:
        return await self.services.host.find_merged_pull(self.run.repository, sha)

    async def _find_review(self, pull: MergedPull, newest: str, oldest: str) -> Review | None:
        """The review of exactly what commits of the default branch brought there; None if there is none."""
        review = await load_review_of(self.services, self.run.repository.id, pull.number)
        if review is None or review.head_sha != pull.head_sha:
            return None
        try:
            await fetch_commits(self.services, self.run.repository, pull.number, review.head_sha, newest)
            onto = await self.mirror.first_parent(oldest)
            if onto is None or await self.mirror.merge_base(onto, review.head_sha) != review.merge_base:
                return None
            is_same = await is_merge_of(self.mirror, newest, onto, review.head_sha)
        except Unrelated:
            return None
        except (CodeAccessError, NotFound) as error:
            log.warning("deployment.merge_not_compared", repository=self.run.repository.id, error=str(error))
            return None
        return review if is_same else None

    def _describe(self, sha: str, title: str, pull: MergedPull | None, review: Review | None) -> LiveMerge:
        if pull is None:
            return LiveMerge(sha=sha, title=title)
        known = LiveMerge(sha=sha, title=pull.title or title, number=pull.number)
        if review is None:
            return known
        return known.model_copy(
            update={
                "risk": review.risk.level_unasked,
                "verdict": review.decision.value.replace("_", " "),
                "findings": len(review.findings),
                "is_protected": bool(list_protected(review.changed, self.configuration)),
            }
        )


async def _load_past(
    services: Services, deployment: Deployment, commits: Sequence[str]
) -> tuple[Mapping[str, str], frozenset[str]]:
    """Who rejected which commit for this environment, and which ones it ran, or may have run, and does not any more.

    :param commits: that go live, the newest first: whoever deployed one, deployed what is behind it.
    """
    database, where = services.database, (deployment.repository_id, deployment.environment)
    there = await deployments.find_there(database, *where)
    refused: dict[str, str] = {}
    went_back: set[str] = set()
    for past in await deployments.list_latest(database, *where, limit=_PAST):
        if past.sha not in commits or past.run_id in {deployment.run_id, "" if there is None else there.run_id}:
            continue
        if past.state.is_over and past.state is not DeploymentState.stopped:
            went_back.update(commits[commits.index(past.sha) :])
        for gate in await gates.list_for_run(database, past.run_id):
            if gate.state is GateState.rejected and gate.decision is not None:
                refused[past.sha] = gate.decision.by_login
    return refused, frozenset(went_back)
