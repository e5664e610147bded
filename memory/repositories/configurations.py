"""Keeps the last valid version of each configuration file, which applies while the file is broken."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue
from sqlalchemy import delete, select

from domain.runs.run import RepositoryRef
from memory.db.engine import Database, upsert
from memory.db.tables.repositories import ConfigurationRow


@dataclass(frozen=True)
class ConfigurationScope:
    """What a file applies to.

    :param name: name of the row.
    """

    name: str
    installation_id: int
    is_organisation: bool


@dataclass(frozen=True)
class LastValid:
    """A valid version: its blob SHA and its content."""

    sha: str
    values: Mapping[str, JsonValue]


def of_repository(repository: RepositoryRef) -> ConfigurationScope:
    """A repository's own file."""
    return ConfigurationScope(_name(repository.id), repository.installation_id, is_organisation=False)


def of_organisation(repository: RepositoryRef) -> ConfigurationScope:
    """The default of all repositories of an owner; an installation belongs to one owner."""
    return ConfigurationScope(
        f"organisation {repository.installation_id}", repository.installation_id, is_organisation=True
    )


async def find_last_valid(database: Database, scope: ConfigurationScope) -> LastValid | None:
    """The last version that was valid."""
    row = await database.get(ConfigurationRow, scope.name)
    return None if row is None else LastValid(row.sha, row.content)


async def list_last_valid(
    database: Database, scopes: Collection[ConfigurationScope]
) -> Mapping[ConfigurationScope, LastValid]:
    """The last versions that were valid; without the scopes that have none."""
    query = select(ConfigurationRow).where(ConfigurationRow.scope.in_([each.name for each in scopes]))
    kept = {row.scope: LastValid(row.sha, row.content) for row in await database.scalars(query)}
    return {each: kept[each.name] for each in scopes if each.name in kept}


async def list_all(database: Database) -> Sequence[Mapping[str, JsonValue]]:
    """The content of each last valid version, of repositories and of organisations."""
    return [row.content for row in await database.scalars(select(ConfigurationRow))]


async def keep(database: Database, scope: ConfigurationScope, sha: str, values: Mapping[str, JsonValue]) -> None:
    """Store a valid version and its present installation; writes nothing if both are known already."""
    known = await database.get(ConfigurationRow, scope.name)
    if known is not None and (known.sha, known.installation_id) == (sha, scope.installation_id):
        return
    row = {"scope": scope.name, "installation_id": scope.installation_id, "sha": sha, "content": dict(values)}
    await database.execute(upsert(database.dialect, ConfigurationRow, row, {}))


async def forget(database: Database, scope: ConfigurationScope) -> None:
    """Delete the version of a deleted file; writes nothing if none was stored."""
    if await find_last_valid(database, scope) is None:
        return
    await database.execute(delete(ConfigurationRow).where(ConfigurationRow.scope == scope.name))


async def purge(
    database: Database,
    installation_id: int,
    repository_ids: Sequence[int] | None = None,
    kept: Collection[int] = (),
) -> None:
    """Delete the versions of lost repositories: the App was uninstalled, or lost some of them.

    :param kept: repositories that belong to another installation by now.
    """
    lost = delete(ConfigurationRow).where(
        ConfigurationRow.installation_id == installation_id, ConfigurationRow.scope.not_in(map(_name, kept))
    )
    if repository_ids is not None:
        lost = lost.where(ConfigurationRow.scope.in_(map(_name, repository_ids)))
    await database.execute(lost)


def _name(repository_id: int) -> str:
    return f"repository {repository_id}"
