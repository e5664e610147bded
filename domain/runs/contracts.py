"""Contracts between parts of a project and their files; only one run at a time may change one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from domain.globs import matches
from domain.paths import fold_path

LEASE = timedelta(seconds=300)
"""How long a run keeps a lock without renewing it."""


LONGEST_WAIT = timedelta(hours=24)
"""How long a run waits for locked contracts."""


@dataclass(frozen=True, slots=True)
class HeldContract:
    """A contract that another run has locked.

    :param number: of that run's issue; None if unknown.
    :param pull_request: the pull request it opened, if any.
    """

    contract: str
    number: int | None
    pull_request: int | None = None


CONTRACTS: Mapping[str, tuple[str, ...]] = {
    "openapi": ("**/openapi*", "**/openapi/**", "**/swagger*", "**/swagger/**"),
    "graphql": ("**/*.graphql", "**/*.graphqls", "**/schema.gql"),
    "rpc": ("**/*.proto", "**/*.thrift"),
    "events": (
        "**/asyncapi*",
        "**/*.avsc",
        "**/events/**.json",
        "**/events/**.yaml",
        "**/events/**.yml",
        "**/events.json",
        "**/events.yaml",
        "**/events.yml",
    ),
    "db": (
        "**/migrations/**",
        "**/alembic/versions/**",
        "**/db/migrate/**",
        "**/db/schema.rb",
        "**/schema.sql",
        "**/schema.prisma",
    ),
}
"""The default contracts of a repository."""


def find_contracts(paths: Iterable[str], contracts: Mapping[str, Sequence[str]] = CONTRACTS) -> tuple[str, ...]:
    """The names of the contracts of these paths or globs of areas.

    :param contracts: contract → globs.
    """
    folded = [fold_path(path) for path in paths]
    return tuple(name for name, globs in contracts.items() if any(matches_any_case(path, globs) for path in folded))


def matches_any_case(path: str, globs: Iterable[str]) -> bool:
    """Whether a path matches any of the globs, ignoring what some disks ignore, such as case."""
    return matches(fold_path(path), map(fold_path, globs))
