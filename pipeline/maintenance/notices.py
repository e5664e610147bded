"""Tells each target that wants to hear of it what happened, as one durable workflow for each cause and target."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import structlog

from domain.errors import DatabaseUnavailable, OutboundFailed, OutboundRefused
from domain.notices import Notice, NoticeFormat, NoticeTarget, NoticeType, TargetState, sign
from domain.ports import Clock, Outbound
from memory.deliveries import notice_targets, notices
from messages.notices import build_notice, plain, render, say_enough
from pipeline.config import loading
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal
from pipeline.durable.queues import NOTICE, enqueue
from safety.notices import GIVEN_UP_AFTER, MOST_IN_AN_HOUR, count_told, is_refusal, note_failure, note_success

log = structlog.get_logger(__name__)

_EVENTS_AT_ONCE = 50
_COMMENTED = timedelta(seconds=15)
"""How long a notice of a gate waits for the comment with which the gate asks, to which it leads."""
_SAID = 100  # characters of an answer that are shown


async def enqueue_notices(services: Services) -> None:
    """Queue the notices that follow from what happened since; several processes may do it at once."""
    last = ""
    while found := await notices.list_untold(services.database, _EVENTS_AT_ONCE, last):
        for event_id in found:
            await _enqueue(services, event_id)
        last = found[-1]


async def _enqueue(services: Services, event_id: str) -> None:
    try:
        told = await _load(services, event_id)
    except DatabaseUnavailable:
        raise
    except Exception:  # nobody is told of this one, so that the next ones are
        log.exception("notice.not_made", event_id=event_id)
        told = None
    if told is not None:
        if _is_early(told.notice, services.clock.now()):
            return
        for each in told.targets:
            await enqueue(NOTICE, each.id, event_id, target=each.id, cause=told.notice.cause)
    await notices.forget(services.database, event_id)


def _is_early(notice: Notice, now: datetime) -> bool:
    """Whether a notice of a gate leads to no comment yet."""
    leads_nowhere = notice.type is NoticeType.gate_opened and "#" not in notice.url
    return leads_nowhere and timedelta() <= now - notice.at < _COMMENTED


@dataclass(frozen=True)
class _Told:
    notice: Notice
    targets: Sequence[NoticeTarget]


async def _load(services: Services, event_id: str) -> _Told | None:
    """What is told of an event, as things are now, and who wants it; None: there is nothing to tell."""
    noticed = await notices.load(services.database, event_id)
    if noticed is None:
        return None
    at, access = noticed.repository, services.notices
    page = "" if at is None else services.host.page(at)
    notice = build_notice(noticed.event, at, noticed.run, noticed.gate, page)
    if notice is None:
        return None
    targets = [*access.targets]
    if at is not None:
        named = (await loading.load_stored(services.database, at)).notify
        targets += [access.build_target(at, each.url, each.events) for each in named]
    return _Told(notice, [each for each in targets if each.wants(notice)])


@dataclass(frozen=True)
class Outcome:
    """What became of an attempt.

    :param pause: until the next one; None: there is none.
    """

    said: str
    pause: timedelta | None = None


async def tell(services: Services, target_id: str, event_id: str, workflow_id: str) -> str:
    """Tell one target of one event, as a workflow; how it ended."""
    journal = WorkflowJournal(services, workflow_id)
    while (pause := (outcome := await journal.step("tell", _attempt, services, target_id, event_id)).pause) is not None:
        await journal.pause(pause, outcome.said)
    return outcome.said


async def _attempt(services: Services, target_id: str, event_id: str) -> Outcome:
    """Tell a target, unless it is left alone, had enough, or does not want it any more."""
    database, now = services.database, services.clock.now()
    told = await _load(services, event_id)
    target = None if told is None else next((each for each in told.targets if each.id == target_id), None)
    if told is None or target is None:
        return Outcome("nobody wants it any more")
    notice = told.notice
    state = await notice_targets.find(database, target_id) or build_state(target, now)
    if now < state.rest_until:
        return _wait(state, notice, now)
    count = count_told(state, now)
    if count >= MOST_IN_AN_HOUR:
        log.warning("notice.left_out", target=target.name, event_id=event_id)
        return Outcome("left out: it had enough within the hour")
    if count == MOST_IN_AN_HOUR - 1:
        notice = replace(notice, text=say_enough(notice.text, state.hour + timedelta(hours=1)))
    state, is_over = await send(services.outbound, services.clock, target, notice, event_id, state)
    await notice_targets.save(database, state)
    if not state.problem:
        return Outcome("sent")
    log.warning("notice.not_sent", target=target.name, why=state.problem, event_id=event_id)
    return Outcome(state.problem) if is_over else _wait(state, notice, now)


def _wait(state: TargetState, notice: Notice, now: datetime) -> Outcome:
    """Try again when the target is not left alone any more, unless that is too late."""
    if state.rest_until >= notice.at + GIVEN_UP_AFTER:
        return Outcome(f"given up: {state.problem}")
    return Outcome(f"{state.name} is left alone: {state.problem}", max(state.rest_until - now, timedelta()))


def build_state(target: NoticeTarget, now: datetime) -> TargetState:
    """How a target is to which nothing was sent."""
    return TargetState(target.id, target.name, target.repository_id, now, now, now)


async def send(
    outbound: Outbound, clock: Clock, target: NoticeTarget, notice: Notice, notice_id: str, state: TargetState
) -> tuple[TargetState, bool]:
    """Make one attempt; how the target is then, and whether the notice is over.

    :param notice_id: the same in every attempt.
    """
    body, headers = render(notice, target.format), {"content-type": "application/json"}
    if target.format is NoticeFormat.json:
        headers |= sign(target.secret, notice_id, clock.now(), body)
    try:
        answer = await outbound.post(target.url, body, headers)
    except (OutboundFailed, OutboundRefused) as error:
        return note_failure(state, plain(str(error), 300), clock.now()), False
    if 200 <= answer.status < 300:
        return note_success(state, clock.now()), True
    said = plain(answer.body.decode(errors="replace"), _SAID)
    why = f"it answered {answer.status}" + (f" ({said})" if said else "")
    failed = note_failure(state, why, clock.now(), answer.status, answer.retry_after)
    return failed, is_refusal(answer.status)
