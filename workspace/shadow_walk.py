"""Looks through the files of a commit that untrusted code changes, maybe at the same time, for what it touched.

Every name is opened relative to a folder that is already open, what was opened is looked at before it is read, and
depth, entries, bytes and findings have bounds. No name is trusted to lead to the same file twice.
"""

import os
import stat
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, NoReturn

from domain.review.findings import Severity
from domain.runs.patches import EXECUTABLE, REGULAR, Constraint, PatchLimits, Violation
from workspace.diff import LINK, MODULE
from workspace.objects import name_blob
from workspace.patches import refusals
from workspace.patches.refusals import violation
from workspace.safe_copy import open_file, open_folder, open_folders

MOST_BYTES = 64 << 20
"""Of the contents of all changed files together."""
_MOST_NAMES = 16 << 20  # characters
_MOST_VIOLATIONS = 100
_DEPTH = 64  # folders within each other; each level keeps two files open
_PIECE = 1 << 20
_FILES_ONLY = "Change regular files only."
_AGAIN = "Let nothing write to it while the changes are read."


class CommittedFile(NamedTuple):
    """An entry of the commit.

    :param mode: git's, six octal digits.
    :param blob: its object.
    :param size: of its content in bytes; 0 for a submodule.
    """

    mode: str
    blob: str
    size: int


class FileSignature(NamedTuple):
    """What differs once a file was touched: nobody can set ``changed`` (its ctime)."""

    size: int
    modified: int
    changed: int
    inode: int
    mode: int


class FoundFile(NamedTuple):
    """A regular file that is new or differs, with git's mode."""

    content: bytes
    mode: str


@dataclass(frozen=True)
class CommittedFiles:
    """The files as they were checked out.

    :param files: path → entry, in git's order; without folders.
    :param signatures: path → signature of those whose signature tells whether they were touched.
    """

    files: Mapping[str, CommittedFile]
    signatures: Mapping[str, FileSignature]
    folders: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        folders = frozenset(folder for path in self.files for folder in refusals.folders(path))
        object.__setattr__(self, "folders", folders)


class WalkEnded(Exception):
    """There is too much to look at, or the walk was stopped."""


def sign(found: os.stat_result) -> FileSignature:
    """What is another whenever a program wrote to the file."""
    return FileSignature(found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino, found.st_mode)


class Walk:
    """One look through the files. Each call is made in a thread, one after the other.

    :param top: the folder; untrusted code cannot replace it.
    :param owner: the account (uid) that must own everything.
    :param most_entries: files and folders to look at.
    :ivar found: path → new or differing file.
    :ivar untracked: paths that are not committed and were not yet looked into; those of folders end with a slash.
    :ivar stop: set from another thread, it ends the walk.
    """

    def __init__(
        self, top: Path, committed: CommittedFiles, owner: int, limits: PatchLimits, most_entries: int
    ) -> None:
        self.found: dict[str, FoundFile] = {}
        self.untracked: list[str] = []
        self.violations: list[Violation] = []
        self.stop = threading.Event()
        self._top = top
        self._committed = committed
        self._owner = owner
        self._limits = limits
        self._entries_left = most_entries
        self._bytes_left = MOST_BYTES
        self._names_left = _MOST_NAMES
        self._seen: set[str] = set()
        self._closed: list[str] = []

    def look(self, paths: Sequence[str]) -> None:
        """Look into folders and read files that are not committed.

        :param paths: the empty one is the top; those of other folders end with a slash.
        :raises WalkEnded: a violation says why, unless it was stopped from outside.
        """
        for path in paths:
            *folders, name = path.rstrip("/").split("/")
            try:
                with open_folders(self._top, folders) as opened:
                    if path == "" or path.endswith("/"):
                        self._enter(opened, name or ".", path)
                    else:
                        self._take_new(opened, name, path)
            except FileNotFoundError:
                continue  # it is gone by now
            except OSError as error:
                self._close(path, error)

    def list_missing(self) -> list[str]:
        """The committed files that are no longer there; none below folders that could not be looked into."""
        closed = tuple(self._closed)
        missing = [path for path in self._committed.files if path not in self._seen and not path.startswith(closed)]
        if len(missing) + len(self.found) > self._limits.files:
            self._give_up_on_files()
        return missing

    def report(self, path: str, constraint: Constraint, severity: Severity, message: str, suggestion: str) -> None:
        """Add a violation.

        :raises WalkEnded: there are too many.
        """
        self.violations.append(violation(path, constraint, severity, message, suggestion))
        if len(self.violations) >= _MOST_VIOLATIONS:
            self.give_up(
                f"There are {_MOST_VIOLATIONS} violations or more.", "Begin again from the files as they were."
            )

    def give_up(self, message: str, suggestion: str) -> NoReturn:
        """Say that there is too much, and end the walk.

        :raises WalkEnded: always.
        """
        self.violations.append(violation("", "limits", Severity.error, message, suggestion))
        raise WalkEnded

    # --- folders -------------------------------------------------------------------------------------------

    def _enter(self, within: int, name: str, path: str) -> None:
        """Look through a folder, and the folders in it that hold committed files.

        :param within: the open folder that holds it.
        """
        if path.count("/") > _DEPTH:
            self._closed.append(path)
            message = f"It lies in more than {_DEPTH} folders within each other."
            return self.report(path, "limits", Severity.error, message, "Use fewer folders.")
        try:
            with open_folder(name, within) as opened:
                if os.fstat(opened).st_uid != self._owner:
                    self._closed.append(path)
                    return self._report_owner(path)
                with os.scandir(opened) as entries:
                    for entry in entries:
                        self._count()
                        self._take(opened, entry.name, path + entry.name)
        except FileNotFoundError:
            return None  # it is gone by now
        except OSError as error:
            return self._close(path, error)

    def _close(self, path: str, error: OSError) -> None:
        if path == "" or path.endswith("/"):
            self._closed.append(path)
        message = f"It could not be opened or read ({error.strerror})."
        advice = "Give its owner all rights to it, or remove it; let nothing replace it meanwhile."
        self.report(path, "path", Severity.error, message, advice)

    def _count(self) -> None:
        self._entries_left -= 1
        if self.stop.is_set():
            raise WalkEnded
        if self._entries_left < 0:
            self.give_up("There are more files and folders than Forge looks through.", "Remove what is not needed.")

    # --- what is in them -----------------------------------------------------------------------------------

    def _take(self, opened: int, name: str, path: str) -> None:
        if refusals.is_git(name):
            message = "A file or folder of this name decides what git does, and is never read."
            return self.report(path, "path", Severity.critical, message, "Remove it; Forge commits the changes itself.")
        try:
            found = os.stat(name, dir_fd=opened, follow_symlinks=False)
        except FileNotFoundError:
            return None
        is_folder = stat.S_ISDIR(found.st_mode)
        known = self._committed.files.get(path)
        if known is not None:
            self._seen.add(path)
            if self._committed.signatures.get(path) != sign(found):
                self._take_committed(opened, name, path, found, known)
        elif is_folder and path in self._committed.folders:
            self._enter(opened, name, f"{path}/")
        else:
            self._put_off(f"{path}/" if is_folder else path)
        return None

    def _put_off(self, path: str) -> None:
        """Leave something to be looked into once it is known whether it is ignored."""
        self.untracked.append(path)
        self._names_left -= len(path)
        if self._names_left < 0:
            self.give_up("The names of new files are too long to look through.", "Remove what is not needed.")

    def _take_committed(self, opened: int, name: str, path: str, found: os.stat_result, known: CommittedFile) -> None:
        if known.mode == MODULE:
            if not _is_empty_folder(opened, name):
                self.report_special(path, known.mode)
        elif stat.S_ISDIR(found.st_mode):
            message = "A folder took the place of a committed file."
            self.report(path, "mode", Severity.error, message, "Keep the file, or give the folder another name.")
        else:
            self._read(opened, name, path, found, known)

    def _take_new(self, opened: int, name: str, path: str) -> None:
        if wrong := refusals.find_mistake(path):
            advice = "Give it a plain name, or remove it."
            return self.report(path, "path", Severity.error, f"The path {wrong}.", advice)
        self._count()
        return self._read(opened, name, path, os.stat(name, dir_fd=opened, follow_symlinks=False), None)

    # --- files ---------------------------------------------------------------------------------------------

    def _read(self, opened: int, name: str, path: str, found: os.stat_result, known: CommittedFile | None) -> None:
        """Read a file, unless it is not a regular one of the owner's."""
        if not stat.S_ISREG(found.st_mode):
            return self._report_no_file(path, found.st_mode)
        if found.st_uid != self._owner:
            return self._report_owner(path)
        try:
            with open_file(name, opened) as file:
                if not os.path.samestat(found, before := os.fstat(file)):
                    return self._report_replaced(path)
                content = self._read_content(file, path, before, known)
                if sign(os.fstat(file)) != sign(before):
                    return self._report_replaced(path)
        except OSError as error:
            message = f"It could not be read ({error.strerror})."
            return self.report(path, "path", Severity.error, message, "Give its owner the right to read it.")
        if content is not None:
            self._keep(path, FoundFile(content, EXECUTABLE if before.st_mode & stat.S_IXUSR else REGULAR), known)
        return None

    def _read_content(self, file: int, path: str, found: os.stat_result, known: CommittedFile | None) -> bytes | None:
        """The content of a file; None if it is too large, or a large one that is as it was."""
        most = self._limits.file_bytes
        if found.st_size <= most:
            with os.fdopen(os.dup(file), "rb") as reader:
                return reader.read(most)
        if known is None or known.size != found.st_size or not self._is_same(file, known):
            message = f"It has {found.st_size:,} bytes, and {most:,} are allowed."
            self.report(path, "limits", Severity.error, message, "Split the file, or leave it out.")
        return None

    def _is_same(self, file: int, known: CommittedFile) -> bool:
        return name_blob(self._pieces(file, known.size), known.size, len(known.blob)) == known.blob

    def _pieces(self, file: int, size: int) -> Iterator[bytes]:
        for start in range(0, size, _PIECE):
            if self.stop.is_set():
                raise WalkEnded
            yield os.pread(file, min(_PIECE, size - start), start)

    def _keep(self, path: str, file: FoundFile, known: CommittedFile | None) -> None:
        """Keep what was read, if it differs from what is committed."""
        if known is not None:
            if (known.mode == EXECUTABLE) == (file.mode == EXECUTABLE):
                file = FoundFile(file.content, known.mode)
            is_same = name_blob([file.content], len(file.content), len(known.blob)) == known.blob
            if is_same and known.mode in {LINK, file.mode}:
                return None
            if known.mode == LINK:
                return self.report_special(path, known.mode)
            if wrong := refusals.find_mistake(path):
                return self.report(path, "path", Severity.error, f"The path {wrong}.", "Leave the file as it was.")
        self.found[path] = file
        self._bytes_left -= len(file.content)
        if len(self.found) > self._limits.files:
            self._give_up_on_files()
        if self._bytes_left < 0:
            self.give_up(f"The changed files have more than {MOST_BYTES:,} bytes.", "Change less, or split the task.")
        return None

    # --- what is wrong -------------------------------------------------------------------------------------

    def report_special(self, path: str, mode: str) -> None:
        """Report the change of a committed link or submodule."""
        message = f"A symlink, a submodule or another special file ({mode}) is neither changed nor deleted."
        self.report(path, "mode", Severity.critical, message, "Restore it, and change regular files only.")

    def _report_no_file(self, path: str, mode: int) -> None:
        what = "symbolic link" if stat.S_ISLNK(mode) else "FIFO, socket or device"
        message = f"It is a {what}, which is neither read nor committed."
        self.report(path, "mode", Severity.critical, message, f"Remove it. {_FILES_ONLY}")

    def _report_owner(self, path: str) -> None:
        message = "It belongs to another account than the one that commands run under."
        self.report(path, "path", Severity.error, message, "Remove it, and write it anew.")

    def _report_replaced(self, path: str) -> None:
        self.report(path, "base", Severity.error, "It was changed or replaced while it was read.", _AGAIN)

    def _give_up_on_files(self) -> NoReturn:
        message = f"More than {self._limits.files:,} files changed, which is what is allowed; the rest was not read."
        self.give_up(message, "Change fewer files, remove what is not needed, or split the task.")


def _is_empty_folder(within: int, name: str) -> bool:
    try:
        with open_folder(name, within) as opened, os.scandir(opened) as entries:
            return next(entries, None) is None
    except OSError:
        return False
