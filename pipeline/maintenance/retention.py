"""Removes old rows, journals and mirrors once an hour, and at once the data of repositories that Forge lost."""

import asyncio
import contextlib
from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog
from dbos import DBOS

from domain.errors import CodeAccessError, Forbidden, NotFound
from memory.learned import memories
from memory.process import sessions
from memory.reports import metrics, retention
from memory.reports.retention import CODE_RETENTION
from memory.repositories import addresses, configurations, welcomes
from memory.runs import checkpoints, contract_leases, runs
from pipeline.context import Services

log = structlog.get_logger(__name__)

EVERY = timedelta(hours=1)
MIRRORS = timedelta(days=30)
"""How long unused mirrors and downloads are kept; both can be fetched again."""
_BATCH = 50  # workflows, each with all its steps
_FINISHED = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]


class Retention:
    """The sweep of one process. Several may run at once."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._swept: datetime | None = None

    async def sweep(self) -> None:
        """Remove old data, unless this process did so within the hour."""
        now = self._services.clock.now()
        if self._swept is not None and timedelta() <= now - self._swept < EVERY:
            return
        self._swept = now
        await self._remove_lost()
        removed = await remove_old(self._services, now)
        if removed:
            log.info("retention.swept", **{name.replace(" ", "_"): count for name, count in removed.items()})

    async def _remove_lost(self) -> None:
        """Remove this machine's copies of purged repositories; a mirror in use is removed by a later sweep."""
        for each in await addresses.list_purged(self._services.database):
            with contextlib.suppress(CodeAccessError):
                await remove_copies(self._services, [each])


async def remove_old(services: Services, now: datetime) -> dict[str, int]:
    """Remove data whose time is over; how much of each kind."""
    terms = await retention.load_terms(services.database)
    removed = await retention.remove(services.database, terms, now)
    removed |= await retention.remove_problems(services.database, terms, now)
    targets = await retention.remove_notice_targets(services.database, now)
    ended = await sessions.remove_old(services.database, now)
    longest = timedelta(days=max(retention.USUAL_DAYS, *terms.values(), 0))
    sums = await metrics.remove_old(services.database, now - longest)
    mirrors = len(await services.mirrors.purge(now - MIRRORS))
    filling = services.toolbox.cache_warmer
    downloads = 0 if filling is None else await filling.cache.purge(now - MIRRORS)
    journals = await _remove_old_journals(now - CODE_RETENTION)
    copies = {"mirrors": mirrors, "downloads": downloads, "journals": journals}
    more = {"notice targets": targets, "sessions": ended, "sums": sums, **copies}
    return removed | {name: count for name, count in more.items() if count}


async def _remove_old_journals(until: datetime) -> int:
    """Remove DBOS's records of finished workflows, because the answers of their steps contain code and prompts."""
    count = 0
    while True:
        found = await DBOS.list_workflows_async(
            status=_FINISHED, completed_before=until.isoformat(), limit=_BATCH, load_input=False, load_output=False
        )
        await _remove([each.workflow_id for each in found])
        count += len(found)
        if len(found) < _BATCH:
            return count
        await asyncio.sleep(0)


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


async def remove_copies(services: Services, repository_ids: Sequence[int]) -> None:
    """Remove this machine's copies of repositories.

    :raises CodeAccessError: a mirror is in use by work that is about to end.
    """
    if services.toolbox.cache_warmer is not None:
        for each in repository_ids:
            await services.toolbox.cache_warmer.remove(each)
    removed = [await services.mirrors.remove(each) for each in repository_ids]
    if not all(removed):
        raise CodeAccessError("The mirror of a repository that Forge lost is still in use.")


async def forget_journals(services: Services, repository_ids: Sequence[int]) -> None:
    """Remove the journals of finished workflows of repositories that Forge lost; the others get too old later."""
    runs = await retention.list_lost_runs(services.database, repository_ids)
    deliveries = await retention.list_lost_deliveries(services.database, repository_ids)
    for ids in (runs, deliveries):
        for start in range(0, len(ids), _BATCH):
            found = await DBOS.list_workflows_async(
                workflow_id_prefix=[*ids[start : start + _BATCH]], status=_FINISHED, load_input=False, load_output=False
            )
            await _remove([each.workflow_id for each in found])


async def _remove(workflow_ids: Sequence[str]) -> None:
    if workflow_ids:
        await DBOS.delete_workflows_async([*workflow_ids])
