"""Decides which files of a change are reviewed, and says why the others are not."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from domain.paths import is_lock, is_source, is_test, may_run, runs_as_text
from domain.review.changes import FileChange, SkippedFile
from workspace.attributes import Attributes
from workspace.diff import (
    EXECUTABLE,
    LINK,
    MODULE,
    REGULAR,
    DiffLimits,
    Entry,
    Patch,
    Skipped,
    to_file_change,
    to_printable,
)
from workspace.encoding import looks_binary

_BINARY_SUFFIXES = """
    png jpg jpeg gif bmp ico webp avif heic tiff psd mp3 mp4 m4a m4v mov avi mkv webm ogg wav flac pdf zip gz tgz bz2
    xz zst 7z rar tar jar war class exe dll so dylib a o wasm woff woff2 ttf otf eot doc docx xls xlsx ppt pptx sqlite
    parquet
"""
_BINARY = tuple(f".{suffix}".encode() for suffix in _BINARY_SUFFIXES.split())
_VENDORED = frozenset({"vendor", "vendors", "node_modules", "bower_components", "third_party", "third-party"})
_MINIFIED = (".min.js", ".min.mjs", ".min.cjs", ".min.css", ".js.map", ".mjs.map", ".css.map")
_GENERATED_HEADER = re.compile(
    rb"^\s*(?://|#|/\*|\*|--|;|<!--|%).*(?:(?<![\w@.])@generated\b|\bDO NOT (?:EDIT|MODIFY)\b)", re.MULTILINE
)
CLAIMS_GENERATED = "generated (says its header)"
_LFS = b"version https://git-lfs.github.com/spec/v1"


def skip_by_name(entry: Entry, attributes: "Attributes") -> str | None:
    """Why an entry is not reviewed, judged by its name, its modes and the base's attributes; None if it may be."""
    if special := _skip_special_mode(entry):
        return special
    path = entry.path.decode()
    if attributes.of(path, "diff") is False:
        return "marked as binary in .gitattributes"
    return (
        _skip_vendored(path, attributes)
        or _skip_generated(path, attributes)
        or (_is_binary_name(entry) and "binary")
        or None
    )


def odd_name(path: bytes, limits: DiffLimits) -> str | None:
    """Why no tool should be given this name; None if it is an ordinary one."""
    if len(path) > limits.name_bytes:
        return f"its name is longer than {limits.name_bytes:,} bytes"
    try:
        text = path.decode()
    except UnicodeDecodeError:
        return "its name is not UTF-8"
    if any(ord(char) < 32 or ord(char) == 127 for char in text):
        return "its name contains control characters"
    if any(part in {"", ".", ".."} or part.lower() == ".git" for part in text.split("/")):
        return "its name is not a valid path"
    return None


def rename_candidates(entries: Sequence[Entry], limits: DiffLimits) -> list[Entry]:
    """Added and deleted files that git would compare; empty if there are no pairs, or too many files."""
    regular = [
        entry
        for entry in entries
        if (entry.letter == "A" and entry.new_mode in REGULAR) or (entry.letter == "D" and entry.old_mode in REGULAR)
    ]
    candidates = [entry for entry in regular if odd_name(entry.path, limits) is None and not _is_binary_name(entry)]
    if len({entry.letter for entry in candidates}) < 2 or len(candidates) > limits.rename_candidates:
        return []
    return candidates


def _skip_special_mode(entry: Entry) -> str | None:
    mode = entry.old_mode if entry.letter == "D" else entry.new_mode
    if mode == MODULE:
        return "submodule"
    if mode == LINK:
        return "symbolic link"
    return None if mode in REGULAR else f"unknown file mode {mode}"


def _skip_vendored(path: str, attributes: "Attributes") -> str | None:
    marked = attributes.of(path, "linguist-vendored")
    if marked:
        return "vendored (.gitattributes)"
    return "vendored" if marked is None and is_vendored(path) else None


def is_vendored(path: str) -> bool:
    """Whether a path says that the file was copied from another project."""
    return not _VENDORED.isdisjoint(path.split("/")[:-1])


def _skip_generated(path: str, attributes: "Attributes") -> str | None:
    marked = attributes.of(path, "linguist-generated")
    if marked:
        return "generated (.gitattributes)"
    name = path.rsplit("/", 1)[-1].lower()
    if marked is False:
        return None
    if is_lock(path):
        return "lock file"
    if name.endswith(".snap"):
        return "generated"
    return "minified" if name.endswith(_MINIFIED) else None


def _is_binary_name(entry: Entry) -> bool:
    return entry.path.lower().endswith(_BINARY)


def skip_by_content(entry: Entry, base: bytes | None, head: bytes | None, attributes: "Attributes") -> str | None:
    """Why an entry is not reviewed, judged by its contents; None if it is.

    A file counts as generated only if every version says so: a change cannot hide itself by adding the words. It cannot
    do so by adding a NUL byte either, because interpreters run source that holds one.

    :param base, head: the contents, in UTF-8 if they declare another encoding.
    """
    versions = [content for content in (base, head) if content is not None]
    if any(map(looks_binary, versions)) and not (runs_as_text(entry.name) or any(map(is_script, versions))):
        return "binary"
    if versions and versions[-1].startswith(_LFS):
        return "Git LFS pointer: the content is stored elsewhere"
    if attributes.of(entry.path.decode(), "linguist-generated") is False:
        return None
    return CLAIMS_GENERATED if versions and all(map(_has_generated_header, versions)) else None


def is_script(content: bytes) -> bool:
    """Whether a content begins with ``#!``, which names the program that runs it."""
    return content.startswith(b"#!")


def adds_runnable(entry: Entry, *, script: bool) -> bool:
    """Whether an entry adds something that may run or decide what is run.

    A document whose new name makes it a program counts; a program that only moved does not.

    :param script: the content at head begins with ``#!``.
    """
    if _is_deletion(entry):
        return False
    if _skip_special_mode(entry):
        return True
    runs_now = script or entry.new_mode == EXECUTABLE or may_run(entry.name)
    is_same = entry.old_blob is not None and entry.old_blob == entry.new_blob
    ran_before = script or entry.old_mode == EXECUTABLE or may_run(to_printable(entry.old_path))
    return runs_now and not (is_same and ran_before)


def _has_generated_header(content: bytes) -> bool:
    return _GENERATED_HEADER.search(b"\n".join(content[:4000].split(b"\n")[:15])) is not None


def choose(entries: Iterable[Entry], attributes: "Attributes", limits: DiffLimits) -> tuple[list[Entry], list[Skipped]]:
    """The entries to review, the most important first, and the others.

    Generated files do not use up the limit. Deletions come last, because nothing of them is left to read.
    """
    look: list[Entry] = []
    skipped: list[Skipped] = []
    for entry in sorted(entries, key=lambda entry: (_is_deletion(entry), _kind(entry.name))):
        if reason := odd_name(entry.path, limits):
            skipped.append(_skip(entry, reason))
        elif reason := skip_by_name(entry, attributes):
            skipped.append(Skipped(entry.name, reason))
        elif len(look) >= limits.files:
            skipped.append(_skip(entry, f"more than {limits.files:,} files changed"))
        else:
            look.append(_without_special_base(entry))
    return look, skipped


def _is_deletion(entry: Entry) -> bool:
    return entry.letter == "D"


def _kind(name: str) -> int:
    """0 for source of the program, 2 for tests, 1 for everything else."""
    if is_test(name):
        return 2
    return 0 if is_source(name) else 1


def _skip(entry: Entry, reason: str) -> Skipped:
    """Skips an entry that should be reviewed; a deleted file does not matter, because nothing of it is left."""
    return Skipped(entry.name, reason, matters=not _is_deletion(entry))


def _without_special_base(entry: Entry) -> Entry:
    """A link or submodule that became a file is shown as all new."""
    return entry if entry.letter != "T" else replace(entry, old_blob=None)


def within_sizes(
    entries: Iterable[Entry], sizes: Mapping[str, int], limits: DiffLimits, absent: str
) -> tuple[list[Entry], list[Skipped]]:
    """The entries whose contents may be read into memory.

    :param sizes: bytes of each available blob.
    :param absent: the reason to give for a blob that is not available.
    """
    look: list[Entry] = []
    skipped: list[Skipped] = []
    total = 0
    for entry in entries:
        reason = None
        if any(blob not in sizes for blob in entry.blobs):
            reason = absent
        elif any(sizes[blob] > limits.content_bytes for blob in entry.blobs):
            reason = f"larger than {limits.content_bytes:,} bytes"
        elif total + sum(sizes[blob] for blob in entry.blobs) > limits.all_content_bytes:
            reason = f"the changed files are larger than {limits.all_content_bytes:,} bytes together"
        if reason:
            skipped.append(_skip(entry, reason))
        else:
            look.append(entry)
            total += sum(sizes[blob] for blob in entry.blobs)
    return look, skipped


def within_diff(
    entries: Sequence[Entry], patches: Mapping[int, Patch], limits: DiffLimits, unshown: Collection[bytes] = ()
) -> tuple[list[FileChange], list[Skipped]]:
    """The files whose diff GitHub would show; a large one does not push out the small ones after it.

    :param unshown: names of text files that GitHub treats as binary.
    """
    files: list[FileChange] = []
    skipped: list[Skipped] = []
    lines = size = 0
    for number, entry in enumerate(entries):
        patch = patches.get(number, Patch())
        reason = None
        if patch.lines > limits.file_lines or patch.bytes > limits.file_bytes:
            reason = f"its diff is larger than {limits.file_lines:,} lines or {limits.file_bytes:,} bytes"
        elif lines + patch.lines > limits.lines or size + patch.bytes > limits.bytes:
            reason = f"the whole diff is larger than {limits.lines:,} lines or {limits.bytes:,} bytes"
        if reason:
            skipped.append(_skip(entry, reason))
        else:
            files.append(to_file_change(entry, patch, is_shown=entry.path not in unshown))
            lines, size = lines + patch.lines, size + patch.bytes
    return files, skipped


def summarise(skipped: Collection[Skipped], limits: DiffLimits) -> tuple[SkippedFile, ...]:
    """The skipped files: source first, tests last, then those that do not matter.

    The first ``limits.named`` files of each reason are named; the rest is one line.
    """
    return tuple(_summary(skipped, limits.named))


def _summary(skipped: Collection[Skipped], named: int) -> Iterator[SkippedFile]:
    def key(item: Skipped) -> tuple[bool, int, str]:
        return not item.matters, _kind(item.name) if item.matters else 0, item.reason

    for (minor, _, reason), group in groupby(sorted(skipped, key=key), key=key):
        names = [item.name for item in group]
        for name in names[:named]:
            yield SkippedFile(path=name, reason=reason, matters=not minor)
        if (more := len(names) - named) > 0:
            path = f"{more:,} more file{'s' if more > 1 else ''}"
            yield SkippedFile(path=path, reason=reason, matters=not minor)
