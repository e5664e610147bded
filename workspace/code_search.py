"""Reads source near some files of a tree, so that names can be looked for in it."""

import posixpath
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath

from domain.paths import is_lock, is_source
from workspace.file_selection import is_vendored
from workspace.objects import Objects

_MOST_FILES, _LARGEST, _MOST_BYTES = 250, 200_000, 6_000_000
_SETTINGS = frozenset([".json", ".yml", ".yaml", ".toml", ".ini", ".cfg", ".conf", ".properties", ".env"])
_FAMILIES = (
    ".js .jsx .mjs .cjs .ts .tsx .mts .cts .vue .svelte",
    ".c .cc .cpp .cxx .h .hh .hpp .hxx",
    ".java .kt .scala",
)
_FAMILY: Mapping[str, frozenset[str]] = {
    suffix: frozenset(each.split()) for each in _FAMILIES for suffix in each.split()
}


async def read_neighbours(objects: Objects, tree: str, changed: Collection[str]) -> dict[str, bytes]:
    """The contents of unchanged source and settings in the languages of some files, the nearest to them first.

    At most 250 files, of 200 kB each and 6 MB together; what the repository lacks is fetched in one request.

    :param tree: a commit or tree.
    :param changed: paths of the changed files.
    :raises CodeAccessError: the repository cannot be read.
    """
    listed = await objects.list_files(tree)
    wanted = _choose(listed, changed)
    sizes = await objects.available({listed[path] for path in wanted})
    kept: list[str] = []
    room = _MOST_BYTES
    for path in wanted:
        size = sizes.get(listed[path], _MOST_BYTES)
        if size <= min(_LARGEST, room):
            kept.append(path)
            room -= size
    contents = await objects.contents({listed[path] for path in kept})
    return {path: contents[listed[path]] for path in kept if listed[path] in contents}


def _choose(listed: Mapping[str, str], changed: Collection[str]) -> list[str]:
    suffixes = {suffix for path in changed for suffix in _list_kin(_suffix(path))} | _SETTINGS
    paths = [
        path
        for path in listed
        if path not in changed and _suffix(path) in suffixes and not is_lock(path) and not is_vendored(path)
    ]
    return sorted(paths, key=lambda path: (not is_source(path), _measure_distance(path, changed), path))[:_MOST_FILES]


def _list_kin(suffix: str) -> frozenset[str]:
    return _FAMILY.get(suffix, frozenset({suffix}))


def _suffix(path: str) -> str:
    return PurePosixPath(path.lower()).suffix


def _measure_distance(path: str, changed: Collection[str]) -> int:
    """The number of folders between a path and the nearest of some others."""
    return min(posixpath.relpath(path, posixpath.dirname(other) or ".").count("/") for other in changed)
