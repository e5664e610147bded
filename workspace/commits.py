"""Makes commits in a bare repository, describes those that are there, and reads the result of a push."""

import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from domain.errors import CodeAccessError, Recovery
from domain.github.commits import CommitDraft, FileToCommit, Signature
from domain.runs.patches import EXECUTABLE, REGULAR, ChangedFile, ChangeSet
from workspace.diff import LINK, MODULE, Entry, parse_raw, to_printable
from workspace.git import Git
from workspace.objects import Objects, name_blob
from workspace.patches import refusals


@dataclass(frozen=True, slots=True)
class Pushed:
    """The branch is at the commit, by this push or by an earlier one."""


@dataclass(frozen=True, slots=True)
class BranchMoved:
    """The branch is not at the expected commit: somebody pushed, or removed it. Nothing happened."""


@dataclass(frozen=True, slots=True)
class PushRejected:
    """The remote does not accept this push, e.g. because the branch is protected. Nothing happened.

    :param said: the remote's reason in its own words, one line.
    """

    said: str


_REGULAR = {REGULAR.encode(), EXECUTABLE.encode()}
_FOLDER = b"040000"
_GONE = b"0 %b" % (b"0" * 40)


class CannotCommit(CodeAccessError):
    """The files cannot be changed as asked; a retry would not help."""

    recovery = Recovery.stop


@dataclass(frozen=True)
class CommitDescription:
    """What a commit says about itself.

    :param email: of the author, as the commit claims it.
    """

    email: str
    message: str


async def list_changes(git: Git, parent: str, sha: str) -> list[Entry]:
    """What differs between two commits or trees; renames are not looked for."""
    options = ("-r", "--raw", "-z", "--no-abbrev", "--no-renames", "--end-of-options")
    return parse_raw((await git.run("diff-tree", *options, parent, sha)).stdout)


@dataclass(frozen=True)
class ListedCommit:
    """A commit of a range, as it describes itself.

    :param parent: its first one.
    :param trailer: the last value of the trailer that was asked for; empty if it has none.
    """

    sha: str
    parent: str
    email: str
    subject: str
    trailer: str


class Commits(Objects):
    """A bare repository that commits can be made in; no reference points to those that are made."""

    async def commit_change(self, parent: str, change: ChangeSet, message: str, author: Signature, at: datetime) -> str:
        """The SHA of a new commit on top of ``parent`` with a change made to it; no reference points to it yet.

        The same arguments make the same commit, so it may be repeated after a crash.

        :param change: of regular files; each must be in ``parent`` as the change says it was.
        :param at: the time of author and committer.
        :raises CannotCommit: a file is not as the change says, or other files would differ as well.
        """
        if not change.files:
            raise CannotCommit("The change is empty.")
        there = await list_entries(self.git, parent, [_encode_path(file) for file in change.files])
        for file in change.files:
            _require_unchanged(file, there.get(file.path.encode()), parent)
        entries = [await _entry(self.git, file) for file in change.files]
        tree = await _tree(self.git, parent, b"".join(entries))
        options = ("-r", "-z", "--name-only", "--no-renames", "--no-relative")
        compared = await self.git.run("diff-tree", *options, "--end-of-options", parent, tree, "--")
        if set(compared.stdout.split(b"\0")[:-1]) != {file.path.encode() for file in change.files}:
            raise CannotCommit("The files that would differ are not those of the change.")
        return await _commit_tree(self.git, [parent], tree, message, author, at)

    async def commit_tree(
        self, parent: str, tree: str, message: str, author: Signature, at: datetime, *, merged: str = ""
    ) -> str:
        """The SHA of a new commit on top of ``parent`` with exactly the files of a tree of the repository.

        :param merged: a commit that it merges; empty: none.
        """
        return await _commit_tree(self.git, [parent, merged] if merged else [parent], tree, message, author, at)

    async def draft_again(self, sha: str) -> CommitDraft:
        """A commit as it could be made anew elsewhere: what it changes on its nearest parent, and what it says.

        :raises CannotCommit: it changes something that is no file on its nearest parent, such as a submodule.
        """
        said = (await self.git.run("cat-file", "commit", sha)).stdout
        head, _, message = said.partition(b"\n\n")
        parents = tuple(line[7:].decode() for line in head.split(b"\n") if line.startswith(b"parent "))
        changes = [await list_changes(self.git, parent, sha) for parent in parents]
        onto, entries = min(zip(parents, changes, strict=True), key=lambda each: len(each[1]))
        if any(MODULE in {each.old_mode, each.new_mode} for each in entries):
            raise CannotCommit("A submodule differs.")
        files = [
            FileToCommit(
                path=entry.path.decode(),
                mode=entry.new_mode if entry.new_blob else entry.old_mode,
                content=None
                if entry.new_blob is None
                else (await self.git.run("cat-file", "blob", entry.new_blob)).stdout,
            )
            for entry in entries
        ]
        return CommitDraft(message=message.decode(), onto=await self.tree_of(onto), files=tuple(files), parents=parents)

    async def describe_contents(self, base: str, head: str, names: Collection[str]) -> list[str]:
        """What becomes of these files, exactly: path, mode and blob before and after. Only trees are read.

        A link or a submodule stands for something elsewhere, so it is another one at every head.

        :param names: as :func:`workspace.diff.to_printable` gives them.
        """
        entries = [entry for entry in await list_changes(self.git, base, head) if entry.name in names]
        told = [f"{each.path!r} {each.old_mode} {each.old_blob} {each.new_mode} {each.new_blob}" for each in entries]
        points_elsewhere = any({each.old_mode, each.new_mode} & {LINK, MODULE} for each in entries)
        return [*told, head] if points_elsewhere else told

    async def list_new(self, sha: str, known: Sequence[str]) -> list[str]:
        """The commits that lead to one and that others do not lead to, oldest first."""
        options = ("--reverse", "--topo-order", "--end-of-options")
        listed = await self.git.run("rev-list", *options, sha, *(f"^{each}" for each in known))
        return listed.stdout.decode().split()

    async def describe(self, sha: str) -> CommitDescription:
        """What a commit says about itself."""
        shown = await self.git.run("log", "-1", "--format=%ae%n%B", "--end-of-options", sha)
        email, _, message = shown.stdout.decode(errors="replace").partition("\n")
        return CommitDescription(email, message)

    async def list_commits(self, since: str, until: str, trailer: str, most: int) -> list[ListedCommit]:
        """The commits of ``until`` that ``since`` does not have, without merges and roots, oldest first.

        :param trailer: its name.
        :param most: only the newest ones.
        """
        shown = f"--format=%H%x00%P%x00%ae%x00%s%x00%(trailers:key={trailer},valueonly,separator=%x20)%x00"
        options = ("--no-merges", "--topo-order", f"--max-count={most}", shown, "-z", "--end-of-options")
        listed = await self.git.run("log", *options, f"{since}..{until}")
        parts = listed.stdout.decode(errors="replace").split("\0")
        rows = (parts[at : at + 5] for at in range(0, len(parts) - 5, 6))
        return [
            ListedCommit(sha.strip(), parents.split()[0], email, subject, "".join(found.split()[-1:]))
            for sha, parents, email, subject, found in rows
            if parents
        ][::-1]

    async def follows(self, sha: str, ancestor: str) -> bool:
        """Whether a commit is another one or descends from it."""
        asked = await self.git.run("merge-base", "--is-ancestor", "--end-of-options", ancestor, sha, expect=(0, 1))
        return asked.code == 0


async def write_tree(git: Git, parent: str, entries: Mapping[str, tuple[str, str] | None]) -> str:
    """The SHA of ``parent``'s tree with some files as another commit has them; nothing is committed.

    :param entries: path → (mode, blob) of objects that the remote has; None removes the file.
    """
    described = {path.encode(): entry for path, entry in entries.items() if _is_plain(path)}
    gone = [_GONE + b"\t%b\0" % path for path, entry in described.items() if entry is None]
    put = [b"%b %b\t%b\0" % (*map(str.encode, entry), path) for path, entry in described.items() if entry is not None]
    return await _tree(git, parent, b"".join((*gone, *put)))


async def write_blob(git: Git, content: bytes) -> str:
    """The SHA of a blob with this content, which the repository has from now on."""
    return (await _blob(git, content)).decode()


async def list_entries(git: Git, parent: str, paths: Sequence[bytes]) -> dict[bytes, tuple[bytes, bytes]]:
    """The mode and object of those paths that are in ``parent``, folders too."""
    if not paths:
        return {}  # git would list all files
    listed = await git.run("ls-tree", "-z", "--full-tree", "--end-of-options", parent, "--", *paths)
    lines = (line.partition(b"\t") for line in listed.stdout.split(b"\0") if line)
    described = ((name, meta.split(b" ")) for meta, _, name in lines)
    return {name: (mode, blob) for name, (mode, _, blob) in described}


def _encode_path(file: ChangedFile) -> bytes:
    """The path as git stores it.

    :raises CannotCommit: it is not a valid path inside the repository.
    """
    if wrong := refusals.find_mistake(file.path):
        path = to_printable(file.path[:200].encode("utf-8", "surrogatepass"))
        raise CannotCommit(f"The path {path} {wrong}.")
    return file.path.encode()


def _require_unchanged(file: ChangedFile, there: tuple[bytes, bytes] | None, parent: str) -> None:
    """Check that a file is in ``parent`` as the change says; effects on other files are checked later."""
    if file.mode.encode() not in _REGULAR:
        raise CannotCommit(f"{file.path} would not be a regular file ({file.mode}).")
    if file.before is None:
        if there is not None and there[0] != _FOLDER:
            raise CannotCommit(f"{file.path} is said to be new, and {parent[:10]} has it.")
    elif there is None or there[0] not in _REGULAR:
        raise CannotCommit(f"{file.path} is not a regular file of {parent[:10]}.")
    else:
        blob = name_blob([file.before], len(file.before), len(there[1])).encode()
        if there != ((file.old_mode or file.mode).encode(), blob):
            raise CannotCommit(f"{file.path} is not in {parent[:10]} as the change says it was.")


async def _entry(git: Git, file: ChangedFile) -> bytes:
    """The input of ``update-index`` for a file; git removes whatever is in its way."""
    meta = _GONE if file.after is None else b"%b %b" % (file.mode.encode(), await _blob(git, file.after))
    return b"%b\t%b\0" % (meta, file.path.encode())


def _is_plain(path: str) -> bool:
    """Whether a path names one place below the top, and has no other spelling."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return "\0" not in path and not {"", ".", ".."} & set(path.split("/"))


async def _blob(git: Git, content: bytes) -> bytes:
    return (await _line(git, "hash-object", "-w", "--no-filters", "--stdin", stdin=content)).encode()


async def _tree(git: Git, parent: str, entries: bytes) -> str:
    """The parent's tree with these entries, made with a temporary index outside the repository.

    The other blobs need not be available: in a partial clone only the trees are read.
    """
    with tempfile.TemporaryDirectory(prefix="forge-") as folder:
        environment = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
        await git.run("read-tree", parent, environment=environment)
        await git.run("update-index", "-z", "--index-info", stdin=entries, environment=environment)
        return await _line(git, "write-tree", "--missing-ok", environment=environment)


async def _commit_tree(
    git: Git, parents: Sequence[str], tree: str, message: str, author: Signature, at: datetime
) -> str:
    seconds = f"{int(at.timestamp())} +0000"
    said = {"NAME": author.name, "EMAIL": author.email, "DATE": seconds}
    return await _line(
        git,
        *("commit-tree", "--no-gpg-sign", *(part for parent in parents for part in ("-p", parent)), tree),
        stdin=message.encode(),
        environment={f"GIT_{role}_{part}": text for role in ("AUTHOR", "COMMITTER") for part, text in said.items()},
    )


async def _line(git: Git, *arguments: str, stdin: bytes = b"", environment: Mapping[str, str] | None = None) -> str:
    return (await git.run(*arguments, stdin=stdin, environment=environment)).stdout.decode().strip()


# The branch was not at the expected commit, as git saw before sending, or the remote when taking the lock.
_MOVED = re.compile(
    r"stale info|fetch first|non-fast-forward|failed to update ref|cannot lock ref|incorrect old value"
    r"|reference already exists",
    re.IGNORECASE,
)
_NOTHING_HAPPENED = ("[rejected]", "[remote rejected]")
_TAKEN = {" ", "+", "*", "="}  # fast-forward, forced, new, already there (git-push(1), OUTPUT)
PushOutcome = Pushed | BranchMoved | PushRejected


def parse_outcome(stdout: bytes, stderr: str) -> PushOutcome:
    """The result of pushing one reference.

    :raises CodeAccessError: git does not report it; the push may have happened.
    """
    lines = stdout.decode(errors="replace").splitlines()
    told = next((line.split("\t") for line in lines if line.count("\t") == 2), None)
    flag, _, summary = told or ("", "", "")
    if flag in _TAKEN:
        return Pushed()
    if not summary.startswith(_NOTHING_HAPPENED):  # "[remote failure]": the remote did not report
        raise CodeAccessError("git did not report the result of the push.")
    return BranchMoved() if _MOVED.search(summary) else PushRejected(_reason(stderr) or summary[:300])


def _reason(stderr: str) -> str:
    """What the remote printed, in one line."""
    said = [line.removeprefix("remote:").strip(" -") for line in stderr.splitlines() if line.startswith("remote:")]
    return " ".join(line for line in said if line)[:500]
