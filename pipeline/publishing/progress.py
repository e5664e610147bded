"""Posts progress updates beside the work of a run: the newest only, and only if it lasts a moment."""

import asyncio

import structlog

from domain.errors import ForgeError
from domain.runs.run import Run
from memory.db.engine import Database
from memory.process import halts
from memory.runs import runs
from pipeline.publishing.publisher import ProgressWrite
from safety.github_limits import Importance, use_importance

log = structlog.get_logger(__name__)

_POLL_SECONDS = 0.1  # seconds between two checks whether the last write is over


class ProgressUpdates:
    """The progress updates of one execution of a run, about one object that shows it, such as its comment.

    Nothing waits for them, and losing one loses nothing. Call :meth:`quiet` before every write there that must stay,
    and before the execution ends: then no update comes after a final status, here or in another process.

    :param lasts: seconds; an update that is replaced sooner is not posted.
    """

    def __init__(self, database: Database, run: Run, lasts: float) -> None:
        self._database = database
        self._run = run
        self._lasts = lasts
        self._next: asyncio.TimerHandle | None = None
        self._writing: asyncio.Task[None] | None = None

    def post_later(self, write: ProgressWrite) -> None:
        """Post this update in a moment, instead of the one that waits.

        :param write: the write; it may fail, or never be made.
        """
        self._drop()
        self._schedule(self._lasts, write)

    async def quiet(self) -> None:
        """Post nothing more: drops the update that waits, and waits for the one on its way to GitHub."""
        self._drop()
        if self._writing is not None:
            await asyncio.wait({self._writing})

    def _drop(self) -> None:
        if self._next is not None:
            self._next.cancel()

    def _schedule(self, seconds: float, write: ProgressWrite) -> None:
        self._next = asyncio.get_running_loop().call_later(seconds, self._begin, write)

    def _begin(self, write: ProgressWrite) -> None:
        if self._writing is not None and not self._writing.done():
            self._schedule(_POLL_SECONDS, write)
        else:
            self._writing = asyncio.create_task(self._write(write))

    async def _write(self, write: ProgressWrite) -> None:
        """Write, unless the operator told Forge to stop, or another run took over."""
        try:
            await halts.require_none(self._database)
            if await runs.is_current(self._database, self._run):
                with use_importance(Importance.informing):
                    await write()
        except ForgeError as error:
            log.info("progress.untold", run=self._run.id, error=str(error))
        except Exception:
            log.exception("progress.untold", run=self._run.id)
