"""Names the contracts between parts of a project, and the files that spell them out: one run at a time changes one."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from domain.globs import matches

LEASE = timedelta(seconds=300)
"""How long a run holds a contract after it was last heard of."""


LONGEST_WAIT = timedelta(hours=24)
"""How long a run waits for contracts that others hold."""


@dataclass(frozen=True, slots=True)
class HeldContract:
    """A contract that another run holds.

    :param number: of the issue that run works on; None if it is not known any more.
    :param pull_request: the one it opened, if it did.
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
"""The contracts of a repository that names none itself."""


def find_contracts(paths: Iterable[str], contracts: Mapping[str, Sequence[str]] = CONTRACTS) -> tuple[str, ...]:
    """The names of the contracts that files with these paths, or globs of areas as they are written, belong to.

    :param contracts: contract → globs.
    """
    folded = [path.casefold() for path in paths]
    return tuple(name for name, globs in contracts.items() if any(matches_any_case(path, globs) for path in folded))


def matches_any_case(path: str, globs: Iterable[str]) -> bool:
    """Whether a path matches any of the globs, however it is capitalised: to a case-blind disk it is the same file."""
    return matches(path.casefold(), (glob.casefold() for glob in globs))
