"""Builds the parts that workflows use, from the settings."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack

from agents.toolbox import Toolbox
from bot.model_gateway import open_gateway
from bot.operator_files import load_deploy_access, load_notice_access
from bot.outbound import OutboundClient
from bot.settings import Settings
from domain.ports import Clock
from domain.text.escaping import Markers
from domain.text.redaction import PROCESS_REDACTOR
from github.client import Client
from github.host import GitHubHost
from github.registration import load_permissions
from memory.db.engine import Database
from memory.process import halts
from pipeline.context import Services
from workspace.dependency_cache import DependencyCache
from workspace.mirror import Mirrors
from workspace.safe_copy import remove_tree
from workspace.sandbox.worker_pool import WorkerPool


def build_host(
    settings: Settings, database: Database, clock: Clock, require_lease: Callable[[], Awaitable[None]]
) -> GitHubHost:
    """:param require_lease: raises if another process has taken over the work of this one."""

    async def stop() -> None:
        await halts.require_none(database)
        await require_lease()

    return GitHubHost(Client(settings.github, clock, database, stop=stop))


async def build_services(
    settings: Settings,
    database: Database,
    host: GitHubHost,
    clock: Clock,
    stack: AsyncExitStack,
    pool: WorkerPool | None = None,
) -> Services:
    accesses = await asyncio.to_thread(load_deploy_access, settings.deploy_access)
    PROCESS_REDACTOR.learn(*(value for access in accesses.values() for value in access.secrets.values()))
    notices = await asyncio.to_thread(load_notice_access, settings.notify_targets, settings.private_key_pem())
    outbound = OutboundClient(settings.outbound_allow)
    stack.callback(outbound.close)
    return Services(
        database=database,
        host=host,
        outbound=outbound,
        clock=clock,
        mirrors=Mirrors(settings.data_dir.absolute() / "mirrors"),
        toolbox=await stack.enter_async_context(
            Toolbox.start(
                workers=settings.tool_workers,
                user=settings.sandbox_user,
                sandbox=settings.sandbox,
                reads=settings.sandbox_tools,
                proxy=settings.sandbox_proxy,
                cache=await asyncio.to_thread(_cache, settings),
                pool=pool,
            )
        ),
        open_gateway=open_gateway,
        markers=Markers(settings.private_key_pem().encode()),
        models=settings.models,
        ceilings=settings.ceilings,
        reflects=settings.reflection,
        public_url=settings.public_url,
        welcomes=settings.welcome,
        permissions=await asyncio.to_thread(load_permissions),
        deploy_access=accesses,
        notices=notices,
    )


def _cache(settings: Settings) -> DependencyCache | None:
    """The cache for downloads of set-up commands. If the operator wants none, an old one is deleted."""
    folder, most = settings.data_dir.absolute() / "dependencies", settings.dependency_cache
    if most:
        return DependencyCache(folder, most_bytes=most)
    if folder.exists():
        remove_tree(folder)
    return None
