"""Finds missed deliveries in GitHub's log, and requests them again."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta

import structlog

from domain.errors import Forbidden, ForgeError, NotFound, Unprocessable
from domain.github.installations import DeliveryAttempt
from domain.ports import Clock
from domain.value import new_id
from github.host import GitHubDeliveries
from memory.db.engine import Database
from memory.deliveries import deliveries, redelivery
from memory.deliveries.redelivery import LogLease
from safety.github_limits import TOO_OLD, DoubtfulDelivery, RedeliveryStep, list_doubtful, plan_redelivery

log = structlog.get_logger(__name__)

EVERY = timedelta(minutes=3)
OVERLAP = timedelta(minutes=5)  # read twice: attempts are not logged in the order in which they end
MAX_PAGES = 300  # of 100 attempts, in one sweep
MAX_REQUESTS = 100  # in one sweep
POLL_SECONDS = 5.0  # seconds between two looks whether a sweep is due
_POLLS_AFTER_FAILURE = 12  # polls between a failure and the next sweep


class TurnLost(ForgeError):
    """Another process reads the log now, because this one took too long."""

    def __init__(self) -> None:
        super().__init__("Another process reads GitHub's log of deliveries now.")


class Redelivery:
    """Reads the new part of GitHub's log of deliveries, one process at a time.

    :param look: seconds between two polls whether a sweep is due.
    :param most: deliveries requested in one sweep.
    :param is_any_door_open: asked before each sweep, where deliveries come to other processes; None: to this one.
    :param count: called with "asked" or "refused" for each requested delivery.
    """

    def __init__(
        self,
        database: Database,
        delivery_log: GitHubDeliveries,
        clock: Clock,
        app_id: int,
        *,
        look: float = POLL_SECONDS,
        most: int = MAX_REQUESTS,
        is_any_door_open: Callable[[], Awaitable[bool]] | None = None,
        count: Callable[[str], None] = lambda outcome: None,
    ) -> None:
        self._database = database
        self._log = delivery_log
        self._clock = clock
        self._turn = LogLease(app_id, new_id())
        self._look = look
        self._most = most
        self._is_any_door_open = is_any_door_open
        self._count = count
        self._has_begun = False

    async def keep_sweeping(self) -> None:
        """Sweep every few minutes, when it is this process's turn; a failure does not end it."""
        while True:
            looks = 1
            try:
                await self.sweep()
            except ForgeError as error:
                log.warning("redelivery.failed", error=str(error))
                looks = _POLLS_AFTER_FAILURE
            except Exception:
                log.exception("redelivery.failed")
                looks = _POLLS_AFTER_FAILURE
            await asyncio.sleep(looks * self._look)

    async def sweep(self) -> bool:
        """Read the new part of the log and request what was missed, if that is due; whether it was.

        The first sweep of a process is always due: no process may have run before.

        :raises CodeHostError: GitHub does not answer; the next sweep starts where the last complete one ended.
        """
        if self._is_any_door_open is not None and not await self._is_any_door_open():
            return False  # nobody would take them, and each request counts
        now = self._clock.now()
        due = now - EVERY if self._has_begun else now
        if not await redelivery.acquire(self._database, self._turn, now, due):
            return False
        self._has_begun = True
        try:
            await self._request_all(await self._find_missed())
        finally:
            await redelivery.release(self._database, self._turn, self._clock.now())
        return True

    async def _find_missed(self) -> Sequence[DoubtfulDelivery]:
        """The deliveries to request, the oldest first; doubtful ones are stored for later."""
        now = self._clock.now()
        attempts = await self._load_attempts(await self._choose_start(now))
        remembered = await redelivery.list_doubtful(self._database)
        found = list_doubtful(attempts, remembered)
        known = await deliveries.find_stored(self._database, [each.guid for each in found])
        verdicts = plan_redelivery(found, known, now, self._log.redeliverable_for)
        left = [each.delivery for each in verdicts if each.step is not RedeliveryStep.drop]
        gone = {each.delivery.guid for each in verdicts if each.step is RedeliveryStep.drop}
        await self._keep_turn()
        await redelivery.save_doubtful(self._database, [each for each in left if each not in remembered])
        await redelivery.remove_doubtful(self._database, [each for each in remembered if each.guid in gone])
        if attempts:
            newest = min(max(each.at for each in attempts), now)
            await redelivery.set_read_to(self._database, self._turn, newest)
        for each in verdicts:
            if each.delivery.asked and each.reason.code == TOO_OLD:
                log.warning("redelivery.given_up", guid=each.delivery.guid, times=each.delivery.asked)
        return [each.delivery for each in verdicts if each.step is RedeliveryStep.ask]

    async def _choose_start(self, now: datetime) -> datetime:
        """The moment from which on the log must be read."""
        oldest = now - self._log.redeliverable_for
        before = await redelivery.get_read_to(self._database, self._turn.app_id)
        return oldest if before is None else max(oldest, before - OVERLAP)

    async def _load_attempts(self, back_to: datetime) -> Sequence[DeliveryAttempt]:
        """The attempts since a moment, up to a maximum, newest first."""
        attempts: list[DeliveryAttempt] = []
        cursor = None
        for _ in range(MAX_PAGES):
            await self._keep_turn()
            page = await self._log.attempts(cursor)
            attempts += page.attempts
            cursor = page.following
            if cursor is None or not page.attempts or page.attempts[-1].at < back_to:
                return attempts
        log.warning("redelivery.log_too_long", attempts=len(attempts), read_back_to=attempts[-1].at.isoformat())
        return attempts

    async def _request_all(self, missed: Sequence[DoubtfulDelivery]) -> None:
        """Request deliveries. Each counts as requested before the request, so a lost answer repeats nothing."""
        outcomes: Counter[str] = Counter()
        try:
            for each in missed[: self._most]:
                if not await redelivery.claim(self._database, self._turn, each, self._clock.now()):
                    raise TurnLost
                outcome = await self._request(each)
                outcomes[outcome] += 1
                self._count(outcome)
        finally:
            if outcomes:
                log.info("redelivery.done", left=len(missed) - outcomes.total(), **outcomes)

    async def _request(self, delivery: DoubtfulDelivery) -> str:
        try:
            await self._log.redeliver(delivery.attempt_id)
        except (Forbidden, NotFound, Unprocessable) as error:  # this one only
            log.warning("redelivery.refused", guid=delivery.guid, event_name=delivery.event, error=str(error))
            return "refused"
        return "asked"

    async def _keep_turn(self) -> None:
        """:raises TurnLost: it is another process's by now."""
        if not await redelivery.renew(self._database, self._turn, self._clock.now()):
            raise TurnLost
