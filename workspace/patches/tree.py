"""Knows the files that a diff is written against, and which new paths would clash with existing ones."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cached_property

from domain.errors import CodeAccessError
from domain.paths import fold_path
from domain.runs.patches import LIMITS, ChangedFile, ChangeSet
from workspace.diff import REGULAR
from workspace.objects import Objects
from workspace.patches.refusals import folders, refusal


class FileTree:
    """The files of a commit, with later changes applied.

    :param modes: path → git's mode, six octal digits, of everything in the tree but folders.
    :param read: path → content; only called for regular files in ``modes``.
    """

    def __init__(
        self, modes: Mapping[str, str], read: Callable[[str], bytes], origin: "FileTree | None" = None
    ) -> None:
        self.modes = modes
        self.read = read
        self._origin = origin

    def after(self, change: ChangeSet) -> "FileTree":
        """The files after the change."""
        files = {file.path: file for file in change.files}
        modes = {path: mode for path, mode in self.modes.items() if path not in files}
        modes |= {file.path: file.mode for file in files.values() if not file.is_gone}

        def read(path: str) -> bytes:
            file = files.get(path)
            return self.read(path) if file is None or file.after is None else file.after

        return FileTree(modes, read, self._origin or self)

    def replace(self, contents: Mapping[str, bytes]) -> ChangeSet:
        """The change that gives files other contents and leaves everything else as it is.

        :param contents: path → content afterwards, of files that can be read.
        """
        return ChangeSet(
            files=tuple(
                ChangedFile(path=path, before=self.read(path), after=after, mode=self.modes[path])
                for path, after in contents.items()
            )
        )

    def clashes(self, change: ChangeSet) -> dict[str, str]:
        """New path → the path it clashes with after the change.

        Two paths clash if one of them would be a file and a folder at once, or if they differ only in case or
        composition.
        """
        origin = self._origin or self
        stays = self._since(origin) | {file.path: not file.is_gone for file in change.files}
        names = _Names(origin.index, stays)
        new = [file.path for file in change.files if not file.is_gone and file.path not in self.modes]
        found = ((path, names.clash(path)) for path in new)
        return {path: other for path, other in found if other is not None}

    def _since(self, origin: "FileTree") -> dict[str, bool]:
        if self is origin:
            return {}
        changed = self.modes.keys() ^ origin.modes.keys()
        return {path: path in self.modes for path in changed}

    @cached_property
    def index(self) -> "Index":
        return Index(self.modes)


class Index:
    """Every path of a tree and each folder's number of files; made once per commit."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.files = frozenset(paths)
        self.folders = Counter(folder for path in self.files for folder in folders(path))
        self.alike: dict[str, list[str]] = {}
        for name in (*self.files, *self.folders):
            self.alike.setdefault(fold_path(name), []).append(name)


class _Names:
    """The names of a tree after a change.

    :param stays: changed path → whether it is there afterwards.
    """

    def __init__(self, before: Index, stays: Mapping[str, bool]) -> None:
        self.before = before
        self.stays = stays
        gone = {path for path, there in stays.items() if not there} & before.files
        made = {path for path, there in stays.items() if there} - before.files
        self.folders = _count_folders(made)
        self.folders.subtract(_count_folders(gone))
        self.alike: dict[str, list[str]] = {}
        for name in (*made, *self.folders):
            self.alike.setdefault(fold_path(name), []).append(name)

    def clash(self, path: str) -> str | None:
        if self._is_folder(path):
            return path
        for folder in folders(path):
            if self._is_file(folder):
                return folder
            if folder not in self.before.folders and (other := self._other(folder)):
                return other
        return self._other(path)

    def _other(self, name: str) -> str | None:
        """Another file or folder whose name differs only in case or composition."""
        key = fold_path(name)
        alike = {*self.before.alike.get(key, ()), *self.alike.get(key, ())} - {name}
        return min((other for other in alike if self._is_file(other) or self._is_folder(other)), default=None)

    def _is_file(self, path: str) -> bool:
        return self.stays.get(path, path in self.before.files)

    def _is_folder(self, path: str) -> bool:
        return self.before.folders[path] + self.folders[path] > 0


def _count_folders(paths: Iterable[str]) -> Counter[str]:
    return Counter(folder for path in paths for folder in folders(path))


async def load_tree(
    objects: Objects, commit: str, paths: Collection[str], most_bytes: int = LIMITS.file_bytes
) -> FileTree:
    """The files of a commit. `FileTree.after` adds what a run changed before.

    :param paths: the regular files to load; see :func:`workspace.patches.patching.list_paths`.
    :param most_bytes: the limit of one file; to read a larger one raises ``PatchRefused``.
    :raises CodeAccessError: git could not fetch them, or there are too many.
    """
    listed = await objects.git.run("ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit)
    modes: dict[str, str] = {}
    blobs: dict[str, str] = {}
    for line in listed.stdout.split(b"\0")[:-1]:
        meta, _, name = line.partition(b"\t")
        path = name.decode("utf-8", "surrogateescape")
        modes[path], _, blobs[path] = meta.decode().split(" ")
    wanted = {path: blobs[path] for path in paths if modes.get(path) in REGULAR}
    sizes = await objects.available(set(wanted.values()))
    if sizes.keys() < set(wanted.values()):
        raise CodeAccessError("Some of the files that a diff changes could not be read from the repository.")
    contents = await objects.contents({blob for blob in wanted.values() if sizes.get(blob, most_bytes) < most_bytes})

    def read(path: str) -> bytes:
        if (content := contents.get(wanted[path])) is None:
            message = f"The file has {most_bytes:,} bytes or more, which is too large to be changed."
            raise refusal(path, "limits", message, "Leave the file alone, or end the task and say why it is needed.")
        return content

    return FileTree(modes, read)
