"""Writes branches and pull requests: has commits verified, pushes, opens, describes, marks ready, merges."""

from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace
from typing import Literal

import structlog

from domain.errors import Forbidden, ForgeError, NotFound, Unprocessable
from domain.github.commits import AN_APP, Push, Pusher
from domain.github.conversation import CommentEdit
from domain.github.pull_requests import Merged, MergeObstacle, NotMerged, Queued
from domain.runs.run import RepositoryRef, Run
from domain.text.redaction import redact_outgoing
from domain.value import Value
from memory.deliveries import pushes
from memory.runs import outbox
from pipeline.context import Services
from pipeline.publishing.publisher import NO_ID, Find, write_once
from workspace.commits import BranchMoved, CannotCommit, Pushed, PushRejected
from workspace.mirror import Mirror

log = structlog.get_logger(__name__)


async def sign_commits(
    services: Services, repository: RepositoryRef, mirror: Mirror, sha: str, known: Collection[str], number: int
) -> str:
    """The commit to push in place of one of Forge's own, which the mirror has afterwards; may be repeated.

    :param known: commits that GitHub has, and on which Forge made this one.
    :param number: of the pull request or issue, under which the mirror keeps the new commit.
    :returns: the same commit where GitHub does not sign, or refuses to make it.
    """
    made = await mirror.list_new(sha, [*known])
    signed = dict(await pushes.find_signed(services.database, repository.id, made))
    for each in made:
        if each not in signed:
            answered = await _sign(services, repository, mirror, each, signed)
            if answered is None:
                return sha
            signed[each] = answered
            await pushes.keep_signed(services.database, repository.id, each, answered, services.clock.now())
    if sha not in signed:
        return sha
    await mirror.fetch(signed[sha], next(iter(known)), number)
    return signed[sha]


async def find_signed(services: Services, repository: RepositoryRef, sha: str) -> str:
    """The commit that was, or would be, pushed in place of one of Forge's own."""
    return (await pushes.find_signed(services.database, repository.id, [sha])).get(sha, sha)


async def _sign(
    services: Services, repository: RepositoryRef, mirror: Mirror, sha: str, signed: dict[str, str]
) -> str | None:
    """The commit that GitHub made; None if it did not make the same one, or did not sign it."""
    try:
        draft = await mirror.draft_again(sha)
        on_top = replace(draft, parents=tuple(signed.get(each, each) for each in draft.parents))
        made = await services.host.create_commit(repository, on_top)
    except (CannotCommit, Forbidden, NotFound, Unprocessable) as error:
        log.warning("commit.not_signed", repository=repository.full_name, commit=sha, error=str(error))
        return None
    if not made.is_verified or made.tree != await mirror.tree_of(sha):
        log.warning("commit.not_signed", repository=repository.full_name, commit=sha, verified=made.is_verified)
        return None
    return made.sha


PUSH = "push"
"""The kind of a push in the outbox."""


FIX_PULL_REQUEST = "fix_pull_request"
"""The kind of write that opens the pull request of a fix; no run owns that pull request."""


class NotOpened(ForgeError):
    """GitHub did not take a pull request. Nothing happened."""


class PushResult(Value):
    """The result of a push; in journals.

    :param branch: another name than the wanted one if that was taken.
    :param said: the remote's reason, if it refused.
    """

    outcome: Literal["pushed", "moved", "refused"]
    branch: str
    said: str = ""

    @property
    def is_pushed(self) -> bool:
        """Whether the commit is on the branch, perhaps below commits of people."""
        return self.outcome == "pushed"


async def push_once(
    services: Services,
    run: Run,
    step: str,
    mirror: Mirror,
    sha: str,
    branch: str,
    expected: str | None,
    *,
    is_pushed: Callable[[], Awaitable[bool]],
    for_accounts: Collection[int],
    beside: Collection[str] = (),
) -> PushResult:
    """Move a branch forward to a commit, once; to the one that GitHub signed in its place, if it does.

    :param sha: of a commit that Forge made on top of the run's head.
    :param expected: see :meth:`workspace.mirror.Mirror.push`.
    :param is_pushed: whether an earlier attempt did it.
    :param for_accounts: who asked for what is pushed, and so does not decide about it; nobody if Forge acts unasked.
        :data:`domain.github.commits.AN_APP` is one whose words were taken up.
    :param beside: other commits that GitHub has, and that it merges.
    :raises CodeAccessError: the remote was not reached or denies access; the push may have happened.
    :raises Superseded: if another run took over and this was not pushed before.
    """

    async def find() -> int | None:
        return NO_ID if await is_pushed() else None

    async def push() -> int:
        before = None if expected is None else await find_signed(services, run.repository, expected)
        known = [run.head_sha, *([before] if before else []), *beside]
        signed = await sign_commits(services, run.repository, mirror, sha, known, run.number)
        result = await mirror.push(signed, branch, before)
        if isinstance(result, Pushed):
            return NO_ID
        raise _NotPushed(result)

    try:
        await write_once(services, run, step, PUSH, push, find=find)
    except _NotPushed as error:
        if isinstance(error.outcome, BranchMoved):
            return PushResult(outcome="moved", branch=branch)
        return PushResult(outcome="refused", branch=branch, said=error.outcome.said)
    now, before = services.clock.now(), await find_signed(services, run.repository, expected or run.head_sha)
    head = await find_signed(services, run.repository, sha)
    people = sorted({*for_accounts} - {AN_APP})
    made = [Push(head, before, account, Pusher.forge, now) for account in people or (0,)]
    if AN_APP in for_accounts:
        made.append(Push(head, before, AN_APP, Pusher.app, now))
    await pushes.note(services.database, run.repository, made)
    return PushResult(outcome="pushed", branch=branch)


async def open_once(
    services: Services, run: Run, branch: str, title: str, body: str, *, draft: bool, find: Find
) -> int:
    """Propose a branch for the default branch, once per run; the number of the pull request.

    :raises NotOpened: if GitHub does not take it.
    :raises Superseded: if another run owns the issue and this was not opened before.
    """

    async def create() -> int:
        base = (await services.host.default_branch(run.repository)).name
        return await _open(services, run, branch, base, title, body, draft=draft)

    return await write_once(services, run, "propose", outbox.PULL_REQUEST, create, find=find)


async def open_fix_once(services: Services, run: Run, branch: str, base: str, title: str, body: str) -> int:
    """Propose a branch with a fix for another branch, once per run and branch; the number of the pull request.

    :raises NotOpened: if GitHub does not take it.
    :raises Superseded: if another run owns the pull request with the finding, and this was not opened before.
    """

    async def find() -> int | None:
        found = await services.host.find_pull_request(run.repository, branch)
        return None if found is None else found.number

    async def create() -> int:
        known = await find()  # an earlier run's, of the same fix
        return known or await _open(services, run, branch, base, title, body, draft=False)

    return await write_once(services, run, f"open {branch}", FIX_PULL_REQUEST, create, find=find)


async def _open(services: Services, run: Run, branch: str, base: str, title: str, body: str, *, draft: bool) -> int:
    try:
        made = await services.host.open_pull_request(
            run.repository, branch, base, redact_outgoing(title), redact_outgoing(body), draft=draft
        )
    except (Forbidden, Unprocessable) as error:
        raise NotOpened(error.message, error.advice) from error
    return made.number


async def describe(services: Services, repository: RepositoryRef, number: int, title: str, body: str) -> None:
    """Replace the title and description; may be repeated."""
    await services.host.update_pull_request(repository, number, title, redact_outgoing(body))


async def mark_ready(
    services: Services, repository: RepositoryRef, number: int, body: str | None, edit: CommentEdit
) -> bool:
    """Make a draft a plain pull request, describe it, and edit a comment, in one write; may be repeated.

    :returns: whether the comment was edited.
    """
    return await services.host.mark_ready(repository, number, None if body is None else redact_outgoing(body), edit)


async def merge_once(
    services: Services, run: Run, step: str, *, find: Find, find_obstacle: Callable[[], Awaitable[str | None]]
) -> Merged | Queued | NotMerged | None:
    """Merge exactly the head of a run, or put it into the merge queue, once; None if an earlier attempt did it.

    :param find_obstacle: asked right before the merge is sent.
    """
    result: Merged | Queued | NotMerged | None = None

    async def require_mergeable() -> None:
        nonlocal result
        obstacle = await find_obstacle()
        if obstacle is not None:
            result = NotMerged(obstacle=MergeObstacle.withdrawn, said=obstacle)
            raise _NotMerged(obstacle)

    async def merge() -> int:
        nonlocal result
        result = await services.host.merge(run.repository, run.number, run.head_sha, still=require_mergeable)
        if isinstance(result, NotMerged):
            raise _NotMerged(result.said)
        return NO_ID

    try:
        await write_once(services, run, step, "merge", merge, find=find)
    except _NotMerged:
        return result
    return result


async def find_merge_commit(services: Services, run: Run) -> Merged | Queued | NotMerged:
    """The commit of a pull request that is merged: GitHub answers a repeated merge with it."""
    return await services.host.merge(run.repository, run.number, run.head_sha)


class _NotPushed(Exception):
    """Carries the result of a push past the outbox, which then records no write."""

    def __init__(self, outcome: BranchMoved | PushRejected) -> None:
        super().__init__()
        self.outcome = outcome


class _NotMerged(ForgeError):
    """Keeps a merge from being sent, or from being recorded."""
