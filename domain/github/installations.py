"""Installations of the App: those there are, and what Forge says where it was installed."""

from collections.abc import Mapping
from enum import StrEnum

from domain.value import Value


class InstallationState(StrEnum):
    """Whether the App may read and write where it was installed."""

    active = "active"
    suspended = "suspended"  # its owner may resume it
    gone = "gone"  # it was uninstalled


MOST_ISSUES = 3
"""Repositories chosen at once that get an issue each; with more, issues would be a flood."""


class WelcomeWay(StrEnum):
    """Where a repository is told that Forge works there now."""

    issue = "issue"  # an issue of its own
    check = "check"  # a part of the first review's check
    off = "off"  # nowhere


class WelcomeTerms(Value):
    """What the operator says about welcomes.

    :param most: the loudest way that is allowed.
    :param needed: the permissions that Forge asks for, name → level.
    """

    most: WelcomeWay = WelcomeWay.issue
    needed: Mapping[str, str] = {}


class RepositoryTraits(Value):
    """What GitHub says about a repository as a whole.

    :param has_commits: whether its default branch has one.
    """

    default_branch: str
    is_archived: bool = False
    is_fork: bool = False
    has_issues: bool = True
    has_commits: bool = True


class RepositoryOverview(Value):
    """What Forge can see of a repository, for people who meet it for the first time.

    :param languages: of its source, those with the most files first.
    :param linters: tools that would check its files.
    :param idle_linters: linters that are configured in the repository and that Forge does not run, by their files.
    :param tests: how its tests would be run, and why so; a sentence.
    :param missing: permissions that the installation lacks, as name and level.
    :param branch: the default branch.
    :param is_required: whether that branch requires the check of reviews; None if that cannot be known.
    :param model: the model that reads changes; empty if none is set up, or the repository wants none.
    :param keeps_code: the repository says that no model is to be asked.
    :param level: of automation.
    """

    languages: tuple[str, ...] = ()
    linters: tuple[str, ...] = ()
    idle_linters: Mapping[str, str] = {}
    tests: str = ""
    missing: tuple[str, ...] = ()
    branch: str
    is_required: bool | None = None
    model: str = ""
    keeps_code: bool = False
    level: int = 1


class Welcome(Value):
    """What is known of the welcome of a repository.

    :param cause: the delivery that told of the installation.
    :param run_id: the run whose check shows it; None where none does.
    :param overview: what it says there.
    """

    repository_id: int
    way: WelcomeWay
    cause: str
    run_id: str | None = None
    overview: RepositoryOverview | None = None


def find_missing(needed: Mapping[str, str], granted: Mapping[str, str]) -> tuple[str, ...]:
    """The permissions that are needed (name → level) and not granted, as ``name: level``."""
    levels = ("none", "read", "write", "admin")
    return tuple(
        f"{name}: {level}"
        for name, level in needed.items()
        if levels.index(granted.get(name, "none")) < levels.index(level)
    )
