"""Fetches the head and base of a run into the mirror of its repository."""

from domain.errors import CommitGone
from domain.runs.run import RepositoryRef, Run
from pipeline.context import Services
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
