"""Fetches the code that a run is about into the mirror of its repository."""

from domain.errors import CommitGone
from domain.runs.run import Run
from pipeline.context import Services
from workspace.mirror import Mirror


async def fetch_mirror(services: Services, run: Run) -> Mirror:
    """The mirror of a run's repository with its head and base in it.

    :raises NotFound: the name belongs to another repository now, which holds neither.
    :raises CommitGone: one of them is not to be had any more.
    """
    authorization = await services.host.git_credentials(run.repository)
    mirror = await services.mirrors.mirror(run.repository.id, services.host.clone_url(run.repository), authorization)
    try:
        await mirror.fetch(run.head_sha, run.base_sha, run.number)
    except CommitGone:
        await services.host.default_branch(run.repository)  # which looks whose name it is
        raise
    return mirror
