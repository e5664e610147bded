"""Handles changes of a repository itself: its address, and its file of memories."""

from functools import partial

from domain.commands import FollowRepository, ReadMemoryFile
from domain.errors import Behind, NotFound
from domain.runs.run import RepositoryRef
from memory.repositories import addresses
from messages import deliveries as texts
from pipeline.config.memory_file import import_memory_file
from pipeline.consistent_reads import read_when_visible
from pipeline.context import Services
from pipeline.deliveries.context import DeliveryContext
from pipeline.maintenance.purge import list_lost_repositories


async def follow_repository(context: DeliveryContext, command: FollowRepository) -> str:
    """Keep the address GitHub gives for the repository now: the event may be late, or sent twice."""
    follow = partial(_follow, context.services, command.repository)
    return await read_when_visible(context.services, context.journal, "follow", follow, command.repository)


async def read_memory_file(context: DeliveryContext, command: ReadMemoryFile) -> str:
    """Read the file of memories after a push."""
    read, key = partial(_read_memory_file, context, command), "read the memory file"
    return await read_when_visible(context.services, context.journal, key, read, command.head_sha)


async def _follow(services: Services, repository: RepositoryRef, seen: RepositoryRef | None) -> str:
    now = await _load_address(services, repository, seen)
    if await list_lost_repositories(services, now.installation_id, (now.id,)):
        return texts.NOT_COVERED
    return texts.describe_address(await addresses.update_address(services.database, now))


async def _load_address(services: Services, repository: RepositoryRef, seen: RepositoryRef | None) -> RepositoryRef:
    """:raises Behind: GitHub does not show the address of the event yet."""
    try:
        now = await services.host.address(repository)
    except NotFound as error:
        if seen is None:
            raise
        raise Behind(error.message, error.advice) from error
    if seen is not None and now != seen:
        raise Behind(f"GitHub does not show yet that it is {seen.full_name} now.", "Forge looks again.")
    return now


async def _read_memory_file(context: DeliveryContext, command: ReadMemoryFile, pushed: str | None) -> str:
    return await import_memory_file(context.services, command.repository, context.guid, pushed)
