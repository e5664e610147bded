"""Turns what git prints about two trees into values, and decides which files are looked into."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from itertools import groupby

from pydantic import BaseModel, ConfigDict

from domain.changes import ChangeStatus, FileChange, Hunk, NotLookedAt

REGULAR = frozenset({"100644", "100755", "100664"})
MODULE = "160000"
LINK = "120000"
ABSENT = "000000"


class Limits(BaseModel):
    """How much of a change is looked into.

    GitHub shows 300 files of a diff, 20,000 lines or 1 MB of it, and of one file 20,000 lines or 500 KB
    ("Limits for viewing content and diffs in a repository", docs.github.com); no comment can be attached beyond.
    The others are ours: what is read of one version of a file, of all files together, and how long a name may be.
    """

    model_config = ConfigDict(frozen=True)

    files: int = 300
    file_lines: int = 20_000
    file_bytes: int = 500_000
    lines: int = 20_000
    bytes: int = 1_000_000
    content_bytes: int = 2_000_000
    all_content_bytes: int = 50_000_000
    name_bytes: int = 1_024
    rename_candidates: int = 1_000
    named: int = 20


DEFAULT = Limits()


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of ``git diff-tree --raw -z``: names are bytes, because git promises nothing about them."""

    path: bytes
    old_path: bytes
    letter: str
    old_mode: str
    new_mode: str
    old_blob: str | None
    new_blob: str | None

    @property
    def name(self) -> str:
        """The path for people: valid UTF-8 without control characters, the rest escaped."""
        return printable(self.path)

    @property
    def blobs(self) -> tuple[str, ...]:
        return tuple(blob for blob in (self.old_blob, self.new_blob) if blob)

    @property
    def status(self) -> ChangeStatus:
        if self.letter == "M" and self.old_blob == self.new_blob:
            return ChangeStatus.mode_changed
        return _STATUS[self.letter]


_STATUS = {
    "A": ChangeStatus.added,
    "D": ChangeStatus.deleted,
    "M": ChangeStatus.modified,
    "T": ChangeStatus.modified,
    "R": ChangeStatus.renamed,
    "C": ChangeStatus.copied,
}


@dataclass(frozen=True, slots=True)
class Skipped:
    """An entry that is not looked into, and why; ``matters`` as in ``NotLookedAt``."""

    name: str
    reason: str
    matters: bool = False


def printable(path: bytes) -> str:
    """A path as text: bytes that are not UTF-8 and control characters become ``\\x..`` escapes."""
    text = path.decode("utf-8", "backslashreplace")
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def parse_raw(output: bytes) -> list[Entry]:
    """The entries of ``git diff-tree -r --raw -z --no-abbrev``, in git's (and GitHub's) order."""
    fields = iter(output.split(b"\0"))
    entries: list[Entry] = []
    for meta in fields:
        if not meta.startswith(b":"):
            continue
        old_mode, new_mode, old, new, status = meta[1:].decode("ascii").split(" ")
        letter = status[0]
        if letter not in _STATUS:
            raise ValueError(f"git reported a change of an unknown kind: {status}")
        old_path = next(fields)
        path = next(fields) if letter in "RC" else old_path
        entries.append(
            Entry(path, old_path, letter, old_mode, new_mode, _object(old, old_mode), _object(new, new_mode))
        )
    return entries


def _object(name: str, mode: str) -> str | None:
    """The blob; None where there is none, or where it is no blob (a submodule's commit)."""
    return None if mode in {ABSENT, MODULE} else name


# --- renames -----------------------------------------------------------------------------------------------


def rename_candidates(entries: Sequence[Entry], limits: Limits) -> list[Entry]:
    """Added and deleted files whose contents git would compare; none if there is nothing to pair, or too much."""
    regular = [
        entry
        for entry in entries
        if (entry.letter == "A" and entry.new_mode in REGULAR) or (entry.letter == "D" and entry.old_mode in REGULAR)
    ]
    candidates = [entry for entry in regular if odd_name(entry.path, limits) is None and not _is_binary_name(entry)]
    if len({entry.letter for entry in candidates}) < 2 or len(candidates) > limits.rename_candidates:
        return []
    return candidates


def pair(entries: Sequence[Entry], renamed: Iterable[Entry]) -> list[Entry]:
    """The entries with each added and deleted pair replaced by its rename."""
    renames = {entry.path: entry for entry in renamed if entry.letter == "R"}
    gone = {entry.old_path for entry in renames.values()}
    return [
        renames.get(entry.path, entry) if entry.letter == "A" else entry
        for entry in entries
        if not (entry.letter == "D" and entry.path in gone)
    ]


# --- hunks -------------------------------------------------------------------------------------------------

_FILE = re.compile(rb"diff --git a/(\d+) b/\1")
_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True, slots=True)
class Patch:
    """The hunks of one file and how much text they are."""

    hunks: tuple[Hunk, ...] = ()
    lines: int = 0
    bytes: int = 0


def parse_patch(output: bytes) -> dict[int, Patch]:
    """The patches of ``git diff-tree -p`` over two trees whose files are called by numbers.

    Lines end at a line feed only, so a carriage return stays part of its line, and
    "No newline at end of file" is not a line. Bytes that are not UTF-8 become U+FFFD.
    """
    lines = output.split(b"\n")
    patches: dict[int, Patch] = {}
    number, at = -1, 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if header := _FILE.fullmatch(line):
            number = int(header[1])
            patches[number] = Patch()
        elif header := _HUNK.match(line):
            old_start, old_length, new_start, new_length = (
                1 if part is None else int(part) for part in header.groups()
            )
            body, at = _body(lines, at, old_length, new_length)
            hunk = Hunk(
                old_start=old_start,
                old_length=old_length,
                new_start=new_start,
                new_length=new_length,
                lines=tuple(text.decode("utf-8", "replace") for text in body),
            )
            before = patches[number]
            size = sum(len(text) + 1 for text in body)
            patches[number] = Patch((*before.hunks, hunk), before.lines + len(body) + 1, before.bytes + size)
    return patches


def _body(lines: Sequence[bytes], at: int, old_left: int, new_left: int) -> tuple[list[bytes], int]:
    """The lines of one hunk, counted by its header: what they contain cannot end it early."""
    body: list[bytes] = []
    while old_left or new_left:
        line = lines[at]
        at += 1
        if line.startswith(b"\\"):
            continue
        old_left -= not line.startswith(b"+")
        new_left -= not line.startswith(b"-")
        body.append(line)
    return body, at


def file_change(entry: Entry, patch: Patch) -> FileChange:
    """The change of one text file."""
    marks = [line[:1] for hunk in patch.hunks for line in hunk.lines]
    return FileChange(
        path=entry.path.decode(),
        old_path=printable(entry.old_path) if entry.old_path != entry.path else None,
        status=entry.status,
        old_blob=entry.old_blob,
        new_blob=entry.new_blob,
        old_mode=entry.old_mode,
        new_mode=entry.new_mode,
        additions=marks.count("+"),
        deletions=marks.count("-"),
        hunks=patch.hunks,
    )


# --- what is looked into -----------------------------------------------------------------------------------

_LOCK_NAMES = """
    package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb deno.lock composer.lock
    poetry.lock uv.lock pdm.lock pipfile.lock pixi.lock cargo.lock go.sum gemfile.lock mix.lock pubspec.lock
    podfile.lock package.resolved packages.lock.json gradle.lockfile flake.lock conan.lock .terraform.lock.hcl
"""
_BINARY_SUFFIXES = """
    png jpg jpeg gif bmp ico webp avif heic tiff psd mp3 mp4 m4a m4v mov avi mkv webm ogg wav flac pdf zip gz tgz bz2
    xz zst 7z rar tar jar war class exe dll so dylib a o wasm woff woff2 ttf otf eot doc docx xls xlsx ppt pptx sqlite
    parquet
"""
_LOCKS = frozenset(_LOCK_NAMES.split())
_BINARY = tuple(f".{suffix}".encode() for suffix in _BINARY_SUFFIXES.split())
_VENDORED = frozenset({"vendor", "vendors", "node_modules", "bower_components", "third_party", "third-party"})
_MINIFIED = (".min.js", ".min.mjs", ".min.cjs", ".min.css", ".js.map", ".mjs.map", ".css.map")
_GENERATED_HEADER = re.compile(
    rb"^\s*(?://|#|/\*|\*|--|;|<!--|%).*(?:(?<![\w@.])@generated\b|\bDO NOT (?:EDIT|MODIFY)\b)", re.MULTILINE
)
CLAIMS_GENERATED = "generated (says its header)"
_LFS = b"version https://git-lfs.github.com/spec/v1"


def skipped_by_name(entry: Entry, attributes: "Attributes") -> str | None:
    """Why an entry is not looked into, as far as its name, its modes and the base's attributes tell."""
    if special := _special_mode(entry):
        return special
    path = entry.path.decode()
    if attributes.of(path, "diff") is False:
        return "marked as binary in .gitattributes"
    return _vendored(path, attributes) or _generated(path, attributes) or (_is_binary_name(entry) and "binary") or None


def odd_name(path: bytes, limits: Limits) -> str | None:
    """Why no tool should be given this name; None if there is nothing odd about it."""
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


def _special_mode(entry: Entry) -> str | None:
    mode = entry.old_mode if entry.letter == "D" else entry.new_mode
    if mode == MODULE:
        return "submodule"
    if mode == LINK:
        return "symbolic link"
    return None if mode in REGULAR else f"unknown file mode {mode}"


def _vendored(path: str, attributes: "Attributes") -> str | None:
    marked = attributes.of(path, "linguist-vendored")
    if marked:
        return "vendored (.gitattributes)"
    return "vendored" if marked is None and _VENDORED & set(path.split("/")[:-1]) else None


def _generated(path: str, attributes: "Attributes") -> str | None:
    marked = attributes.of(path, "linguist-generated")
    if marked:
        return "generated (.gitattributes)"
    name = path.rsplit("/", 1)[-1].lower()
    if marked is False:
        return None
    if name in _LOCKS:
        return "lock file"
    if name.endswith(".snap"):
        return "generated"
    return "minified" if name.endswith(_MINIFIED) else None


def _is_binary_name(entry: Entry) -> bool:
    return entry.path.lower().endswith(_BINARY)


def skipped_by_content(entry: Entry, base: bytes | None, head: bytes | None, attributes: "Attributes") -> str | None:
    """Why an entry is not looked into, as far as its contents tell.

    A file counts as generated only if every version says so: a change cannot hide itself by adding the words.
    """
    versions = [content for content in (base, head) if content is not None]
    if any(b"\0" in content[:8000] for content in versions):  # git's own rule (buffer_is_binary)
        return "binary"
    if versions and versions[-1].startswith(_LFS):
        return "Git LFS pointer: the content is stored elsewhere"
    if attributes.of(entry.path.decode(), "linguist-generated") is False:
        return None
    return CLAIMS_GENERATED if versions and all(map(_has_generated_header, versions)) else None


def _has_generated_header(content: bytes) -> bool:
    return _GENERATED_HEADER.search(b"\n".join(content[:4000].split(b"\n")[:15])) is not None


def choose(entries: Iterable[Entry], attributes: "Attributes", limits: Limits) -> tuple[list[Entry], list[Skipped]]:
    """The entries to look into, in GitHub's order, and the others; generated files do not use up the limit."""
    look: list[Entry] = []
    skipped: list[Skipped] = []
    for entry in entries:
        if reason := odd_name(entry.path, limits):
            skipped.append(Skipped(entry.name, reason, matters=True))
        elif reason := skipped_by_name(entry, attributes):
            skipped.append(Skipped(entry.name, reason))
        elif len(look) >= limits.files:
            skipped.append(Skipped(entry.name, f"more than {limits.files:,} files changed", matters=True))
        else:
            look.append(_without_special_base(entry))
    return look, skipped


def _without_special_base(entry: Entry) -> Entry:
    """A link or submodule that became a file is shown as all new."""
    return entry if entry.letter != "T" else replace(entry, old_blob=None)


def within_sizes(
    entries: Iterable[Entry], sizes: Mapping[str, int], limits: Limits, absent: str
) -> tuple[list[Entry], list[Skipped]]:
    """The entries whose contents may be read into memory.

    :param sizes: bytes of each blob that can be had.
    :param absent: the reason to give for a blob that cannot.
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
            skipped.append(Skipped(entry.name, reason, matters=True))
        else:
            look.append(entry)
            total += sum(sizes[blob] for blob in entry.blobs)
    return look, skipped


def within_diff(
    entries: Sequence[Entry], patches: Mapping[int, Patch], limits: Limits
) -> tuple[list[FileChange], list[Skipped]]:
    """The files whose diff GitHub would show; a large one does not push out the small ones after it."""
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
            skipped.append(Skipped(entry.name, reason, matters=True))
        else:
            files.append(file_change(entry, patch))
            lines, size = lines + patch.lines, size + patch.bytes
    return files, skipped


def summarised(skipped: Collection[Skipped], limits: Limits) -> tuple[NotLookedAt, ...]:
    """The skipped files; of each reason the first ``limits.named`` by name and the rest as one line."""
    return tuple(_summary(skipped, limits.named))


def _summary(skipped: Collection[Skipped], named: int) -> Iterator[NotLookedAt]:
    def key(item: Skipped) -> tuple[bool, str]:
        return not item.matters, item.reason

    for (minor, reason), group in groupby(sorted(skipped, key=key), key=key):
        names = [item.name for item in group]
        for name in names[:named]:
            yield NotLookedAt(path=name, reason=reason, matters=not minor)
        if (more := len(names) - named) > 0:
            path = f"{more:,} more file{'s' if more > 1 else ''}"
            yield NotLookedAt(path=path, reason=reason, matters=not minor)


# --- .gitattributes ----------------------------------------------------------------------------------------

_READ = frozenset({"linguist-generated", "linguist-vendored", "diff"})
_MOST_RULES = 500


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a ``.gitattributes`` file. ``None`` as a value takes a setting back."""

    directory: str
    pattern: str
    values: Mapping[str, bool | None]

    def matches(self, path: str) -> bool:
        inside = path.removeprefix(self.directory)
        if self.directory and inside == path:
            return False
        if "/" not in self.pattern:
            return fnmatchcase(inside.rsplit("/", 1)[-1], self.pattern)
        return _glob(self.pattern.lstrip("/").split("/"), inside.split("/"))


class Attributes:
    """What the ``.gitattributes`` files of the merge base say, read as data.

    :param files: directory ("" or ending in a slash) → content. Deeper files and later lines win (gitattributes(5)).
    """

    def __init__(self, files: Mapping[str, bytes] | None = None) -> None:
        ordered = sorted((files or {}).items(), key=lambda item: item[0].count("/"))
        rules = [rule for directory, content in ordered for rule in _rules(directory, content)]
        self._rules = rules[:_MOST_RULES]

    def of(self, path: str, name: str) -> bool | None:
        """Whether an attribute is set (True), unset (False) or not mentioned (None)."""
        for rule in reversed(self._rules):
            if name in rule.values and rule.matches(path):
                return rule.values[name]
        return None


def _rules(directory: str, content: bytes) -> Iterator[Rule]:
    for line in content[:100_000].decode("utf-8", "replace").splitlines():
        words = line.split()
        if len(words) < 2 or words[0].startswith(("#", "!", "[attr]", '"')) or words[0].endswith("/"):
            continue
        values = dict(_value(word) for word in _expanded(words[1:]))
        if known := {name: value for name, value in values.items() if name in _READ}:
            yield Rule(directory, re.sub(r"\\(.)", r"[\1]", words[0]), known)


def _expanded(words: Sequence[str]) -> Iterator[str]:
    """``binary`` is git's built-in macro for ``-diff -merge -text``."""
    for word in words:
        yield from ("-diff",) if word == "binary" else (word,)


def _value(word: str) -> tuple[str, bool | None]:
    if word.startswith("!"):
        return word[1:], None
    if word.startswith("-"):
        return word[1:], False
    name, _, value = word.partition("=")
    return name, value.lower() not in {"false", "no", "0"}


def _glob(pattern: Sequence[str], parts: Sequence[str]) -> bool:
    """Whether path components match a pattern's; ``**`` stands for any number. Never exponential: only the
    latest ``**`` is retried."""
    at = place = 0
    star = retry = -1
    while place < len(parts):
        if at < len(pattern) and pattern[at] == "**":
            star, retry = at, place
            at += 1
            if at == len(pattern):
                return True
        elif at < len(pattern) and fnmatchcase(parts[place], pattern[at]):
            at, place = at + 1, place + 1
        elif star >= 0:
            retry += 1
            at, place = star + 1, retry
        else:
            return False
    return at == len(pattern)
