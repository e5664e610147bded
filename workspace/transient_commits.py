"""Reads what a review does not show: what a commit added and a later one removed, and files that nobody reads."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from domain.review.changes import TouchedFile
from workspace.diff import Entry, looks_binary, parse_raw, to_utf8
from workspace.git import MEGABYTE, TooLarge
from workspace.objects import Objects

_MOST_COMMITS = 250
_MOST_BLOBS = 2000
_LARGEST = MEGABYTE
_MOST_BYTES = 40 * MEGABYTE
_COMMIT = re.compile(rb"\n?commit [0-9a-f]{40,64}\n?")


@dataclass(frozen=True)
class TransientFile:
    """A file as one commit left it.

    :param lines: all lines, as git counts them.
    :param added: the 1-based lines that this commit added and that neither end of the pull request has.
    :param known: the lines of the file at both ends.
    """

    path: str
    lines: tuple[str, ...]
    added: tuple[int, ...]
    known: tuple[str, ...]


async def list_transient(code: Objects, merge_base: str, head: str) -> tuple[tuple[TransientFile, ...], bool]:
    """The files of the commits between two commits, the oldest first, and whether they are complete.

    Merges are left out, because their changes come from another branch. What a merge adds itself shows in the next
    commit.
    """
    try:
        done = await code.git.run(
            *("log", "--no-merges", "--reverse", f"--max-count={_MOST_COMMITS + 1}", "--format=commit %H"),
            *("-r", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color"),
            *("--ignore-submodules=none", "--end-of-options", f"{merge_base}..{head}", "--"),
            most=64 * MEGABYTE,
        )
        commits = _commits(done.stdout)
    except TooLarge:
        return (), False
    if len(commits) < 2:
        return (), True
    paths = list({entry.path for entries in commits for entry in entries})
    ends = [await code.blobs(tree, paths) for tree in (merge_base, head)]
    wanted = {blob for entries in commits for entry in entries for blob in entry.blobs}
    wanted |= {blob for end in ends for blob in end.values()}
    texts = await _texts(code, wanted)
    everywhere = {line for end in ends for blob in end.values() for line in texts.get(blob, ())}
    files = [file for entries in commits[-_MOST_COMMITS:] for file in _of_commit(entries, ends, texts, everywhere)]
    return tuple(files), len(texts) == len(wanted) and len(commits) <= _MOST_COMMITS


async def list_unreviewed(
    code: Objects, merge_base: str, head: str, touched: Sequence[TouchedFile]
) -> tuple[tuple[TransientFile, ...], bool]:
    """The changed text files that no review reads (generated, vendored, too large), and whether they are complete.

    :param touched: every changed file; of one that is reviewed the number of lines is known.
    """
    left = [file for file in touched if file.lines is None and not file.is_gone]
    if not left:
        return (), True
    olds = [(file.old_path or file.path).encode() for file in left]
    after = await code.blobs(head, [file.path.encode() for file in left])
    before = await code.blobs(merge_base, olds)
    wanted = {*after.values(), *before.values()}
    texts = await _texts(code, wanted)
    found: list[TransientFile] = []
    for file, old in zip(left, olds, strict=True):
        lines = texts.get(after.get(file.path.encode(), ""), ())
        known = texts.get(before.get(old, ""), ())
        known_lines = set(known)
        added = tuple(number for number, text in enumerate(lines, 1) if text not in known_lines)
        if added:
            found.append(TransientFile(file.path, lines, added, known))
    return tuple(found), len(texts) == len(wanted)


def _commits(logged: bytes) -> list[list[Entry]]:
    """The entries of each commit. A path cannot be mistaken for a commit, because it follows its entry."""
    commits: list[list[Entry]] = []
    fields = iter(logged.split(b"\0"))
    for field in fields:
        meta = field.lstrip(b"\n")
        if _COMMIT.fullmatch(field):
            commits.append([])
        elif meta.startswith(b":"):
            commits[-1] += parse_raw(meta + b"\0" + next(fields))
    return commits


def _of_commit(
    entries: Sequence[Entry],
    ends: Sequence[Mapping[bytes, str]],
    texts: Mapping[str, tuple[str, ...]],
    everywhere: set[str],
) -> list[TransientFile]:
    before = {line for entry in entries for line in texts.get(entry.old_blob or "", ())}
    found: list[TransientFile] = []
    for entry in entries:
        lines = texts.get(entry.new_blob or "", ())
        added = tuple(n for n, text in enumerate(lines, 1) if text not in everywhere and text not in before)
        if added:
            known = tuple(line for end in ends for line in texts.get(end.get(entry.path, ""), ()))
            found.append(TransientFile(entry.name, lines, added, known))
    return found


async def _texts(code: Objects, blobs: set[str]) -> dict[str, tuple[str, ...]]:
    """The lines of the blobs that are within the limits; a binary blob has none."""
    sizes = await code.available(sorted(blobs)[:_MOST_BLOBS])
    small: list[str] = []
    left = _MOST_BYTES
    for blob, size in sizes.items():
        if size <= min(left, _LARGEST):
            small.append(blob)
            left -= size
    contents = await code.contents(small)
    texts = {blob: to_utf8(data) for blob, data in contents.items()}
    return {
        blob: () if looks_binary(text) else tuple(text.decode(errors="replace").split("\n"))
        for blob, text in texts.items()
    }
