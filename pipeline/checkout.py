"""Fetches the head and base of a run into the mirror of its repository, and says what a pull request changes.

The base of a pull request is its base branch as it is now. A run keeps the commit that this was when it was admitted.
"""

from typing import NamedTuple

from domain.errors import CommitGone, NotFound
from domain.github.pull_requests import PullRequest
from domain.review.changes import Change
from domain.runs.run import RepositoryRef, Run
from github.host import GitHubHost
from pipeline.context import Services
from workspace.git import Unrelated
from workspace.mirror import Mirror


async def fetch_mirror(services: Services, run: Run) -> Mirror:
    """The mirror of a run's repository with its head and base in it.

    :raises NotFound: if the name belongs to another repository now, which has neither.
    :raises CommitGone: if one of them no longer exists.
    """
    return await fetch_commits(services, run.repository, run.number, run.head_sha, run.base_sha)


async def fetch_commits(
    services: Services, repository: RepositoryRef, number: int, head_sha: str, base_sha: str
) -> Mirror:
    """The mirror of a repository with the head and the base of a pull request in it; as :func:`fetch_mirror`."""
    authorization = await services.host.git_credentials(repository)
    mirror = await services.mirrors.mirror(repository.id, services.host.clone_url(repository), authorization)
    try:
        await mirror.fetch(head_sha, base_sha, number)
    except CommitGone:
        await services.host.default_branch(repository)  # raises NotFound if the name belongs to another repository
        raise
    return mirror


class BaseComparison(NamedTuple):
    """A mirror with the head of a pull request, and the commit that GitHub compares it with."""

    mirror: Mirror
    merge_base: str


async def find_base(host: GitHubHost, repository: RepositoryRef, pull_request: PullRequest) -> str:
    """The newest commit of the base branch; where the branch is gone, the one that GitHub wrote down.

    GitHub compares with the branch as it is now; its ``base.sha`` stays at what the branch was when the pull request
    was opened.
    """
    try:
        return (await host.branch(repository, pull_request.base_ref)).head_sha
    except NotFound:
        return pull_request.base_sha


async def compare_with_base(services: Services, repository: RepositoryRef, pull_request: PullRequest) -> BaseComparison:
    """Compare a pull request with its base; one that is merged, with its base right before that.

    :raises CommitGone: the head or the base no longer exists.
    """
    number, head, merge = pull_request.number, pull_request.head_sha, pull_request.merge_sha
    if not merge:
        base = await find_base(services.host, repository, pull_request)
        mirror = await fetch_commits(services, repository, number, head, base)
    else:
        mirror = await fetch_commits(services, repository, number, head, merge)
        base = None if merge == head else await mirror.first_parent(merge)
        if base is None or await mirror.follows(base, head):  # no merge by GitHub: somebody pushed the head itself
            base = pull_request.base_sha
            await fetch_commits(services, repository, number, head, base)
    return BaseComparison(mirror, await mirror.merge_base(base, head))


async def has_same_merge_base(services: Services, run: Run, base: str) -> bool:
    """Whether a run's head has the same merge base with another commit of its base branch.

    It has if the branch only moved on. If the branch was rewritten, or took over a part of the head, what the pull
    request changes is not what the run looked at.
    """
    if base == run.base_sha:
        return True
    try:
        mirror = await fetch_mirror(services, run)
        await fetch_commits(services, run.repository, run.number, run.head_sha, base)
        now, then = [await mirror.merge_base(each, run.head_sha) for each in (base, run.base_sha)]
    except (CommitGone, Unrelated):
        return False
    return now == then


async def load_change(mirror: Mirror, run: Run, head: str | None = None) -> Change:
    """What a run's pull request changes, or that of an issue's run up to ``head``."""
    head = head or run.head_sha
    return await mirror.change(await mirror.merge_base(run.base_sha, head), head)
