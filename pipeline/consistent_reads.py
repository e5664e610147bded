"""Waits for GitHub's API to show what a webhook told of: it may lag seconds behind (T-W15)."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar, cast

from dbos import DBOS
from pydantic import JsonValue

from domain.errors import Behind, NotFound
from domain.github.issues import Issue
from domain.github.pull_requests import PullRequest
from domain.github.seen import EventSnapshot, is_stale
from domain.runs.run import RepositoryRef
from pipeline.context import Services
from pipeline.durable.steps import call_dbos

Told = TypeVar("Told")
Shown = TypeVar("Shown", Issue, PullRequest)
Step = Callable[[str, Callable[[], Awaitable[JsonValue]]], Awaitable[JsonValue]]


async def read_when_visible(
    services: Services, step: Step, key: str, look: Callable[[Told | None], Awaitable[JsonValue]], told: Told | None
) -> JsonValue:
    """A step that looks at what an event told of, again after a pause as long as GitHub does not show it.

    :param step: of the journal.
    :param look: raises ``Behind`` where GitHub does not show yet what it is given; for None any answer counts.
    :param told: what the event showed; None where that is not known: then there is one look.
    :raises CodeHostError: as the last look.
    """

    async def look_once() -> JsonValue:
        try:
            return {"found": await look(told)}
        except Behind as behind:
            return {"behind": behind.message}

    for pause in services.lag if told is not None else ():
        answer = cast(dict[str, JsonValue], await step(key, look_once))
        if "found" in answer:
            return answer["found"]
        await call_dbos(partial(DBOS.sleep_async, pause))
    return await step(key, lambda: look(None))


async def load_pull_request(
    services: Services, repository: RepositoryRef, number: int, seen: EventSnapshot | None
) -> PullRequest:
    """The pull request at this moment.

    :raises Behind: if GitHub answers with what was there before ``seen``.
    """
    return _require_current(await _require_found(services.host.pull_request(repository, number), seen), seen)


async def load_issue(services: Services, repository: RepositoryRef, number: int, seen: EventSnapshot | None) -> Issue:
    """The issue at this moment; as :func:`pull_request`."""
    return _require_current(await _require_found(services.host.issue(repository, number), seen), seen)


async def _require_found(asked: Awaitable[Shown], seen: EventSnapshot | None) -> Shown:
    """What an event has just named is not there yet, rather than not there."""
    try:
        return await asked
    except NotFound as error:
        if seen is None:
            raise
        raise Behind(error.message, error.advice) from error


def _require_current(live: Shown, seen: EventSnapshot | None) -> Shown:
    if seen is not None and is_stale(live, seen):
        raise Behind(f"GitHub does not show yet what it told of #{live.number}.", "Forge looks again.")
    return live
