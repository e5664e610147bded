"""Lets a program change the files of a commit in a folder, writes there, and reads back what it changed.

The program may do anything in there, and still run meanwhile: what it leaves is read file by file and judged later.
git never runs there. What the commit's own rules ignore is left out; what is no change of a regular file is reported.
"""

import asyncio
import mmap
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from domain.errors import CodeAccessError, ToolError
from domain.globs import matches
from domain.review.findings import Severity
from domain.runs.patches import EXECUTABLE, LIMITS, NO_CHANGES, ChangedFile, ChangeSet, PatchLimits, Violation
from domain.runs.patches import REGULAR as PLAIN
from workspace.checkout import QUOTA, Checkout, check_out, make_repository, write_files
from workspace.diff import REGULAR
from workspace.git import Git
from workspace.objects import Objects
from workspace.patches import refusals
from workspace.safe_copy import open_folder, open_folders, remove_tree, run_to_end, temporary_folder
from workspace.sandbox.accounts import UnixAccount
from workspace.sandbox.sandbox import Sandbox
from workspace.shadow_walk import (
    MOST_BYTES,
    CommittedFile,
    CommittedFiles,
    FileSignature,
    Walk,
    WalkEnded,
    sign,
)

RULES = ".gitignore"


class IgnoreRules:
    """The rules of one commit.

    :param git: for a repository of our own.
    :param folder: with the rules and nothing else.
    """

    def __init__(self, git: Git, folder: Path) -> None:
        self._git = git
        self._folder = folder

    async def select_ignored(self, paths: Collection[str]) -> set[str]:
        """Those of the paths that are ignored, if they are not committed.

        :param paths: of files, and of folders with a slash at the end.
        :raises CodeAccessError: the rules take too long.
        """
        if not paths:
            return set()
        # git cannot be told to take all paths literally here; none that begins like this has a special meaning.
        asked = b"".join(b"./%b\0" % path.encode("utf-8", "surrogateescape") for path in paths)
        environment = {"GIT_WORK_TREE": str(self._folder), "GIT_LITERAL_PATHSPECS": "0"}
        done = await self._git.run(
            *("check-ignore", "--no-index", "-z", "--stdin"),
            stdin=asked,
            expect=(0, 1),
            environment=environment,
            cwd=self._folder,
        )
        return {path.decode("utf-8", "surrogateescape").removeprefix("./") for path in done.stdout.split(b"\0")[:-1]}


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
async def open_shadow(objects: Objects, commit: str, sandbox: Sandbox) -> AsyncGenerator[Shadow]:
    """Check out a commit into a temporary folder, which is removed at the end with all changes.

    :param commit: a commit that the repository has; missing blobs are fetched.
    :raises CodeAccessError: it is too large, holds a path that cannot be written, or could not be fetched.
    """
    async with check_out(objects, commit, sandbox) as checkout:
        files = await _list_files(objects, commit)
        rules = [path for path, file in files.items() if f"/{path}".endswith(f"/{RULES}") and file.mode in REGULAR]
        async with open_ignore_rules(objects.git, commit, rules) as ignoring:
            signatures = await asyncio.to_thread(_sign_all, checkout.code, files)
            yield Shadow(checkout, objects, CommittedFiles(files, signatures), ignoring, LIMITS, QUOTA.files)


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


def place_files(top: Path, files: Iterable[ChangedFile], account: UnixAccount | None) -> None:
    """Bring files to the state after their change; it does not matter what is there now.

    :param top: the folder; untrusted code can change neither it nor the one that holds it.
    :param account: owner of what is written; Forge's own account by default.
    :raises ToolError: a file has no valid path or mode, or cannot be written; those before it are.
    """
    try:
        aside = Path(tempfile.mkdtemp(prefix="aside-", dir=top.parent))
    except OSError as error:
        message = f"Nothing could be written ({error.strerror})."
        raise ToolError(message, "Give Forge room on its disk.") from None
    try:
        with open_folder(aside) as opened:
            writer = _Writer(top, opened, account)
            for file in files:
                _require_plain(file)
                try:
                    writer.write(file)
                except OSError as error:
                    message = f"The file {file.path} could not be written ({error.strerror})."
                    raise ToolError(message, "Let nothing else write there meanwhile.") from None
    finally:
        remove_tree(aside)


def _require_plain(file: ChangedFile) -> None:
    if wrong := refusals.find_mistake(file.path):
        raise ToolError(f"A path {wrong}, so it is not written.", "Write regular files only.")
    if file.mode not in {PLAIN, EXECUTABLE}:
        raise ToolError(f"{file.path} would not be a regular file ({file.mode}).", "Write regular files only.")


_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FRESH = "fresh"
# What tools leave behind, for repositories that do not say so themselves; their own rules come first.
_DROPPINGS = """
__pycache__/
*.pyc
.pytest_cache/
.mypy_cache/
.ruff_cache/
node_modules/
.venv/
*.egg-info/
.aider*
"""


class _Writer:
    """Writes into one folder.

    :param aside: an open folder on the same disk, which only Forge can change.
    """

    def __init__(self, top: Path, aside: int, account: UnixAccount | None) -> None:
        self._top = top
        self._aside = aside
        self._account = account
        self._moved = 0

    def write(self, file: ChangedFile) -> None:
        *folders, name = file.path.split("/")
        if file.after is None:
            self._delete(folders, name)
            return
        with ExitStack() as stack:
            within = stack.enter_context(open_folder(self._top))
            for folder in folders:
                within = self._open_or_make(folder, within, stack)
            self._make_file(file.after, 0o755 if file.mode == EXECUTABLE else 0o644)
            self._put(name, within)

    def _delete(self, folders: list[str], name: str) -> None:
        try:
            with open_folders(self._top, folders) as within:
                self._move_out(name, within)
        except (FileNotFoundError, NotADirectoryError):
            return  # it is not there, or what is there in place of its folder is no file of this path

    def _open_or_make(self, name: str, within: int, stack: ExitStack) -> int:
        try:
            return stack.enter_context(open_folder(name, within))
        except FileNotFoundError:
            pass
        except NotADirectoryError:
            self._move_out(name, within)
        os.mkdir(_FRESH, 0o700, dir_fd=self._aside)
        if self._account is not None:
            os.chown(_FRESH, self._account.uid, self._account.gid, dir_fd=self._aside, follow_symlinks=False)
        self._put(name, within)
        return stack.enter_context(open_folder(name, within))

    def _make_file(self, content: bytes, mode: int) -> None:
        made = os.open(_FRESH, _MAKE, 0o600, dir_fd=self._aside)
        with os.fdopen(made, "wb") as file:
            file.write(content)
            file.flush()
            if self._account is not None:
                os.fchown(made, self._account.uid, self._account.gid)
            os.fchmod(made, mode)

    def _put(self, name: str, within: int) -> None:
        """Move what was made to its place."""
        try:
            os.rename(_FRESH, name, src_dir_fd=self._aside, dst_dir_fd=within)
        except IsADirectoryError:
            self._move_out(name, within)
            os.rename(_FRESH, name, src_dir_fd=self._aside, dst_dir_fd=within)

    def _move_out(self, name: str, within: int) -> None:
        self._moved += 1
        os.rename(name, f"old-{self._moved}", src_dir_fd=within, dst_dir_fd=self._aside)


@asynccontextmanager
async def open_ignore_rules(git: Git, commit: str, files: Collection[str]) -> AsyncGenerator[IgnoreRules]:
    """The rules of a commit.

    :param git: for the repository, which has the blobs of the rules.
    :param files: the paths of the regular files with rules.
    :raises CodeAccessError: git cannot write them.
    """
    with temporary_folder("rules") as place:
        folder, own = place / "files", place / "git"
        folder.mkdir()
        own.mkdir()
        if files:
            await write_files(git, commit, folder, files)
        ours = await make_repository(own, git, [str(folder)])
        (own / "info" / "exclude").write_text(_DROPPINGS)
        yield IgnoreRules(ours, folder)
