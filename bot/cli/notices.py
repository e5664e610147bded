"""`forge notices`: lists what was told to whom, and which targets fail."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from bot.cli import lookup
from bot.cli.output import output
from bot.current_database import open_database
from bot.settings import Installation
from domain.text.escaping import strip_invisible
from domain.text.redaction import redact_outgoing
from memory.deliveries.notices import notices, targets
from memory.deliveries.notices.notices import FAILED, STATES, StoredNotice
from memory.deliveries.notices.targets import TargetState
from messages.notices import describe_target, sum_up


async def show_all(settings: Installation, repository: str | None, limit: int, *, failed: bool, as_json: bool) -> None:
    """Print the latest notices, and the targets that fail.

    :param repository: only this one.
    :raises UnknownName: if Forge never ran in the repository.
    """
    async with open_database(settings) as database:
        only = None if repository is None else (await lookup.find_repository(database, repository)).id
        found = await notices.list_latest(database, limit, [FAILED] if failed else STATES, only)
        failing = await targets.list_failing(database)
    with output() as console:
        for line in _to_lines(found, failing, as_json=as_json):
            console.print(line, markup=False, highlight=False, emoji=False, soft_wrap=True)


def _to_lines(found: Sequence[StoredNotice], failing: Sequence[TargetState], *, as_json: bool) -> Iterator[str]:
    if as_json:
        yield json.dumps({"notices": [_to_json(each) for each in found], "failing": list(map(_state_json, failing))})
        return
    for each in found:
        yield from _describe(each)
    if not found:
        yield "There are no notices."
    for each in failing:
        since = "" if each.failing_since is None else f" since {_when(each.failing_since)}"
        how = "wants nothing any more" if each.gone_at else f"fails{since}, next attempt {_when(each.retry_at)}"
        yield _plain(f"! {describe_target(each.key)} {how}: {each.problem}")


def _describe(stored: StoredNotice) -> Iterator[str]:
    told = sum_up(stored.notice, stored.more) if stored.more else stored.notice
    tries = "" if stored.attempts < 2 else f", {stored.attempts} attempts"
    parts = (_when(stored.created_at), told.type, f"{stored.state}{tries}", describe_target(stored.target), told.title)
    yield "  ".join(map(_plain, parts))
    if stored.problem:
        yield f"    {_plain(stored.problem)}"


def _to_json(stored: StoredNotice) -> dict[str, object]:
    told = sum_up(stored.notice, stored.more) if stored.more else stored.notice
    return {
        "id": stored.id,
        "target": describe_target(stored.target),
        "state": stored.state,
        "created_at": stored.created_at.isoformat(),
        "ended_at": None if stored.ended_at is None else stored.ended_at.isoformat(),
        "attempts": stored.attempts,
        "problem": redact_outgoing(stored.problem),
        "notice": told.model_dump(mode="json", exclude={"cause"}),
    }


def _state_json(state: TargetState) -> dict[str, object]:
    return {
        "target": describe_target(state.key),
        "failures": state.failures,
        "since": None if state.failing_since is None else state.failing_since.isoformat(),
        "is_gone": state.gone_at is not None,
        "retry_at": state.retry_at.isoformat(),
        "problem": redact_outgoing(state.problem),
    }


def _when(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"


def _plain(text: str) -> str:
    return " ".join(strip_invisible(redact_outgoing(text)).split())
