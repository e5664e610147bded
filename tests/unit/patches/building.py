"""Trees in memory, diffs as git writes them, and git's own word on a diff."""

import difflib
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from domain.runs.patches import REGULAR, ChangeSet
from workspace.patches.tree import FileTree

Files = Mapping[str, bytes]
_QUIET = {
    "PATH": os.environ["PATH"],
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "LC_ALL": "C",
}


def tree(files: Files, modes: Mapping[str, str] | None = None) -> FileTree:
    """A tree of these files, 100644 where nothing else is said."""
    return FileTree(dict.fromkeys(files, REGULAR) | dict(modes or {}), files.__getitem__)


def apply_change(files: Files, change: ChangeSet) -> dict[str, bytes]:
    """The files after a change, and a check that it spoke of the files as they were."""
    after = dict(files)
    for file in change.files:
        assert after.pop(file.path, None) == file.before
        if file.after is not None:
            after[file.path] = file.after
    return after


def hunk(path: str, body: str) -> bytes:
    """A diff of one existing file without the line ``diff --git``."""
    return f"--- a/{path}\n+++ b/{path}\n{body}".encode()


def new_file(path: str, text: str = "x\n", mode: str = "100644") -> bytes:
    """A diff that makes a file."""
    body = "".join(f"+{line}" for line in text.splitlines(keepends=True))
    head = f"diff --git a/{path} b/{path}\nnew file mode {mode}\n--- /dev/null\n+++ b/{path}\n"
    return f"{head}@@ -0,0 +1,{text.count(chr(10))} @@\n{body}".encode("utf-8", "surrogatepass")


class Git:
    """A real git in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.index = 0
        self.run("init", "--quiet", "--initial-branch=main")

    def run(self, *arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        """One git command, on the current index."""
        line = ["git", "-c", "core.quotePath=true", "-c", "core.autocrlf=false", *arguments]
        environment = _QUIET | {"GIT_INDEX_FILE": str(self.folder / f"index-{self.index}")}
        return subprocess.run(line, cwd=self.folder, input=stdin, env=environment, capture_output=True, check=False)

    def tree(self, files: Files) -> str:
        """The id of a tree of these files."""
        stream = [b"feature done\ncommit refs/heads/main\ncommitter a <a@b> 1 +0000\ndata 0\ndeleteall\n"]
        for path, content in files.items():
            quoted = path.encode().replace(b'"', b'\\"')
            stream.append(b'M 100644 inline "%b"\ndata %d\n%b\n' % (quoted, len(content), content))
        made = self.run("fast-import", "--quiet", "--force", stdin=b"".join([*stream, b"done\n"]))
        assert made.returncode == 0, made.stderr
        return self.run("rev-parse", "main^{tree}").stdout.decode().strip()

    def diff(self, before: Files, after: Files, *options: str) -> bytes:
        """The diff between two sets of files."""
        trees = [self.tree(before), self.tree(after)]
        return self.run("diff-tree", "-r", "-p", "--no-renames", "--text", *options, *trees).stdout

    def apply(self, tree: str, diff: bytes, *options: str) -> dict[str, bytes] | None:
        """What ``git apply`` makes of a tree, in an index of its own; None if it refuses, or crashes, as it may."""
        self.index += 1
        self.run("read-tree", tree)
        if self.run("apply", "--cached", "--whitespace=nowarn", *options, "-", stdin=diff).returncode:
            return None
        listed = self.run("ls-files", "--stage", "-z").stdout.split(b"\0")
        entries = [line.partition(b"\t") for line in listed if line]
        blobs = self._contents([meta.split(b" ")[1] for meta, _, _ in entries])
        return {
            path.decode("utf-8", "surrogateescape"): blob for (_, _, path), blob in zip(entries, blobs, strict=True)
        }

    def _contents(self, blobs: list[bytes]) -> list[bytes]:
        output = self.run("cat-file", "--batch", stdin=b"".join(blob + b"\n" for blob in blobs)).stdout
        found: list[bytes] = []
        while output:
            header, _, rest = output.partition(b"\n")
            size = int(header.split(b" ")[2])
            found.append(rest[:size])
            output = rest[size + 1 :]
        return found


def with_difflib(path: str, before: bytes, after: bytes) -> bytes:
    """The diff of one existing file as Python's difflib writes it, with the mark for a line feed that is missing."""
    old, new = (side.split(b"\n") for side in (before, after))
    sides = [[line + b"\n" for line in side[:-1]] + ([side[-1]] if side[-1] else []) for side in (old, new)]
    names = (f"a/{path}".encode(), f"b/{path}".encode())
    lines = difflib.diff_bytes(difflib.unified_diff, sides[0], sides[1], *names)
    return b"".join(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines)
