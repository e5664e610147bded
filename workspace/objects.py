"""Reads changes and contents from a bare repository; nothing is ever checked out."""

import asyncio
import hashlib
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from domain.errors import CodeAccessError
from domain.globs import matches
from domain.paths import is_source, is_test
from domain.review.changes import Change, FileChange, FileVersions
from workspace.diff import (
    DEFAULT,
    DiffLimits,
    Entry,
    Patch,
    Skipped,
    is_vendored,
    list_marks,
    looks_binary,
    pair_renames,
    parse_patch,
    parse_raw,
    to_printable,
    to_touched,
    to_utf8,
)
from workspace.file_selection import (
    Attributes,
    adds_runnable,
    choose,
    is_doubtful,
    is_script,
    rename_candidates,
    skip_by_content,
    summarise,
    within_diff,
    within_sizes,
)
from workspace.git import MEGABYTE, Git, TooLarge, Unrelated

_DIFF = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-relative", "-O/dev/null", "--ignore-submodules=none")


class _Readable(NamedTuple):
    """Entries, classified by their contents.

    :param recoded: blob → its text in UTF-8, if it is text in another encoding.
    :param scripts: names of files that begin with ``#!``.
    :param unshown: names of files that GitHub treats as binary.
    """

    look: list[Entry]
    skipped: list[Skipped]
    recoded: dict[str, bytes]
    scripts: set[bytes]
    unshown: set[bytes]


class Objects:
    """Reads a bare repository that has our own configuration. Nothing is ever checked out."""

    absent = "its content is not in the repository (a partial clone)"

    def __init__(self, git: Git) -> None:
        self.git = git

    async def fetch_blobs(self, blobs: Collection[str]) -> None:
        """Fetch missing blobs, if possible. Here it is not."""

    async def merge_base(self, base: str, head: str) -> str:
        """The best common ancestor.

        Where two branches were merged into each other there are several. GitHub then compares with one of them, which
        whoever dates the commits can choose, and a merge may undo what that difference does not show.

        :raises Unrelated: there is none, or there are several.
        """
        best, *others = await self.merge_bases(base, head)
        if others:
            raise Unrelated(
                f"{head[:10]} and its base {base[:10]} were merged into each other and have {1 + len(others)} best "
                "common ancestors, so no single difference shows what merging would change.",
                "Take the base into the branch, with `/forge update` or `git merge`: then there is one.",
            )
        return best

    async def merge_bases(self, base: str, head: str) -> tuple[str, ...]:
        """All best common ancestors.

        :raises Unrelated: there is none; GitHub shows no diff then either.
        """
        found = await self.git.run("merge-base", "--all", "--end-of-options", base, head, expect=(0, 1))
        if found.code == 1:
            raise Unrelated(
                f"{head[:10]} and its base {base[:10]} have no common ancestor, so there is nothing to compare.",
                "Rebase the branch onto its base.",
            )
        return tuple(found.stdout.decode().split())

    async def change(self, merge_base: str, head: str, limits: DiffLimits = DEFAULT) -> Change:
        """What differs between two commits or trees.

        Blobs are fetched in at most two requests: first those that the names ask for and that git compares to find
        renames, then those that only the attributes make necessary.
        """
        entries = await self._entries(merge_base, head, "-M100%")
        attribute_files = await self._attribute_files(merge_base, entries)
        candidates = rename_candidates(entries, limits)
        there = await self._find_marks(merge_base, entries)
        look, _ = await asyncio.to_thread(choose, entries, Attributes(), limits, there)
        sizes = await self.available({*_blobs(look), *_blobs(candidates), *attribute_files.values()})
        small = {directory: blob for directory, blob in attribute_files.items() if sizes.get(blob, MEGABYTE) < MEGABYTE}
        contents = await self.contents(set(small.values()))
        attributes = Attributes({directory: contents[blob] for directory, blob in small.items()})
        entries = await self._pair_renames(merge_base, head, entries, candidates, sizes)

        look, skipped = await asyncio.to_thread(choose, entries, attributes, limits, there)
        if unknown := {blob for blob in _blobs(look) if blob not in sizes}:
            sizes |= await self.available(unknown)
        look, too_large = within_sizes(look, sizes, limits, self.absent)
        read = await self._readable(look, attributes)
        patches = await self._patches(read.look, read.recoded)
        files, too_long = await asyncio.to_thread(within_diff, read.look, patches, limits, read.unshown)
        left_out = [*skipped, *too_large, *read.skipped, *too_long]
        return await asyncio.to_thread(_change, merge_base, head, entries, files, left_out, read.scripts, limits)

    async def versions(self, files: Iterable[FileChange]) -> dict[str, FileVersions]:
        """The contents of both sides by path at head; text that declares another encoding is converted to UTF-8."""
        files = list(files)
        wanted = {blob for file in files for blob in (file.old_blob, file.new_blob) if blob}
        contents = await self.contents(wanted)
        if lost := wanted - contents.keys():
            await self.fetch_blobs(lost)
            contents |= await self.contents(lost)
        if wanted - contents.keys():
            raise CodeAccessError("Some of the changed files could not be read from the repository.")
        return {
            file.path: FileVersions(
                base=to_utf8(contents[file.old_blob]) if file.old_blob else None,
                head=to_utf8(contents[file.new_blob]) if file.new_blob else None,
            )
            for file in files
        }

    async def tree_of(self, sha: str) -> str:
        """The tree of a commit: the same for the same files, whoever committed them."""
        found = await self.git.run("rev-parse", "--verify", "--end-of-options", f"{sha}^{{tree}}")
        return found.stdout.decode().strip()

    async def read(self, tree: str, paths: Sequence[str], most: int = MEGABYTE) -> dict[str, bytes]:
        """Files of a commit or tree by path, if they exist there; no links, nothing of so many bytes or more."""
        named = await self._find_files(tree, [path.encode() for path in paths])
        sizes = await self.available(set(named.values()))
        contents = await self.contents({blob for blob in named.values() if sizes.get(blob, most) < most})
        return {path: contents[blob] for path, blob in named.items() if blob in contents}

    async def read_matching(self, tree: str, patterns: Sequence[str], most: int) -> dict[str, bytes]:
        """Small files whose path matches a glob, the first ones by path; none in a tree too large to list."""
        if not patterns:
            return {}
        paths = [path for path in await self._list_paths(tree) or () if matches(path, patterns)]
        return await self.read(tree, sorted(paths)[:most])

    async def packages(self, tree: str) -> tuple[str, ...]:
        """Modules and folders at the top and in ``src``, where ruff also looks for a project's own packages."""
        found: set[str] = set()
        for folder in (tree, f"{tree}:src"):
            listed = await self.git.run("ls-tree", "-z", "--full-tree", "--end-of-options", folder, expect=(0, 128))
            found |= {name for line in listed.stdout.split(b"\0") if (name := _importable(line))}
        return tuple(sorted(found))

    async def has_tests(self, tree: str) -> bool:
        """Whether the project has tests, judged by the names of files."""
        paths = await self._list_paths(tree)
        if paths is None:
            return True
        there = frozenset(paths)
        return any(is_test(path) and is_source(path) and not is_vendored(path, there) for path in paths)

    async def _list_paths(self, tree: str) -> list[str] | None:
        """The paths of all files; None if there are too many to list."""
        try:
            listed = await self.git.run("ls-tree", "-rz", "--name-only", "--full-tree", "--end-of-options", tree)
        except TooLarge:
            return None
        return [path.decode(errors="replace") for path in listed.stdout.split(b"\0") if path]

    async def list_files(self, tree: str) -> dict[str, str]:
        """The regular files with ordinary names of a commit or tree: path → blob.

        :raises TooLarge: the list itself is too long.
        """
        listed = await self.git.run("ls-tree", "-rz", "--full-tree", "--end-of-options", tree)
        pairs = (line.partition(b"\t") for line in listed.stdout.split(b"\0") if line.startswith(b"100"))
        return {
            path.decode(): described.decode().split(" ")[2]
            for described, _, path in pairs
            if to_printable(path).encode() == path
        }

    async def contents(self, blobs: Collection[str]) -> dict[str, bytes]:
        """The contents of the blobs that the repository has."""
        if not blobs:
            return {}
        output = (await self.git.run("cat-file", "--batch", stdin=_lines(blobs), most=256 * MEGABYTE)).stdout
        found: dict[str, bytes] = {}
        at = 0
        while at < len(output):
            end = output.index(b"\n", at)
            name, *described = output[at:end].decode().split(" ")
            at = end + 1
            if len(described) == 2:
                size = int(described[1])
                found[name] = output[at : at + size]
                at += size + 1
        return found

    async def sizes(self, objects: Collection[str]) -> dict[str, int]:
        """The sizes in bytes of the objects that the repository has."""
        if not objects:
            return {}
        listed = await self.git.run("cat-file", "--batch-check=%(objectname) %(objectsize)", stdin=_lines(objects))
        pairs = (line.split(" ") for line in listed.stdout.decode().splitlines())
        return {name: int(size) for name, size in pairs if size != "missing"}

    async def blobs(self, tree: str, paths: Sequence[bytes]) -> dict[bytes, str]:
        """The regular files with ordinary names among these paths of a commit or tree: path → blob."""
        ordinary = _fit_command_line([path for path in paths if to_printable(path).encode() == path])
        found = await self._find_files(tree, ordinary)
        return {path.encode(): blob for path, blob in found.items()}

    async def available(self, blobs: Collection[str]) -> dict[str, int]:
        """The sizes of blobs, after fetching missing ones."""
        sizes = await self.sizes(blobs)
        if missing := set(blobs) - sizes.keys():
            await self.fetch_blobs(missing)
            sizes |= await self.sizes(missing)
        return sizes

    async def _entries(self, old: str, new: str, *options: str, only: Sequence[bytes] = ()) -> list[Entry]:
        compared = await self.git.run(
            *("diff-tree", "-r", "-z", "--raw", "--no-abbrev", *_DIFF, *options),
            *("--end-of-options", old, new, "--", *only),
        )
        return await asyncio.to_thread(parse_raw, compared.stdout)

    async def _attribute_files(self, tree: str, entries: Sequence[Entry]) -> dict[str, str]:
        """The ``.gitattributes`` of the tree that concern the entries: directory → blob."""
        paths = sorted(_attribute_paths(entries), key=lambda path: path.count(b"/"))
        named = await self._find_files(tree, _fit_command_line(paths))
        return {path.removesuffix(".gitattributes"): blob for path, blob in named.items()}

    async def _find_marks(self, tree: str, entries: Sequence[Entry]) -> frozenset[str]:
        """What the tree has of the files that mark folders of the entries as copies; a change cannot bring its own."""
        wanted = {mark.encode() for entry in entries for mark in list_marks(entry.name)}
        paths = _fit_command_line(sorted(wanted, key=lambda path: (path.count(b"/"), path)))
        return frozenset(await self._find_files(tree, paths))

    async def _find_files(self, tree: str, paths: Sequence[bytes]) -> dict[str, str]:
        """The regular files with these paths in a tree: path → blob."""
        if not paths:
            return {}  # git would list the whole folder
        listed = await self.git.run("ls-tree", "-z", "--full-tree", "--end-of-options", tree, "--", *paths)
        found: dict[str, str] = {}
        for line in listed.stdout.split(b"\0"):
            meta, _, path = line.partition(b"\t")
            if path and meta.startswith(b"100"):
                found[path.decode()] = meta.decode().split(" ")[2]
        return found

    async def _pair_renames(
        self, old: str, new: str, entries: Sequence[Entry], candidates: Sequence[Entry], sizes: Mapping[str, int]
    ) -> list[Entry]:
        """The entries, with renames that were also edited (half alike, as git and GitHub have it by default)."""
        here = [entry for entry in candidates if all(blob in sizes for blob in entry.blobs)]
        paths = [entry.path for entry in here]
        if len({entry.letter for entry in here}) < 2 or _fit_command_line(paths) != paths:
            return list(entries)
        return pair_renames(entries, await self._entries(old, new, "-M50%", "-l1000", only=paths))

    async def _readable(self, entries: Sequence[Entry], attributes: Attributes) -> _Readable:
        contents = await self.contents(set(_blobs(entries)))
        plain = {blob: to_utf8(content) for blob, content in contents.items()}
        read = _Readable(
            [], [], {blob: text for blob, text in plain.items() if text is not contents[blob]}, set(), set()
        )
        for entry in entries:
            base, head = (plain[blob] if blob else None for blob in (entry.old_blob, entry.new_blob))
            if reason := await asyncio.to_thread(skip_by_content, entry, base, head, attributes):
                read.skipped.append(Skipped(entry.name, reason, matters=is_doubtful(reason, base)))
            else:
                read.look.append(entry)
            if head is not None and is_script(head):
                read.scripts.add(entry.path)
            if any(looks_binary(contents[blob]) for blob in entry.blobs):
                read.unshown.add(entry.path)
        return read

    async def _patches(self, entries: Sequence[Entry], recoded: Mapping[str, bytes]) -> dict[int, Patch]:
        """Place of an entry → its hunks.

        The blobs are compared under numbers instead of names, in two temporary trees outside the repository: no name
        can confuse the output, no attribute applies, and renames stay as they were decided.

        :param recoded: blob → the same text in UTF-8, which is compared instead.
        """
        if not entries:
            return {}
        assert self.git.repository is not None
        with tempfile.TemporaryDirectory(prefix="forge-") as objects:
            environment = {
                "GIT_OBJECT_DIRECTORY": objects,
                "GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self.git.repository / "objects"),
            }
            plain = {blob: await self._store_blob(text, environment) for blob, text in recoded.items()}
            sides = b"".join(
                _tree([plain.get(blob, blob) if blob else None for blob in side])
                for side in ([entry.old_blob for entry in entries], [entry.new_blob for entry in entries])
            )
            made = await self.git.run("mktree", "--batch", "--missing", stdin=sides, environment=environment)
            old, new = made.stdout.decode().split()
            patch = await self.git.run(
                *(
                    "diff-tree",
                    "-p",
                    "--text",
                    "-U3",
                    "--inter-hunk-context=0",
                    "--diff-algorithm=default",
                    "--indent-heuristic",
                ),
                *("--no-renames", "--src-prefix=a/", "--dst-prefix=b/", *_DIFF, "--end-of-options", old, new),
                environment=environment,
                most=256 * MEGABYTE,
            )
        return await asyncio.to_thread(parse_patch, patch.stdout)

    async def _store_blob(self, content: bytes, environment: Mapping[str, str]) -> str:
        """Store a content beside the repository's own objects, and return its blob."""
        done = await self.git.run("hash-object", "-w", "--stdin", stdin=content, environment=environment)
        return done.stdout.decode().strip()


def name_blob(pieces: Iterable[bytes], size: int, digits: int) -> str:
    """The name that git gives a content.

    :param pieces: the content.
    :param size: of all of them, in bytes.
    :param digits: of a name: 40 for SHA-1, 64 for SHA-256.
    """
    name = hashlib.new("sha1" if digits == 40 else "sha256", usedforsecurity=False)
    name.update(b"blob %d\0" % size)
    for piece in pieces:
        name.update(piece)
    return name.hexdigest()


def _change(
    merge_base: str,
    head: str,
    entries: Sequence[Entry],
    files: Sequence[FileChange],
    left_out: Collection[Skipped],
    scripts: Collection[bytes],
    limits: DiffLimits,
) -> Change:
    lines = {file.path.encode(): file.additions + file.deletions for file in files}
    places = {entry.path: place for place, entry in enumerate(entries)}
    return Change(
        merge_base=merge_base,
        head_sha=head,
        files=tuple(sorted(files, key=lambda file: places[file.path.encode()])),
        not_looked_at=summarise(left_out, limits),
        total_files=len(entries),
        additions=sum(file.additions for file in files),
        deletions=sum(file.deletions for file in files),
        touched=tuple(
            to_touched(entry, lines.get(entry.path), may_run=adds_runnable(entry, script=script), is_script=script)
            for entry in entries
            for script in [entry.path in scripts]
        ),
    )


def _tree(blobs: Iterable[str | None]) -> bytes:
    """Input for ``mktree --batch``: each blob under its number, and an empty line."""
    return b"".join(b"100644 blob %s\t%d\n" % (blob.encode(), i) for i, blob in enumerate(blobs) if blob) + b"\n"


def _blobs(entries: Iterable[Entry]) -> Iterable[str]:
    return (blob for entry in entries for blob in entry.blobs)


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def _attribute_paths(entries: Iterable[Entry]) -> set[bytes]:
    found = {b".gitattributes"}
    for entry in entries:
        if to_printable(entry.path).encode() != entry.path:
            continue
        parts = entry.path.split(b"/")[:-1]
        found |= {b"/".join(parts[:depth]) + b"/.gitattributes" for depth in range(1, len(parts) + 1)}
    return found


def _importable(listed: bytes) -> str | None:
    """The name of a package or module in a line of ``ls-tree``."""
    meta, _, path = listed.partition(b"\t")
    is_folder, name = meta.startswith(b"040000"), path.decode(errors="replace")
    module = name if is_folder else name.removesuffix(".py") if name.endswith(".py") else ""
    return module if module.isidentifier() else None


def _fit_command_line(paths: Sequence[bytes]) -> list[bytes]:
    fitting: list[bytes] = []
    room = MEGABYTE
    for path in paths:
        room -= len(path) + 9
        if room < 0:
            break
        fitting.append(path)
    return fitting
