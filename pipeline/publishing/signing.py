"""Has GitHub make Forge's commits anew before they are pushed, so that they show as verified.

Forge makes its commits by itself, the same ones for the same work, and goes on from those after a crash. What it pushes
are the commits that GitHub made of them and signed.
"""

from collections.abc import Collection
from dataclasses import replace

import structlog

from domain.errors import Forbidden, NotFound, Unprocessable
from domain.runs.run import RepositoryRef
from memory.deliveries import pushes
from pipeline.context import Services
from workspace.commits import CannotCommit
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
