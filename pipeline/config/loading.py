"""Loads the effective configuration of a repository: its file, its last valid file, the organisation's, or a preset."""

import asyncio
import hashlib
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from pydantic import JsonValue, ValidationError

from domain.config.configuration import Configuration, Preset, find_contradictions
from domain.config.presets import (
    NOTHING,
    Values,
    apply_ceilings,
    apply_protections,
    build,
    build_conservative,
    extract_protections,
)
from domain.errors import Forbidden, NotFound
from domain.runs.run import RepositoryRef
from memory.db.engine import Database
from memory.repositories import configurations
from memory.repositories.configurations import ConfigurationScope
from messages import config as config_texts
from pipeline.config.parsing import PATH, LoadedConfiguration, Source, parse

if TYPE_CHECKING:
    from pipeline.context import Services

T = TypeVar("T")
U = TypeVar("U")

ORGANISATION = ".github"
"""The repository whose file is the default for its owner's other repositories."""

_CONSERVATIVE: Values = {"preset": Preset.conservative.value}


class FileHost(Protocol):
    """The part of the host that is needed here."""

    async def file_content(self, repository: RepositoryRef, path: str, ref: str | None = None) -> bytes | None:
        """As :meth:`github.contents.GitHubContents.file_content`."""
        ...


@dataclass(frozen=True)
class _LoadedFile:
    """One file; ``values`` is None if there is no file, or it was never valid.

    :param protects: protections of invalid versions, which stay effective; see
        :func:`domain.config.limits.extract_protections`.
    """

    values: Values | None = None
    source: Source = Source.preset
    problem: str | None = None
    protects: Values = field(default_factory=dict[str, JsonValue])

    @property
    def is_absent(self) -> bool:
        return self.values is None and self.problem is None


async def load_configuration(services: "Services", repository: RepositoryRef) -> Configuration:
    """The configuration of a repository at this moment, within the operator's ceilings."""
    return (await load_live(services, repository)).configuration


async def load_live(services: "Services", repository: RepositoryRef) -> LoadedConfiguration:
    """The same with where it is from and what is wrong with it; as :func:`load`."""
    return await load(services.host, services.database, repository, services.ceilings.of_configuration)


async def load(
    host: FileHost, database: Database, repository: RepositoryRef, ceilings: Mapping[str, float] | None = None
) -> LoadedConfiguration:
    """The effective configuration of a repository, from default branches only.

    :param ceilings: the operator's limits by dotted path, e.g. ``{"budgets.day": 100}``.
    :raises CodeHostError: GitHub cannot be asked. A missing answer never counts as a missing file.
    :raises DatabaseUnavailable: the last valid version cannot be stored or loaded.
    """
    content, above = await _await_both(
        host.file_content(repository, PATH), _load_organisation(host, database, repository)
    )
    below = _CONSERVATIVE if above.values is None and above.problem else above.values or NOTHING
    own = await _load_file(database, configurations.of_repository(repository), content, below)
    held = apply_protections(
        apply_protections(apply_ceilings(_compose(own, below), ceilings or {}), above.protects), own.protects
    )
    return LoadedConfiguration(
        held,
        Source.organisation if own.is_absent and above.values is not None else own.source,
        " ".join(problem for problem in (own.problem, above.problem) if problem) or None,
        below,
    )


async def load_stored(
    database: Database, repository: RepositoryRef, ceilings: Mapping[str, float] | None = None
) -> Configuration:
    """The configuration at the last run, without asking GitHub; for sweeps and the command line."""
    [stored] = await list_stored(database, [repository], ceilings)
    return stored


async def list_stored(
    database: Database, repositories: Sequence[RepositoryRef], ceilings: Mapping[str, float] | None = None
) -> Sequence[Configuration]:
    """The configuration of each repository at its last run, in their order, without asking GitHub."""
    scopes = [(configurations.of_organisation(each), configurations.of_repository(each)) for each in repositories]
    kept = await configurations.list_last_valid(database, {each for pair in scopes for each in pair})
    return [_build_stored([kept[each].values for each in pair if each in kept], ceilings) for pair in scopes]


def _build_stored(layers: Sequence[Values], ceilings: Mapping[str, float] | None) -> Configuration:
    try:
        return apply_ceilings(build(*layers), ceilings or {})
    except ValidationError:  # the rules became stricter since
        return apply_protections(apply_ceilings(build_conservative(), ceilings or {}), extract_protections(*layers))


async def _await_both(one: Coroutine[Any, Any, T], other: Coroutine[Any, Any, U]) -> tuple[T, U]:
    """The answers of two concurrent requests; if one fails, the other is still awaited."""
    first, second = asyncio.ensure_future(one), asyncio.ensure_future(other)
    await asyncio.gather(first, second, return_exceptions=True)
    return first.result(), second.result()


async def _load_organisation(host: FileHost, database: Database, repository: RepositoryRef) -> _LoadedFile:
    """The file of the owner's ``.github`` repository; if GitHub hides it, its last version."""
    scope = configurations.of_organisation(repository)
    if repository.name.casefold() == ORGANISATION:
        return _LoadedFile()  # its own file is the organisation's
    try:
        content = await host.file_content(repository.model_copy(update={"id": 0, "name": ORGANISATION}), PATH)
    except (Forbidden, NotFound):
        last = await configurations.find_last_valid(database, scope)
        if last is None:
            return _LoadedFile()
        if not _is_still_valid(last.values, NOTHING):
            protects = extract_protections(last.values)
            return _LoadedFile(
                None,
                Source.preset,
                config_texts.report_hidden_file(None) + config_texts.still_holds(protects),
                protects,
            )
        return _LoadedFile(last.values, Source.last_valid, config_texts.report_hidden_file(last.sha))
    return await _load_file(database, scope, content, NOTHING)


async def _load_file(
    database: Database, scope: ConfigurationScope, content: bytes | None, below: Values
) -> _LoadedFile:
    if content is None:
        await configurations.forget(database, scope)
        return _LoadedFile()
    parsed = parse(content, below)
    if parsed.configuration is not None:
        await configurations.keep(database, scope, _blob_sha(content), parsed.values)
        return _LoadedFile(parsed.values, Source.repository)
    last = await configurations.find_last_valid(database, scope)
    if last is None or not _is_still_valid(last.values, below):
        protects = extract_protections(*([] if last is None else [last.values]), parsed.values)
        problem = config_texts.not_used(parsed.mistakes, None, scope.is_organisation)
        return _LoadedFile(None, Source.preset, problem + config_texts.still_holds(protects), protects)
    protects = extract_protections(parsed.values)
    problem = config_texts.not_used(parsed.mistakes, last.sha, scope.is_organisation)
    return _LoadedFile(last.values, Source.last_valid, problem + config_texts.still_holds(protects), protects)


def _compose(own: _LoadedFile, below: Values) -> Configuration:
    if own.values is not None or own.is_absent:
        return build(below, own.values or NOTHING)
    return build_conservative(below)


def _is_still_valid(values: Values, below: Values) -> bool:
    """Whether stored values are valid under today's rules and organisation's file."""
    try:
        return not list(find_contradictions(build(below, values)))
    except ValidationError:
        return False


def _blob_sha(content: bytes) -> str:
    """The id that git gives the file's content."""
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content), usedforsecurity=False).hexdigest()
