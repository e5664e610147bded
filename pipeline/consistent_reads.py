"""Waits until GitHub's API shows what a webhook announced; it may lag behind by seconds (T-W15)."""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Generic, TypeVar, cast

from dbos import DBOS

from domain.errors import Behind, NotFound
from domain.github.conversation import Issue
from domain.github.installations import EventSnapshot, is_stale
from domain.github.pull_requests import PullRequest
from domain.runs.run import RepositoryRef
from domain.value import Value
from memory.runs import runs
from pipeline.context import Services
from pipeline.durable.journal import WorkflowJournal, call_dbos, kind_of

T = TypeVar("T")
Seen = TypeVar("Seen")
Live = TypeVar("Live", Issue, PullRequest)


class _Found(Value, Generic[T]):
    found: T


class _Lagging(Value):
    behind: str


async def read_when_visible(
    services: Services,
    journal: WorkflowJournal,
    key: str,
    look: Callable[[Seen | None], Awaitable[T]],
    seen: Seen | None,
    *,
    is_repeated: bool = True,
) -> T:
    """A step that reads what an event announced. While GitHub does not show it, the step is repeated after a pause.

    :param look: raises ``Behind`` if GitHub does not show ``seen`` yet; for None it takes any answer.
    :param seen: what the event showed. With None there is one look only.
    :param is_repeated: whether the journal repeats a step that fails.
    :raises CodeHostError: if the last look failed.
    """
    kind = kind_of(look)
    found = cast(Any, _Found)[kind]
    either: Any = found | _Lagging

    async def look_once() -> _Found[T] | _Lagging:
        try:
            return found(found=await look(seen))
        except Behind as behind:
            return _Lagging(behind=behind.message)

    for pause in services.lag if seen is not None else ():
        answer: _Found[T] | _Lagging = await journal.step_as(either, key, look_once, is_repeated=is_repeated)
        if not isinstance(answer, _Lagging):
            return answer.found
        await call_dbos(partial(DBOS.sleep_async, pause))
    return await journal.step_as(kind, key, partial(look, None), is_repeated=is_repeated)


async def load_pull_request(
    services: Services, repository: RepositoryRef, number: int, seen: EventSnapshot | None
) -> PullRequest:
    """Ask GitHub for a pull request.

    :raises Behind: if GitHub shows a state from before ``seen``.
    """
    return _require_current(await _require_found(services.host.pull_request(repository, number), seen), seen)


async def load_issue(services: Services, repository: RepositoryRef, number: int, seen: EventSnapshot | None) -> Issue:
    """Ask GitHub for an issue; see :func:`load_pull_request`."""
    return _require_current(await _require_found(services.host.issue(repository, number), seen), seen)


async def _require_found(live: Awaitable[Live], seen: EventSnapshot | None) -> Live:
    """An object that an event named exists, even if GitHub does not find it yet."""
    try:
        return await live
    except NotFound as error:
        if seen is None:
            raise
        raise Behind(error.message, error.advice) from error


def _require_current(live: Live, seen: EventSnapshot | None) -> Live:
    if seen is not None and is_stale(live, seen):
        raise Behind(f"GitHub does not show yet what it told of #{live.number}.", "Forge looks again.")
    return live


class FencedPullRequest(Value):
    """A live pull request, and its fencing token from just before it was read."""

    fence: int
    pull_request: PullRequest


async def load_with_fence(
    services: Services, repository: RepositoryRef, number: int, seen: EventSnapshot | None
) -> FencedPullRequest:
    """Read a pull request before a run begins or ends there.

    :raises Behind: if GitHub shows a state from before ``seen``.
    """
    fence = await runs.get_fence(services.database, repository.id, number)
    pull_request = await load_pull_request(services, repository, number, seen)
    return FencedPullRequest(fence=fence, pull_request=pull_request)
