"""Removes what Forge keeps of repositories it lost; what it did and what that cost stays known for its time."""

from collections.abc import Sequence

from domain.errors import CodeAccessError
from memory import checkpoints, configurations, leases, memories, memory_files, retention, runs
from pipeline.retention import forget_journals
from pipeline.services import Services


async def purge(services: Services, installation_id: int, repository_ids: Sequence[int] | None) -> int:
    """Remove code, prompts, leases, configurations, findings, gates and what was learned; of how many repositories.

    May be repeated. The audit, the costs and the deliveries go with their time (:mod:`memory.retention`).

    :param repository_ids: None: all of the installation.
    :raises CodeAccessError: a mirror is in use; what uses it is about to end.
    """
    await configurations.purge(services.database, installation_id, repository_ids)  # the organisation's, too
    if repository_ids is None:
        ran = await runs.repositories(services.database, installation_id)
        taught = await memories.repositories(services.database, installation_id)  # words of people need no run
        repository_ids = sorted({*ran, *taught})
    await checkpoints.purge(services.database, repository_ids)
    await leases.purge(services.database, repository_ids)
    await memory_files.purge(services.database, installation_id, repository_ids)
    await retention.forget(services.database, repository_ids)
    await forget_journals(services, repository_ids)
    await purge_copies(services, installation_id, repository_ids)
    return len(repository_ids)


async def purge_copies(services: Services, installation_id: int, repository_ids: Sequence[int]) -> None:
    """Remove what can be read again where access comes back: mirrors, downloads, kept configurations.

    :raises CodeAccessError: a mirror is in use; what uses it is about to end.
    """
    await configurations.purge(services.database, installation_id, repository_ids)
    if services.toolbox.filling is not None:
        for each in repository_ids:
            await services.toolbox.filling.remove(each)
    removed = [await services.mirrors.remove(each) for each in repository_ids]
    if not all(removed):
        raise CodeAccessError("The mirror of a repository that Forge lost is still in use.")
