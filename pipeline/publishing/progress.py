"""Tells people how far a run is, beside its work: the newest only, and only what lasts a moment."""

import asyncio

import structlog

from domain.errors import ForgeError
from domain.importance import Importance, use_importance
from domain.runs.run import Run
from memory.db.engine import Database
from memory.process import halts
from memory.runs import runs
from pipeline.publishing.publisher import Write

log = structlog.get_logger(__name__)

_POLL_SECONDS = 0.1  # seconds between two looks whether the last write is over


class ProgressUpdates:
    """What one execution of a run says in passing about one thing that it shows, such as its comment.

    Nothing waits for it, and nothing is lost with it. It must be :meth:`quiet` before anything is said there that
    stays, and before the execution ends: so it never comes after a last word, here or in another process.

    :param lasts: seconds; what is overtaken sooner is not said.
    """

    def __init__(self, database: Database, run: Run, lasts: float) -> None:
        self._database = database
        self._run = run
        self._lasts = lasts
        self._next: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    def post_later(self, write: Write) -> None:
        """Say this in a moment, instead of what was to be said before.

        :param write: the one write; it may fail, or never be made.
        """
        self._drop()
        self._schedule(self._lasts, write)

    async def quiet(self) -> None:
        """Say nothing more: what waits is dropped, what is on its way to GitHub is waited for."""
        self._drop()
        if self._writing is not None:
            await asyncio.wait({self._writing})

    def _drop(self) -> None:
        if self._next is not None:
            self._next.cancel()

    def _schedule(self, seconds: float, write: Write) -> None:
        self._next = asyncio.get_running_loop().call_later(seconds, self._begin, write)

    def _begin(self, write: Write) -> None:
        if self._writing is not None and not self._writing.done():
            self._schedule(_POLL_SECONDS, write)
        else:
            self._writing = asyncio.create_task(self._write(write))

    async def _write(self, write: Write) -> None:
        """Unless the operator told Forge to stop, or another run took over, which this run finds out by itself."""
        try:
            await halts.require_none(self._database)
            if await runs.is_current(self._database, self._run):
                with use_importance(Importance.informing):
                    await write()
        except ForgeError as error:
            log.info("progress.untold", run=self._run.id, error=str(error))
        except Exception:
            log.exception("progress.untold", run=self._run.id)
