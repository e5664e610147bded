"""Purges the data of repositories that Forge lost. Audit and costs stay for their retention time."""

from collections.abc import Sequence

from domain.errors import Forbidden, NotFound
from memory.learned import memories, memory_file
from memory.reports import retention
from memory.repositories import addresses, configurations, welcomes
from memory.runs import checkpoints, contract_leases, runs
from pipeline.context import Services
from pipeline.maintenance.retention import forget_journals, remove_copies


async def list_lost_repositories(
    services: Services, installation_id: int, repository_ids: Sequence[int]
) -> Sequence[int]:
    """The repositories that an installation cannot see now: the event that told of it may be late.

    :raises CodeHostError: GitHub does not answer.
    """
    try:
        covered = await services.host.repository_ids(installation_id)
    except (Forbidden, NotFound):  # suspended or uninstalled: it can see nothing
        return repository_ids
    return [each for each in repository_ids if each not in covered]


async def purge(services: Services, installation_id: int, repository_ids: Sequence[int] | None) -> int:
    """Remove code, prompts, leases, configurations, findings, gates and what was learned; of how many repositories.

    The data of repositories that were transferred to another owner with the App stays. May be repeated. Audit, costs
    and deliveries stay for their retention time (:mod:`memory.reports.retention`).

    :param repository_ids: None: all of the installation.
    :raises CodeAccessError: a mirror is in use by work that is about to end.
    """
    everything = repository_ids is None
    if repository_ids is None:
        ran = await runs.list_repositories(services.database, installation_id)
        taught = await memories.list_repositories(services.database, installation_id)  # people can teach without a run
        welcomed = await welcomes.list_repositories(services.database, installation_id)
        repository_ids = sorted({*ran, *taught, *welcomed})
    elsewhere = await runs.find_transferred(services.database, installation_id, repository_ids)  # they were transferred
    repository_ids = [each for each in repository_ids if each not in elsewhere]
    scopes = None if everything else repository_ids  # None: the organisation's, too
    await configurations.purge(services.database, installation_id, scopes, elsewhere)
    await checkpoints.purge(services.database, repository_ids)
    await contract_leases.purge(services.database, repository_ids)
    await memory_file.purge(services.database, installation_id, repository_ids)
    await retention.forget_repositories(services.database, repository_ids)
    await forget_journals(services, repository_ids)
    await purge_copies(services, installation_id, repository_ids)
    return len(repository_ids)


async def purge_copies(services: Services, installation_id: int, repository_ids: Sequence[int]) -> None:
    """Remove what can be fetched again if access returns: mirrors, downloads, stored configurations.

    :raises CodeAccessError: a mirror is in use by work that is about to end.
    """
    await configurations.purge(services.database, installation_id, repository_ids)
    await addresses.note_purged(
        services.database, repository_ids, services.clock.now()
    )  # for the processes of other machines
    await remove_copies(services, repository_ids)
