"""Loads what a model is shown beside a change: what surrounds its lines, and code of other files that it names."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from agents.review.model.questions import find_withheld_lines
from agents.review.model.related import RelatedCode, find_related
from agents.review.syntax import outline_files
from agents.toolbox import Toolbox
from domain.errors import CodeAccessError
from domain.globs import matches
from domain.review.changes import Change, FileChange, FileVersions
from domain.review.findings import RawFinding
from domain.review.outline import Outline
from domain.runs.run import Run
from domain.text.redaction import redact_outgoing
from pipeline.checkout import fetch_mirror
from pipeline.context import Services
from pipeline.verdicts.settings import RunSettings
from safety.containment import CodeOrigin, find_origin
from workspace.code_search import read_neighbours
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

    async def fetch() -> Objects:
        return await fetch_mirror(services, run)

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
    outlines = await asyncio.to_thread(_drop_masked_names, outlines, change, find_withheld_lines(found))
    return Surroundings(outlines, await _load_related(code, outlines))


def _drop_masked_names(
    outlines: Mapping[str, Outline], change: Change, withheld: Mapping[str, Collection[int]]
) -> dict[str, Outline]:
    """The outlines without names that are, or stand beside, what must be masked: journals keep them."""
    shown = {file.path: redact_outgoing(_join_lines(file, withheld.get(file.path, ()))) for file in change.files}
    return {path: outline.keep_mentioned(shown.get(path, "")) for path, outline in outlines.items()}


def _join_lines(file: FileChange, withheld: Collection[int]) -> str:
    lines = (line for hunk in file.hunks for line in hunk.number_lines())
    return "\n".join(text for _, new, text in lines if new not in withheld)


async def _load_related(code: HeadCode, outlines: Mapping[str, Outline]) -> tuple[RelatedCode, ...]:
    if not any(each.defined or each.classes or each.mentioned for each in outlines.values()):
        return ()
    try:
        near = await read_neighbours(await code.fetch(), code.head_sha, outlines.keys())
    except CodeAccessError:
        return ()
    sendable = {path: text for path, text in near.items() if not matches(path, code.never_send)}
    return await asyncio.to_thread(find_related, outlines, sendable)
