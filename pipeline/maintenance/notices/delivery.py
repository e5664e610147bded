"""Sends notices to one target after the other, in their order, and says what became of each."""

from dataclasses import dataclass
from datetime import datetime
from urllib.parse import urlsplit

import structlog

from domain.errors import OutboundFailed, OutboundRefused
from domain.notices import Notice, NoticeFormat, parse_key, sign
from domain.ports import Clock, Outbound
from memory.db.engine import Database
from memory.deliveries import notice_targets, notices
from memory.deliveries.notice_targets import TargetState
from memory.deliveries.notices import FAILED, SENT, StoredNotice
from messages.notice_formats import render
from messages.notices import plain, sum_up
from pipeline.context import Services
from pipeline.maintenance.notices.addressing import AddressBook, NoticeAddress
from safety.notices import GIVEN_UP_AFTER, SendOutcome, SendVerdict, judge_answer, judge_failure

log = structlog.get_logger(__name__)

_IN_A_ROW = 10
"""Notices to a program before others have their turn; chats take about one a second."""
_SAID = 100  # characters of an answer that are shown


class NoticeDelivery:
    """What this process sends.

    :param holder: is new at each start.
    """

    def __init__(self, services: Services, holder: str) -> None:
        self._services = services
        self._database: Database = services.database
        self._clock: Clock = services.clock
        self._holder = holder
        self._sender = NoticeSender(services.outbound, services.clock)

    async def serve(self, key: str) -> None:
        """Send what is due to a target, until it fails or others have their turn; nothing if another process does."""
        state = await notice_targets.claim(self._database, key, self._holder, self._clock.now())
        if state is None:
            return
        try:
            if state.failures:
                await self._give_up_old(state)
            await self._send_some(state)
        finally:
            await notice_targets.release(self._database, key, self._holder, self._clock.now())

    async def _give_up_old(self, state: TargetState) -> None:
        """End what waited for so long that it is old news: only what is left is tried once more."""
        now = self._clock.now()
        why = f"not delivered within {GIVEN_UP_AFTER.total_seconds() / 3600:.0f} hours: {state.problem}"
        await notices.give_up(self._database, state.key, why, now, now - GIVEN_UP_AFTER)

    async def _send_some(self, state: TargetState) -> None:
        book = AddressBook(self._services)
        for _ in range(_IN_A_ROW):
            stored = await notices.take_next(self._database, state.key, self._clock.now())
            if stored is None:
                return
            notice = sum_up(stored.notice, stored.more) if stored.more else stored.notice
            address = await book.find_address(state.key, notice)
            if isinstance(address, str):
                await notices.finish(self._database, stored.id, FAILED, address, self._clock.now())
                await notice_targets.forget(self._database, state.key)
                return
            verdict = await self._sender.send(
                address, OutgoingNotice(stored.id, notice, stored.created_at), state.failures
            )
            await self._record(stored, verdict)
            goes_on = verdict.outcome in {SendOutcome.sent, SendOutcome.refused} and not address.format.is_chat
            if not goes_on or not await notice_targets.renew(
                self._database, state.key, self._holder, self._clock.now()
            ):
                return

    async def _record(self, stored: StoredNotice, verdict: SendVerdict) -> None:
        """Keep what became of an attempt, first of the notice: it is not sent again because of the target's state."""
        now, key = self._clock.now(), stored.target
        match verdict.outcome:
            case SendOutcome.sent:
                await notices.finish(self._database, stored.id, SENT, "", now)
                await notice_targets.record_success(self._database, key, now)
                return
            case SendOutcome.later:
                await notices.note_problem(self._database, stored.id, verdict.why)
            case SendOutcome.refused | SendOutcome.over:
                await notices.finish(self._database, stored.id, FAILED, verdict.why, now)
            case SendOutcome.gone:
                await notice_targets.record_gone(self._database, key, verdict.why, now)
                await notices.give_up(self._database, key, verdict.why, now)
                log.warning("notice.target_gone", target=_name(key), why=verdict.why)
                return
        log.warning("notice.not_sent", target=_name(key), why=verdict.why, notice=stored.id)
        await notice_targets.record_failure(self._database, key, verdict.why, verdict.retry_at or now, now)


@dataclass(frozen=True)
class OutgoingNotice:
    """A notice as it is sent.

    :param id: the same in every attempt.
    """

    id: str
    notice: Notice
    created_at: datetime


class NoticeSender:
    """Makes one attempt, and judges the answer."""

    def __init__(self, outbound: Outbound, clock: Clock) -> None:
        self._outbound = outbound
        self._clock = clock

    async def send(self, address: NoticeAddress, outgoing: OutgoingNotice, failures: int = 0) -> SendVerdict:
        """Try once; what follows from the answer, or from having none.

        :param failures: in a row of this target before.
        """
        body = render(outgoing.notice, address.format)
        headers = {"content-type": "application/json"}
        if address.format is NoticeFormat.json:
            headers |= sign(address.secret, outgoing.id, self._clock.now(), body)
        try:
            answer = await self._outbound.post(address.url, body, headers)
        except (OutboundFailed, OutboundRefused) as error:
            return judge_failure(plain(str(error), 300), failures, outgoing.created_at, self._clock.now())
        said = plain(answer.body.decode(errors="replace"), _SAID) if answer.status >= 300 else ""
        now = self._clock.now()
        return judge_answer(answer.status, answer.retry_after, failures, outgoing.created_at, now, said)


def _name(key: str) -> str:
    """A target as a log names it: without the path of an address."""
    number, name = parse_key(key)
    return f"{urlsplit(name).hostname} of repository {number}" if number else name
