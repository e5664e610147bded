"""Makes each write to GitHub once: claims it under the fencing token, looks for its effect, writes, and records it.

Progress is written beside that: the newest only, and only if it lasts a moment.
"""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta

import structlog

from domain.errors import (
    Behind,
    Forbidden,
    ForgeError,
    Halted,
    LeftOut,
    NotFound,
    RateLimited,
    Superseded,
    Unprocessable,
)
from domain.runs.run import Run
from memory.db.engine import Database
from memory.process import halts
from memory.runs import outbox, runs
from pipeline.context import Services
from safety.github_limits import Importance, use_importance

Write = Callable[[], Awaitable[int]]
"""Makes a write; the id of the object on GitHub, or :data:`NO_ID`."""
Find = Callable[[], Awaitable[int | None]]
"""Finds what an earlier attempt wrote; its id."""
NO_ID = 0
"""What the outbox keeps of a write whose object has no id, or an unknown one."""
ProgressWrite = Callable[[], Awaitable[None]]
PostLater = Callable[[ProgressWrite], None]
"""Takes a write that is made in a moment, or never: see :class:`pipeline.publishing.publisher.ProgressUpdates`."""

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


async def write_once(
    services: Services,
    run: Run,
    step: str,
    kind: str,
    write: Write,
    *,
    find: Find | None = None,
    tested: outbox.TestedHead | None = None,
) -> int:
    """Make a write of a run once; the id of the object on GitHub.

    :param step: names the write in the outbox, together with its kind.
    :param find: None if the write may be repeated: it says the same again.
    :param tested: the tests that a check shows which this write creates.
    :raises Superseded: if another run owns the pull request.
    :raises Halted: if the operator told Forge to stop; nothing is claimed then.
    """
    await halts.require_none(services.database)
    claim = await outbox.claim(services.database, run, step, kind, services.clock.now(), tested)
    return await _carry_out(services, claim, write, find, make_lost(run) if claim.lost else None)


async def answer_once(services: Services, key: str, write: Write, *, find: Find) -> int:
    """Answer somebody once; the id on GitHub. No fencing token bounds that: people are answered whatever runs.

    :param key: names the answer, such as the id of the delivery.
    :raises Halted: if the operator told Forge to stop; nothing is claimed then.
    """
    await halts.require_none(services.database)
    claim = await outbox.claim_answer(services.database, key, services.clock.now())
    return await _carry_out(services, claim, write, find, None)


async def _carry_out(
    services: Services, claim: outbox.WriteClaim, write: Write, find: Find | None, lost: Superseded | None
) -> int:
    """The id of what a claim is for: written before, by an earlier attempt, or now.

    :param lost: why nothing may be written now.
    """
    if claim.remote_id is not None:
        return claim.remote_id
    remote_id = await _find_effect(services, claim, find)
    if remote_id is None:
        if lost is not None:
            raise lost
        remote_id = await _make_write(services, claim, write)
    await outbox.mark_done(services.database, claim.id, remote_id, services.clock.now())
    return remote_id


async def _find_effect(services: Services, claim: outbox.WriteClaim, find: Find | None) -> int | None:
    """The id of what an earlier attempt wrote; None if it wrote nothing.

    :raises Behind: if GitHub does not show the effect, and may show it a moment later.
    """
    if find is None or not claim.tried_before:
        return None
    found = await find()
    if found is None and services.clock.now() - claim.tried_at < timedelta(seconds=services.settling):
        raise Behind("GitHub did not say whether a write took effect, and may show it later.", "Forge looks again.")
    return found


async def _make_write(services: Services, claim: outbox.WriteClaim, write: Write) -> int:
    """The id of what is written now. After a refusal nothing was written, so the next attempt need not wait."""
    if claim.tried_before:
        await outbox.mark_tried(services.database, claim.id, services.clock.now())
    try:
        return await write()
    except (RateLimited, LeftOut, Halted, Forbidden, NotFound, Unprocessable):
        settled = services.clock.now() - timedelta(seconds=services.settling)
        await outbox.mark_tried(services.database, claim.id, settled)
        raise


async def post_progress_once(
    services: Services, run: Run, step: str, kind: str, remote_id: int, write: ProgressWrite, post_later: PostLater
) -> None:
    """Leave a write of progress to ``post_later``, once.

    If the process ends, the write is lost. It is not repeated after a crash, because newer progress may be posted.

    :param remote_id: of the object that it changes.
    """

    async def leave() -> int:
        post_later(write)
        return remote_id

    await write_once(services, run, step, kind, leave)


async def require_current(services: Services, run: Run) -> None:
    """Check before a write without a row in the outbox, which may be repeated.

    :raises Superseded: if another run owns the pull request.
    :raises Halted: if the operator told Forge to stop.
    """
    await halts.require_none(services.database)
    if not await runs.is_current(services.database, run):
        raise make_lost(run)


def make_lost(run: Run) -> Superseded:
    """The error of a run that wants to write after another one took its pull request over."""
    return Superseded(f"Run {run.id} may not write any more.")
