"""Finds the open pull request that proposes a fix already, so that asking again makes no second one."""

from collections.abc import Iterator

from pydantic import BaseModel

from domain.github.branches import PREFIX, add_suffix
from domain.github.pull_requests import PullRequest
from domain.runs.run import Run
from memory.deliveries import signed_commits
from memory.runs import outbox
from messages.automation import RUN_TRAILER
from pipeline.checkout import fetch_commits
from pipeline.run_context import RunContext
from workspace.mirror import Mirror

_MAX_NAMES = 5


class OpenProposal(BaseModel):
    """An open pull request of Forge with a fix; in journals.

    :param is_current: the file that it changes is still as it was when the fix was written.
    :param is_touched: somebody else pushed to its branch, so Forge leaves it alone.
    """

    number: int
    branch: str
    head_sha: str
    is_current: bool
    is_touched: bool


def list_branches(run: Run, key: str) -> Iterator[str]:
    """The names that the branch of a fix may have, the first one first.

    :param key: tells the fixes of a pull request apart.
    """
    wanted = f"{PREFIX}fix-{run.number}-{key}"
    yield wanted
    yield from (add_suffix(wanted, number) for number in range(2, _MAX_NAMES + 1))


def name_push(branch: str, sha: str) -> str:
    """The step that pushes a fix."""
    return f"push {branch} {sha}"


async def find_proposal(context: RunContext, into: PullRequest, key: str, path: str | None) -> OpenProposal | None:
    """The open pull request with this fix, if Forge opened one.

    :param into: the pull request whose head is fixed.
    :param key: see :func:`list_branches`.
    :param path: the file that it changes; None for a fix of several, which is never called current.
    """
    run, host = context.run, context.services.host
    if into.is_from_fork(run.repository.id):
        return None
    name, mirror = (await host.signature(run.repository)).name, await context.fetch_mirror()
    for branch in list_branches(run, key):
        pull = await host.find_pull_request(run.repository, branch)
        if pull is not None and pull.author_login == name and pull.base_ref == into.head_ref:
            return await _describe(context, path, branch, pull)
        if pull is None and await mirror.head_of(branch) is None:  # then no further name was ever taken
            return None
    return None


async def _describe(context: RunContext, path: str | None, branch: str, pull: PullRequest) -> OpenProposal:
    run = context.run
    mirror = await fetch_commits(context.services, run.repository, pull.number, pull.head_sha, run.head_sha)
    begun = await mirror.merge_base(run.head_sha, pull.head_sha)
    return OpenProposal(
        number=pull.number,
        branch=branch,
        head_sha=pull.head_sha,
        is_current=path is not None and await _is_same(mirror, path, begun, run.head_sha),
        is_touched=not await _is_own(context, mirror, branch, pull.head_sha),
    )


async def _is_same(mirror: Mirror, path: str, *shas: str) -> bool:
    before, now = [(await mirror.read(sha, [path])).get(path) for sha in shas]
    return before == now


async def _is_own(context: RunContext, mirror: Mirror, branch: str, sha: str) -> bool:
    """Whether Forge pushed this head, by its own records: a commit's words prove nothing."""
    trailers = (line.partition(": ") for line in (await mirror.describe(sha)).message.splitlines())
    pushed_by = next((value.strip() for name, _, value in trailers if name == RUN_TRAILER), "")
    made = {step.rpartition(" ")[2]: step for step in await outbox.list_pushes(context.database, pushed_by)}
    signed = await signed_commits.find(context.database, context.run.repository.id, made)
    return any(step == name_push(branch, each) and sha == signed.get(each, each) for each, step in made.items())
