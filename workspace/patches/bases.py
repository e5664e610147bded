"""Loads the files that a diff is written against: the names of a whole commit, the contents of the changed files."""

from collections.abc import Collection

from domain.errors import CodeAccessError
from domain.runs.patches import LIMITS
from workspace.diff import REGULAR
from workspace.objects import Objects
from workspace.patches.errors import refusal
from workspace.patches.tree import FileTree


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
