"""Serves reads from the past, as GitHub does when what answers them lags behind its webhooks."""

from __future__ import annotations

import asyncio
import contextlib
import copy
from collections import deque
from datetime import datetime, timedelta

from simulator.state import World

_LOOKS = 0.05  # seconds between two pictures of the world


class Lagging:
    """Answers reads with what the world was like some seconds ago; writes, and who may do what, are of this moment."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._by = timedelta()
        self._past: deque[tuple[datetime, World]] = deque()
        self._task: asyncio.Task[None] | None = None

    def lag(self, seconds: float) -> None:
        """Let reads lag from now on, behind what there is at this moment; 0 ends it at once."""
        self._by = timedelta(seconds=seconds)
        self._past.clear()
        if not seconds:
            self._cancel()
            return
        self._take()
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._take_again())

    async def stop(self) -> None:
        task = self._task
        self._cancel()
        if task is not None:
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def world(self) -> World:
        """The world as reads see it."""
        wanted = self._world.now() - self._by
        if self._past and self._past[-1][0] < wanted:
            self._take()
        while len(self._past) > 1 and self._past[1][0] <= wanted:
            self._past.popleft()
        return self._past[0][1] if self._past else self._world

    def _cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._task = None

    async def _take_again(self) -> None:
        while True:
            await asyncio.sleep(_LOOKS)
            self._take()

    def _take(self) -> None:
        now = self._world.now()
        if self._past and self._past[-1][0] < now - self._by:  # somebody moved the clock: what was new is old now
            self._past.clear()
        self._past.append((now, _copy(self._world)))
        self.world()  # lets go of what is too old


def _copy(world: World) -> World:
    """The world at this moment, but for what does not lag: accounts, Apps, roles and who installed what."""
    shared: list[object] = [world.now, world.app, world.hooks, world.ids, world.accounts, world.apps, world.old_names]
    shared += [world.installations, world.tokens, world.manifests, world.sign_ins, world.links, world.stage]
    shared += [world.graphql_schema, world.unpublished]
    shared += [*world.accounts.values(), *world.apps.values()]
    for repository in world.repositories.values():
        shared += [repository.roles, repository.custom_roles]
    return copy.deepcopy(world, {id(each): each for each in shared})
