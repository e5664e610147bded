"""Lets a program change the files of a commit in a folder, and reads back what it changed as a change set.

The program may do anything in there, and still run meanwhile: what it leaves is read file by file and judged later.
git never runs there. What the commit's own rules ignore is left out; what is no change of a regular file is reported.
"""

import asyncio
import mmap
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from domain.errors import CodeAccessError
from domain.globs import matches
from domain.review.findings import Severity
from domain.runs.patches import LIMITS, NO_CHANGES, ChangedFile, ChangeSet, PatchLimits, Violation
from workspace.checkout import BOUNDS, QUOTA, Checkout, CheckoutBounds, check_out
from workspace.diff import REGULAR
from workspace.objects import Objects
from workspace.sandbox.sandbox import Quota, Sandbox
from workspace.shadow_walk import (
    MOST_BYTES,
    CommittedFile,
    CommittedFiles,
    FileSignature,
    Walk,
    WalkEnded,
    sign,
)
from workspace.shadow_writer import RULES, IgnoreRules, open_ignore_rules, place_files
from workspace.temporary import run_to_end

_TICK = 0.02  # seconds; the clock of file systems advances in steps of up to 10 ms


@dataclass(frozen=True)
class ShadowChanges:
    """What differs from the commit.

    :param change: of regular files; empty if there was too much to read.
    :param violations: what is no such change.
    :param has_given_up: whether there was too much to read; the first violation says what.
    """

    change: ChangeSet
    violations: tuple[Violation, ...]
    has_given_up: bool = False


class Shadow:
    """The files of a commit that a program changes.

    :param checkout: where its commands run.
    :param most_entries: files and folders to look at.
    """

    def __init__(
        self,
        checkout: Checkout,
        objects: Objects,
        committed: CommittedFiles,
        rules: IgnoreRules,
        limits: PatchLimits,
        most_entries: int,
    ) -> None:
        self.checkout = checkout
        self._objects = objects
        self._committed = committed
        self._rules = rules
        self._limits = limits
        self._most_entries = most_entries
        self._hidden: frozenset[str] = frozenset()

    async def hide(self, patterns: Sequence[str]) -> None:
        """Remove the committed files that match these globs. It is no change that they are missing.

        To be called before anything runs here: it follows links.
        """
        self._hidden = frozenset(path for path in self._committed.files if matches(path, patterns))
        for path in self._hidden:
            await asyncio.to_thread(_remove, self.checkout.code / path)

    async def read_changes(self) -> ShadowChanges:
        """What was changed up to now. Programs may still run; of what they change meanwhile, some may be reported.

        :raises CodeAccessError: git could not say what is ignored, or what the files were before.
        """
        walk = Walk(self.checkout.code, self._committed, self.checkout.owner, self._limits, self._most_entries)
        try:
            await self._walk(walk)
            files = await self._compare(walk)
        except WalkEnded:
            return ShadowChanges(NO_CHANGES, _sort(walk.violations), has_given_up=True)
        change = ChangeSet(files=tuple(files)) if files else NO_CHANGES
        return ShadowChanges(change, _sort(walk.violations))

    async def apply(self, change: ChangeSet) -> None:
        """Bring files to the state after a change, as if a program had written them, whatever is there now.

        To restore a file, give the change that leads to what it was.

        :raises ToolError: a file has no valid path or mode, or cannot be written; those before it are.
        """
        await asyncio.to_thread(place_files, self.checkout.code, change.files, self.checkout.account)

    async def _walk(self, walk: Walk) -> None:
        """Look through everything, folders that are not ignored one level after the other."""
        paths: Sequence[str] = [""]
        while paths:
            await run_to_end(partial(walk.look, paths), walk.stop)
            ignored = await self._rules.select_ignored(walk.untracked)
            paths = [path for path in walk.untracked if path not in ignored]
            walk.untracked.clear()

    async def _compare(self, walk: Walk) -> Sequence[ChangedFile]:
        """Each changed file before and after, by path."""
        missing = set(walk.list_missing()) - self._hidden
        paths = [path for path in sorted(missing | walk.found.keys()) if self._may_change(walk, path)]
        committed = {path: self._committed.files[path] for path in paths if path in self._committed.files}
        if sum(file.size for file in committed.values()) > MOST_BYTES:
            walk.give_up(f"The changed files had more than {MOST_BYTES:,} bytes.", "Change less, or split the task.")
        contents = await self._objects.contents({file.blob for file in committed.values()})
        if any(file.blob not in contents for file in committed.values()):
            raise CodeAccessError("Some of the changed files could not be read from the repository.")
        return [_describe(path, walk, committed.get(path), contents) for path in paths]

    def _may_change(self, walk: Walk, path: str) -> bool:
        """Whether a file may be changed or deleted, judged by what it was before."""
        known = self._committed.files.get(path)
        if known is None:
            return True
        if known.mode not in REGULAR:
            walk.report_special(path, known.mode)
        elif known.size > self._limits.file_bytes:
            message = f"It had {known.size:,} bytes, which is too large to be changed or deleted."
            walk.report(path, "limits", Severity.error, message, "Restore it, or end the task and say why.")
        else:
            return True
        return False


def _sort(violations: Sequence[Violation]) -> tuple[Violation, ...]:
    return tuple(sorted(violations, key=lambda each: each.file))


@asynccontextmanager
async def open_shadow(
    objects: Objects,
    commit: str,
    sandbox: Sandbox,
    *,
    bounds: CheckoutBounds = BOUNDS,
    quota: Quota = QUOTA,
    limits: PatchLimits = LIMITS,
) -> AsyncGenerator[Shadow]:
    """Check out a commit into a temporary folder, which is removed at the end with all changes.

    :param commit: a commit that the repository has; missing blobs are fetched.
    :param limits: of a change that can be read back.
    :raises CodeAccessError: it is too large, holds a path that cannot be written, or could not be fetched.
    """
    async with check_out(objects, commit, sandbox, bounds=bounds, quota=quota) as checkout:
        files = await _list_files(objects, commit)
        rules = [path for path, file in files.items() if f"/{path}".endswith(f"/{RULES}") and file.mode in REGULAR]
        async with open_ignore_rules(objects.git, commit, rules) as ignoring:
            signatures = await asyncio.to_thread(_sign_all, checkout.code, files)
            yield Shadow(checkout, objects, CommittedFiles(files, signatures), ignoring, limits, quota.files)


def _remove(path: Path) -> None:
    """Remove a file; a submodule is an empty folder."""
    if path.is_dir():
        path.rmdir()
    else:
        path.unlink()


async def _list_files(objects: Objects, commit: str) -> dict[str, CommittedFile]:
    """Everything in the commit but folders, by path."""
    listed = await objects.git.run("ls-tree", "-r", "-l", "-z", "--full-tree", "--end-of-options", commit)
    files: dict[str, CommittedFile] = {}
    for line in listed.stdout.split(b"\0")[:-1]:
        meta, _, name = line.partition(b"\t")
        mode, _, blob, size = meta.decode().split()
        files[name.decode("utf-8", "surrogateescape")] = CommittedFile(mode, blob, 0 if size == "-" else int(size))
    return files


def _sign_all(folder: Path, files: Mapping[str, CommittedFile]) -> dict[str, FileSignature]:
    """The signatures of files that nobody but Forge has touched yet, if signatures can be relied on there."""
    if not _notices_mapped_writes(folder.parent):
        return {}
    signatures = {path: sign((folder / path).lstat()) for path, file in files.items() if file.mode in REGULAR}
    time.sleep(_TICK)  # so that whatever is changed from now on gets another time
    return signatures


def _notices_mapped_writes(folder: Path) -> bool:
    """Whether a file gets a new ctime when it is changed in memory that it was mapped to: on tmpfs it does not."""
    with tempfile.TemporaryFile(dir=folder) as file:
        file.write(bytes(mmap.PAGESIZE))
        file.flush()
        with mmap.mmap(file.fileno(), mmap.PAGESIZE) as mapped:
            _ = mapped[0]
            before = os.fstat(file.fileno()).st_ctime_ns
            time.sleep(_TICK)
            mapped[0] = 1
            return os.fstat(file.fileno()).st_ctime_ns != before


def _describe(path: str, walk: Walk, known: CommittedFile | None, contents: Mapping[str, bytes]) -> ChangedFile:
    found = walk.found.get(path)
    before = None if known is None else contents[known.blob]
    if found is None:
        assert known is not None
        return ChangedFile(path=path, before=before, after=None, mode=known.mode)
    old = known.mode if known is not None and known.mode != found.mode else None
    return ChangedFile(path=path, before=before, after=found.content, mode=found.mode, old_mode=old)
