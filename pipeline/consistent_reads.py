"""Waits for GitHub's API to show what a webhook told of: it may lag seconds behind (T-W15)."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar, cast

from dbos import DBOS
from pydantic import JsonValue

from domain.errors import Behind, NotFound
from domain.github.issues import Issue
from domain.github.pull_requests import PullRequest
from domain.github.seen import Seen, is_older
from domain.runs.run import RepositoryRef
from pipeline.context import Services
from pipeline.steps import noted

Told = TypeVar("Told")
Shown = TypeVar("Shown", Issue, PullRequest)
Step = Callable[[str, Callable[[], Awaitable[JsonValue]]], Awaitable[JsonValue]]


async def caught_up(
    services: Services, step: Step, key: str, look: Callable[[Told | None], Awaitable[JsonValue]], told: Told | None
) -> JsonValue:
    """A step that looks at what an event told of, again after a pause as long as GitHub does not show it.

    :param step: of the journal.
    :param look: raises ``Behind`` where GitHub does not show yet what it is given; for None any answer counts.
    :param told: what the event showed; None where that is not known: then there is one look.
    :raises CodeHostError: as the last look.
    """

    async def looked() -> JsonValue:
        try:
            return {"found": await look(told)}
        except Behind as behind:
            return {"behind": behind.message}

    for pause in services.lag if told is not None else ():
        answer = cast(dict[str, JsonValue], await step(key, looked))
        if "found" in answer:
            return answer["found"]
        await noted(partial(DBOS.sleep_async, pause))
    return await step(key, lambda: look(None))


async def pull_request(services: Services, repository: RepositoryRef, number: int, seen: Seen | None) -> PullRequest:
    """The pull request at this moment.

    :raises Behind: if GitHub answers with what was there before ``seen``.
    """
    return _new_enough(await _there(services.host.pull_request(repository, number), seen), seen)


async def issue(services: Services, repository: RepositoryRef, number: int, seen: Seen | None) -> Issue:
    """The issue at this moment; as :func:`pull_request`."""
    return _new_enough(await _there(services.host.issue(repository, number), seen), seen)


async def _there(asked: Awaitable[Shown], seen: Seen | None) -> Shown:
    """What an event has just named is not there yet, rather than not there."""
    try:
        return await asked
    except NotFound as error:
        if seen is None:
            raise
        raise Behind(error.message, error.advice) from error


def _new_enough(live: Shown, seen: Seen | None) -> Shown:
    if seen is not None and is_older(live, seen):
        raise Behind(f"GitHub does not show yet what it told of #{live.number}.", "Forge looks again.")
    return live
