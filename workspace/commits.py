"""Makes a commit out of git's objects: a commit's tree with some files replaced, in a bare repository."""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from domain.errors import CodeAccessError, Recovery
from domain.ports import Signature
from workspace.git import Git

_REGULAR = {b"100644", b"100755"}


class CannotCommit(CodeAccessError):
    """The files cannot be replaced as asked; the same again would not help."""

    recovery = Recovery.stop


async def commit(
    git: Git, parent: str, files: Mapping[str, bytes], message: str, author: Signature, at: datetime
) -> str:
    """The SHA of a new commit on top of ``parent``; no reference points to it yet.

    The same arguments make the same commit, so it may be repeated after a crash. File modes stay as they are.

    :param files: path → whole new content, of regular files that exist in ``parent``.
    :param at: the time of author and committer.
    :raises CannotCommit: a path is not a regular file of ``parent``, or nothing would change.
    """
    modes = await _modes(git, parent, files)
    blobs = {path: await _blob(git, content) for path, content in files.items()}
    entries = b"".join(b"%s %s\t%s\0" % (modes[path], blobs[path], path.encode()) for path in files)
    tree = await _tree(git, parent, entries)
    if tree == await _line(git, "rev-parse", "--verify", "--end-of-options", f"{parent}^{{tree}}"):
        raise CannotCommit("The files already have the content they should get.")
    return await _line(
        git,
        *("commit-tree", "--no-gpg-sign", "-p", parent, tree),
        stdin=message.encode(),
        environment=_people(author, at),
    )


@dataclass(frozen=True)
class Described:
    """What a commit says about itself.

    :param email: of the author, as the commit claims it.
    """

    email: str
    message: str


async def described(git: Git, sha: str) -> Described:
    """What a commit says about itself."""
    shown = await git.run("log", "-1", "--format=%ae%n%B", "--end-of-options", sha)
    email, _, message = shown.stdout.decode(errors="replace").partition("\n")
    return Described(email, message)


async def follows(git: Git, sha: str, ancestor: str) -> bool:
    """Whether a commit has another one among its ancestors, or is it."""
    asked = await git.run("merge-base", "--is-ancestor", "--end-of-options", ancestor, sha, expect=(0, 1))
    return asked.code == 0


async def _modes(git: Git, parent: str, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """The modes of the files in ``parent``, all of which are regular files."""
    for path in files:
        if not _is_plain(path):
            raise CannotCommit(f"{path[:200]!r} is not the path of a file.")
    paths = [path.encode() for path in files]
    listed = await git.run("ls-tree", "-z", "--full-tree", "--end-of-options", parent, "--", *paths)
    lines = (line.partition(b"\t") for line in listed.stdout.split(b"\0") if line)
    found = {name: meta.split(b" ")[0] for meta, _, name in lines}
    for path in files:
        if found.get(path.encode()) not in _REGULAR:
            raise CannotCommit(f"{path} is not a regular file of {parent[:10]}, so it is not replaced.")
    return {path: found[path.encode()] for path in files}


def _is_plain(path: str) -> bool:
    """Whether it names one place below the top, and in one way only."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in path and not {"", ".", ".."} & set(path.split("/"))


async def _blob(git: Git, content: bytes) -> bytes:
    return (await _line(git, "hash-object", "-w", "--no-filters", "--stdin", stdin=content)).encode()


async def _tree(git: Git, parent: str, entries: bytes) -> str:
    """The parent's tree with these entries instead, by an index of its own outside the repository.

    The other blobs need not be here: of a partial clone only the trees are read.
    """
    with tempfile.TemporaryDirectory(prefix="forge-") as folder:
        environment = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
        await git.run("read-tree", parent, environment=environment)
        await git.run("update-index", "-z", "--index-info", stdin=entries, environment=environment)
        return await _line(git, "write-tree", "--missing-ok", environment=environment)


async def _line(git: Git, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> str:
    return (await git.run(*arguments, stdin=stdin, environment=environment)).stdout.decode().strip()


def _people(author: Signature, at: datetime) -> dict[str, str]:
    seconds = f"{int(at.timestamp())} +0000"
    said = {"NAME": author.name, "EMAIL": author.email, "DATE": seconds}
    return {f"GIT_{role}_{part}": text for role in ("AUTHOR", "COMMITTER") for part, text in said.items()}
