"""Decides where a repository is told that Forge works there now: never as a flood, nor where nobody would see it."""

from collections.abc import Mapping

from domain.github.installations import MOST_ISSUES, RepositoryTraits, WelcomeWay

_BY_LOUDNESS = (WelcomeWay.off, WelcomeWay.check, WelcomeWay.issue)


def is_flood(count: int, *, chosen: bool) -> bool:
    """Whether issues would come where nobody asked for them.

    :param count: the repositories that were added at once.
    :param chosen: whether somebody chose them; otherwise the App has all of an account, and those made later, too.
    """
    return not chosen or count > MOST_ISSUES


def choose_way(
    wanted: WelcomeWay, most: WelcomeWay, traits: RepositoryTraits, granted: Mapping[str, str], *, may_open: bool
) -> WelcomeWay:
    """Where a repository is welcomed that was chosen with few others.

    :param wanted: by the repository's configuration.
    :param most: what the operator allows.
    :param granted: the permissions of the installation, name → level.
    :param may_open: whether the level of automation and the configuration let Forge open an issue.
    """
    way = min(wanted, most, key=_BY_LOUDNESS.index)
    if traits.is_archived:
        return WelcomeWay.off
    if way is not WelcomeWay.issue:
        return way
    can_open = may_open and traits.has_issues and granted.get("issues") == "write"
    return WelcomeWay.issue if can_open and traits.has_commits and not traits.is_fork else WelcomeWay.check
