"""Searches the source of a tree for words and patterns, in a process that is ended where that takes too long."""

import asyncio
import json
import posixpath
import subprocess
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO

from pydantic_core import SchemaError, SchemaValidator, core_schema

from domain.paths import is_lock, is_source
from workspace.diff import is_vendored
from workspace.file_selection import says_generated
from workspace.objects import Objects

_MOST_FILES, _LARGEST, _MOST_BYTES = 2_000, 200_000, 24_000_000  # read
_MOST_HOLDERS, _MOST_HELD = 200, 3_000_000  # files and bytes that hold the words
_MOST_MANIFESTS = 200
_FAMILIES = (
    ".js .jsx .mjs .cjs .ts .tsx .mts .cts",
    ".c .cc .cpp .cxx .h .hh .hpp .hxx",
)
_FAMILY: Mapping[str, frozenset[str]] = {
    suffix: frozenset(each.split()) for each in _FAMILIES for suffix in each.split()
}


@dataclass(frozen=True)
class NearCode:
    """The code around some files.

    :param paths: all source of the tree in their languages, without what was copied in.
    :param holders: path → content of what holds the words, the nearest first.
    :param manifests: path → content of files that name packages.
    """

    paths: tuple[str, ...]
    holders: Mapping[str, bytes]
    manifests: Mapping[str, bytes]


async def search_near(
    objects: Objects,
    tree: str,
    changed: Collection[str],
    wanted: Collection[Sequence[str]],
    manifests: Collection[str] = (),
) -> NearCode:
    """Search the unchanged source in the languages of some files.

    At most 2,000 files are read, of 200 kB each and 24 MB together; what the repository lacks is fetched in one
    request. What a tool wrote is left out.

    :param tree: a commit or tree.
    :param changed: paths of the changed files.
    :param wanted: each is some words that must all be in a file's path or text; one of them is enough.
    :param manifests: names of files that name packages.
    :raises CodeAccessError: the repository cannot be read.
    """
    listed = await objects.list_files(tree)
    near = _choose(listed, changed)
    named = [path for path in listed if path.rsplit("/", 1)[-1] in manifests and not is_vendored(path, listed)]
    named = sorted(named, key=lambda path: path.count("/"))[:_MOST_MANIFESTS]
    contents = await _read(objects, {path: listed[path] for path in [*named, *near[:_MOST_FILES]]})
    searched = {path: contents[path] for path in near[:_MOST_FILES] if path in contents}
    holders = await asyncio.to_thread(_find_holders, searched, wanted)
    return NearCode(tuple(near), holders, {path: contents[path] for path in named if path in contents})


async def _read(objects: Objects, blobs: Mapping[str, str]) -> dict[str, bytes]:
    """Path → content, as far as there is room."""
    sizes = await objects.available(set(blobs.values()))
    kept: list[str] = []
    room = _MOST_BYTES
    for path, blob in blobs.items():
        size = sizes.get(blob, _MOST_BYTES)
        if size <= min(_LARGEST, room):
            kept.append(path)
            room -= size
    contents = await objects.contents({blobs[path] for path in kept})
    return {path: contents[blobs[path]] for path in kept if blobs[path] in contents}


def _find_holders(contents: Mapping[str, bytes], wanted: Collection[Sequence[str]]) -> dict[str, bytes]:
    sought = [[word.encode() for word in words] for words in wanted]
    found: dict[str, bytes] = {}
    room = _MOST_HELD
    for path, content in contents.items():
        name = path.encode()
        is_held = any(all(word in content or word in name for word in words) for words in sought)
        if is_held and len(content) <= room and not says_generated(content):
            found[path] = content
            room -= len(content)
            if len(found) == _MOST_HOLDERS:
                break
    return found


def _choose(listed: Mapping[str, str], changed: Collection[str]) -> list[str]:
    suffixes = {suffix for own in map(_suffix, changed) for suffix in _FAMILY.get(own, {own})}
    paths = [
        path
        for path in listed
        if path not in changed and _suffix(path) in suffixes and not is_lock(path) and not is_vendored(path, listed)
    ]
    return sorted(paths, key=lambda path: (not is_source(path), _measure_distance(path, changed), path))


def _suffix(path: str) -> str:
    return PurePosixPath(path.lower()).suffix


def _measure_distance(path: str, changed: Collection[str]) -> int:
    """The number of folders between a path and the nearest of some others."""
    return min(posixpath.relpath(path, posixpath.dirname(other) or ".").count("/") for other in changed)


BOOT = (
    "import sys, json; sys.path[:] = json.loads(sys.argv[1]); "
    "from workspace.code_search import main; main(**json.loads(sys.argv[2]))"
)
BINARY_WITHIN = 8_000
"""The bytes in which a NUL makes a file binary; git looks into as many."""


def main(git: str, pattern: str, each: int) -> None:
    """Write ``{"found": [[place, matching lines, numbers of the first ones], …]}``, or ``{"mistake": why}``.

    :param git: path of the program; the environment names the repository, and stdin the blobs.
    :param pattern: in Rust's syntax; ``^`` and ``$`` are the ends of a line, also of one that ends in CRLF.
    :param each: how many numbers to tell of a blob.
    """
    try:
        is_match = _compile(pattern)
    except SchemaError as error:
        json.dump({"mistake": str(error).rpartition("rror: ")[2].strip().rstrip(".")}, sys.stdout)
        return
    with subprocess.Popen([git, "cat-file", "--batch"], stdout=subprocess.PIPE) as reading:
        assert reading.stdout is not None
        matches = ((place, list_lines(blob, is_match)) for place, blob in enumerate(_read_blobs(reading.stdout)))
        found = [[place, len(numbers), numbers[:each]] for place, numbers in matches if numbers]
    json.dump({"found": found}, sys.stdout)


def _compile(pattern: str) -> Callable[[str], bool]:
    """Whether a text has a match, and in one with several lines, perhaps one that crosses them.

    :raises SchemaError: the engine does not take it.
    """
    return SchemaValidator(
        core_schema.str_schema(pattern=f"(?mR){pattern}", regex_engine="rust-regex")
    ).isinstance_python


def _read_blobs(stream: IO[bytes]) -> Iterator[bytes]:
    """The contents that ``git cat-file --batch`` prints.

    :raises ValueError: one is missing.
    """
    while header := stream.readline():
        content = stream.read(int(header.split(b" ")[2]))
        stream.read(1)
        yield content


def list_lines(content: bytes, is_match: Callable[[str], bool]) -> list[int]:
    """The numbers of the lines that match; none of a binary file."""
    if not content or b"\0" in content[:BINARY_WITHIN]:
        return []
    text = content.decode("utf-8", "replace")
    if not is_match(text):
        return []
    return [number for number, line in enumerate(text.removesuffix("\n").split("\n"), 1) if is_match(line)]
