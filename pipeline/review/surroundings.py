"""Opens the code of a head, and loads what a model is shown of it beside a change: surroundings, and related code."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from agents.review.layers import CheckedChange
from agents.review.looking_up import ReadableCode
from agents.review.model.questions import find_withheld_lines
from agents.review.model.related import RelatedCode, find_version_lines, list_version_files
from agents.review.syntax import build_changes, find_related_code, find_wanted, outline_files
from agents.syntax.symbols.changes import ChangedSource
from agents.syntax.symbols.imports import MANIFESTS
from domain.errors import CodeAccessError
from domain.globs import matches
from domain.review.changes import Change, FileVersions
from domain.review.reading import Outline
from domain.runs.run import Run
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from pipeline.verdicts.settings import RunSettings
from safety.containment import find_origin
from workspace.code_search import search_near


@dataclass(frozen=True)
class Surroundings:
    """What surrounds a change.

    :param outlines: changed path → functions around its changed lines, and uses of their names.
    :param related: code of unchanged files, the most telling first.
    """

    outlines: Mapping[str, Outline]
    related: tuple[RelatedCode, ...]


async def open_code(services: Services, run: Run, settings: RunSettings, checked: CheckedChange) -> ReadableCode:
    """The code of the head of a run, as a model may look into it."""
    origin = find_origin(settings.pull_request.is_from_fork(run.repository.id))
    where = (await fetch_mirror(services, run), run.head_sha, services.toolbox, origin)
    return ReadableCode(*where, settings.configuration.review.never_send, checked.findings)


async def find_surroundings(code: ReadableCode, change: Change, versions: Mapping[str, FileVersions]) -> Surroundings:
    """Find what surrounds a change; where the code cannot be read, there is no related code.

    :param code: lines of it with credentials name nothing.
    :param change: what a model is asked about.
    :param versions: path at head → both versions of the changed files.
    """
    outlines = await outline_files(change, versions, code.toolbox, code.origin)
    changes = await asyncio.to_thread(build_changes, change, versions, find_withheld_lines(code.found))
    related = await _load_related(code, changes)
    return Surroundings(outlines, (*await _load_version_lines(code, change.paths), *related))


async def _load_version_lines(code: ReadableCode, changed: Sequence[str]) -> tuple[RelatedCode, ...]:
    files = [path for path in list_version_files(changed) if not matches(path, code.never_send)]
    try:
        contents = await code.objects.read(code.head_sha, files) if files else {}
    except CodeAccessError:
        return ()
    return find_version_lines(contents, changed)


async def _load_related(code: ReadableCode, changes: Sequence[ChangedSource]) -> tuple[RelatedCode, ...]:
    wanted = await find_wanted(changes, code.toolbox, code.origin)
    changed = [each.path for each in changes]
    if not wanted:
        return ()
    try:
        near = await search_near(code.objects, code.head_sha, changed, wanted, MANIFESTS)
    except CodeAccessError:
        return ()
    sendable = {path: text for path, text in near.holders.items() if not matches(path, code.never_send)}
    return await find_related_code(changes, replace(near, holders=sendable), code.toolbox, code.origin)
