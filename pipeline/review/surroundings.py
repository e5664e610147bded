"""Loads what a model is shown beside a change: what surrounds its lines, and code of other files that it names."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from agents.review.model.questions import find_withheld_lines
from agents.review.model.related import RelatedCode, find_version_lines, list_version_files
from agents.review.syntax import build_changes, find_related_code, find_wanted, outline_files
from agents.syntax.symbols.changes import ChangedSource
from agents.syntax.symbols.imports import MANIFESTS
from agents.toolbox import Toolbox
from domain.errors import CodeAccessError
from domain.globs import matches
from domain.review.changes import Change, FileVersions
from domain.review.findings import RawFinding
from domain.review.reading import Outline
from domain.runs.run import Run
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from pipeline.verdicts.settings import RunSettings
from safety.containment import CodeOrigin, find_origin
from workspace.code_search import search_near
from workspace.objects import Objects


@dataclass(frozen=True)
class Surroundings:
    """What surrounds a change.

    :param outlines: changed path → functions around its changed lines, and uses of their names.
    :param related: code of unchanged files, the most telling first.
    """

    outlines: Mapping[str, Outline]
    related: tuple[RelatedCode, ...]


@dataclass(frozen=True)
class HeadCode:
    """The code of a head.

    :param fetch: makes it readable.
    :param origin: whose it is.
    :param never_send: globs of files that no model may see.
    """

    head_sha: str
    fetch: Callable[[], Awaitable[Objects]]
    origin: CodeOrigin
    never_send: Sequence[str]


async def load_surroundings(
    services: Services,
    run: Run,
    settings: RunSettings,
    change: Change,
    versions: Mapping[str, FileVersions],
    found: Sequence[RawFinding],
) -> Surroundings:
    """Load what surrounds the change of a run; see :func:`find_surroundings`."""
    origin = find_origin(settings.pull_request.is_from_fork(run.repository.id))
    fetch = partial(fetch_mirror, services, run)
    code = HeadCode(run.head_sha, fetch, origin, settings.configuration.review.never_send)
    return await find_surroundings(code, services.toolbox, change, versions, found)


async def find_surroundings(
    code: HeadCode,
    toolbox: Toolbox,
    change: Change,
    versions: Mapping[str, FileVersions],
    found: Sequence[RawFinding],
) -> Surroundings:
    """Find what surrounds a change; where the code cannot be read, there is no related code.

    :param change: what a model is asked about.
    :param versions: path at head → both versions of the changed files.
    :param found: of layers 1 and 2: lines with credentials name nothing.
    """
    outlines = await outline_files(change, versions, toolbox, code.origin)
    changes = await asyncio.to_thread(build_changes, change, versions, find_withheld_lines(found))
    related = await _load_related(code, toolbox, changes)
    return Surroundings(outlines, (*await _load_version_lines(code, change.paths), *related))


async def _load_version_lines(code: HeadCode, changed: Sequence[str]) -> tuple[RelatedCode, ...]:
    files = [path for path in list_version_files(changed) if not matches(path, code.never_send)]
    try:
        contents = await (await code.fetch()).read(code.head_sha, files) if files else {}
    except CodeAccessError:
        return ()
    return find_version_lines(contents, changed)


async def _load_related(code: HeadCode, toolbox: Toolbox, changes: Sequence[ChangedSource]) -> tuple[RelatedCode, ...]:
    wanted = await find_wanted(changes, toolbox, code.origin)
    changed = [each.path for each in changes]
    if not wanted:
        return ()
    try:
        near = await search_near(await code.fetch(), code.head_sha, changed, wanted, MANIFESTS)
    except CodeAccessError:
        return ()
    sendable = {path: text for path, text in near.holders.items() if not matches(path, code.never_send)}
    return await find_related_code(changes, replace(near, holders=sendable), toolbox, code.origin)
