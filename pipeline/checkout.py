"""Fetches the head and base of a run into the mirror of its repository."""

from domain.errors import CommitGone
from domain.runs.run import Run
from pipeline.context import Services
from workspace.mirror import Mirror


async def fetch_mirror(services: Services, run: Run) -> Mirror:
    """The mirror of a run's repository with its head and base in it.

    :raises NotFound: if the name belongs to another repository now, which has neither.
    :raises CommitGone: if one of them no longer exists.
    """
    authorization = await services.host.git_credentials(run.repository)
    mirror = await services.mirrors.mirror(run.repository.id, services.host.clone_url(run.repository), authorization)
    try:
        await mirror.fetch(run.head_sha, run.base_sha, run.number)
    except CommitGone:
        await services.host.default_branch(run.repository)  # raises NotFound if the name belongs to another repository
        raise
    return mirror
