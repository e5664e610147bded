"""Checks which repositories refuse what Forge pushes, since it is not signed."""

import asyncio
from collections.abc import Sequence

from bot.doctor.diagnosis import Diagnosis, ok, warn
from bot.github.host import GitHubHost
from domain.errors import CodeHostError
from domain.github.branches import make_branch_name
from messages.pushes import UNSIGNED

_PART = "commits"
_INSTALLATIONS = 5
_REPOSITORIES = 20  # two requests each, and one per ruleset that wants signatures
_BRANCH = make_branch_name(1, "a change")


async def check_signatures(host: GitHubHost) -> Diagnosis:
    """Ask for the rules of the branches that Forge would push to, in some of the repositories."""
    try:
        repositories, more = await host.sample_repositories(_INSTALLATIONS, _REPOSITORIES)
        refuse = await asyncio.gather(*(host.requires_signatures(each, _BRANCH) for each in repositories))
    except CodeHostError as error:
        return warn(_PART, f"not signed, and which repositories want that is not known: {error.message}", UNSIGNED)
    refusing = [each.full_name for each, refuses in zip(repositories, refuse, strict=True) if refuses]
    return describe_signatures(refusing, len(repositories), more=more)


def describe_signatures(refusing: Sequence[str], asked: int, *, more: bool) -> Diagnosis:
    """What the rules come to.

    :param refusing: the repositories with such a rule for Forge's branches.
    :param asked: how many repositories were looked at.
    :param more: whether there are others.
    """
    if refusing:
        return warn(_PART, f"a rule refuses Forge's unsigned commits in {', '.join(refusing)}", UNSIGNED)
    if not asked:
        return ok(_PART, UNSIGNED)
    seen = f"the first {asked} repositories" if more else f"the repositories ({asked})"
    return ok(_PART, f"not signed, and no rule of {seen} is known to want that on branches named forge/…")
