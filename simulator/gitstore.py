"""Real bare git repositories on disk, written with one `git fast-import` per history."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from simulator.diff import FileDiff, parse_diff

_PINNED = re.compile(r"[0-9a-f]{40}(\.\.[0-9a-f]{40}|:.*)?", re.DOTALL)  # an object named by its hash, or what is in it
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
NO_COMMIT = "0" * 40
SIGNED = "signed"  # the file that lists the commits which GitHub signed
_NEVER = datetime.min.replace(tzinfo=UTC)
_ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": "/nonexistent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "LC_ALL": "C",
}
# Shared by all forks of a network, as on GitHub: a commit of a fork can be reached through its parent.
_CONFIG = """[core]
	repositoryformatversion = 0
	bare = true
	fsync = none
[fastimport]
	unpackLimit = 1
[gc]
	auto = 0
[uploadpack]
	allowFilter = true
	allowAnySHA1InWant = true
	allowReachableSHA1InWant = true
[receive]
	autogc = false
	hideRefs = refs/pull
[http]
	receivepack = true
"""


class GitError(Exception):
    """git answered with an error."""


@dataclass(frozen=True)
class Blob:
    """A file whose mode matters: 100755 executable, 120000 symbolic link, 160000 submodule (data is the SHA)."""

    data: bytes
    mode: str = "100644"


FileContent = str | bytes | Blob | None
Files = Mapping[str, FileContent]


@dataclass(frozen=True)
class Commit:
    """A commit to write: `files` maps a path to its new content, None deletes it."""

    message: str
    files: Files
    author: str = ""
    date: datetime | None = None


@dataclass(frozen=True)
class CommitInfo:
    sha: str
    tree: str
    parents: list[str]
    author_name: str
    author_email: str
    author_date: datetime
    committer_name: str
    committer_email: str
    committer_date: datetime
    message: str


@dataclass(frozen=True)
class TreeEntry:
    mode: str
    type: str
    sha: str
    size: int
    path: str


@dataclass(frozen=True)
class _Answer:
    code: int
    output: bytes
    error: bytes

    @property
    def text(self) -> str:
        return self.output.decode(errors="replace")


@dataclass(frozen=True)
class MergeResult:
    tree: str
    clean: bool


def git_environment() -> dict[str, str]:
    return dict(_ENVIRONMENT)


@dataclass(eq=False)
class GitStore:
    path: Path
    _diffs: dict[tuple[str, str], list[FileDiff]] = field(default_factory=dict[tuple[str, str], list[FileDiff]])
    _commits: dict[str, CommitInfo] = field(default_factory=dict[str, CommitInfo])
    _committed: datetime = _NEVER  # when the last was written that has no moment of its own
    _known: dict[tuple[str, ...], _Answer] = field(default_factory=dict[tuple[str, ...], _Answer])

    def __deepcopy__(self, _memo: object) -> GitStore:
        """The same objects, with the refs as they are at this moment."""
        return _PastStore(self.path, self._diffs, self._commits, self._committed, self._known, self.refs("refs/"))

    @classmethod
    def create(cls, path: Path, default_branch: str, parent: GitStore | None = None) -> GitStore:
        """Write the skeleton of a bare repository by hand, which is faster than `git init`."""
        (path / "refs" / "heads").mkdir(parents=True)
        if parent is None:
            (path / "objects" / "info").mkdir(parents=True)
        else:
            (path / "objects").symlink_to((parent.path / "objects").resolve())
            shutil.copytree(parent.path / "refs" / "heads", path / "refs" / "heads", dirs_exist_ok=True)
        (path / "HEAD").write_text(f"ref: refs/heads/{default_branch}\n")
        (path / "config").write_text(_CONFIG)
        return cls(path)

    def run(self, *arguments: str, data: bytes = b"", check: bool = True) -> subprocess.CompletedProcess[bytes]:
        command = ["git", "-c", "core.quotePath=false", "--git-dir", str(self.path), *arguments]
        done = subprocess.run(command, input=data, capture_output=True, env=_ENVIRONMENT, check=False)
        if check and done.returncode != 0:
            raise GitError(f"git {' '.join(arguments)}: {done.stderr.decode(errors='replace').strip()}")
        return done

    def ask(self, question: str, *options: str, of: Sequence[str], paths: Sequence[str] = ()) -> _Answer:
        """What git says about objects; kept where each is named by its hash, as that can never change.

        :param of: the objects. :param paths: in them.
        """
        arguments = (question, *options, *of, *(["--", *paths] if paths else []))
        known = self._known.get(arguments)
        if known is None:
            done = self.run(*arguments, check=False)
            known = _Answer(done.returncode, done.stdout, done.stderr)
            if known.code <= 1 and all(map(_PINNED.fullmatch, of)):  # 1 is an answer, too: no, or nothing
                self._known[arguments] = known
        return known

    def text(self, *arguments: str) -> str:
        return self.run(*arguments).stdout.decode(errors="replace").strip()

    # Refs are read and written as files: nothing here ever packs them.

    def refs(self, prefix: str = "refs/heads/") -> dict[str, str]:
        root = self.path / prefix
        files = sorted(root.rglob("*")) if root.is_dir() else []
        found = [file for file in files if file.is_file() and not file.name.endswith(".lock")]
        return {str(file.relative_to(self.path)): file.read_text().strip() for file in found}

    def ref(self, name: str) -> str | None:
        file = self.path / name
        if ".." in Path(name).parts or not file.is_file():
            return None
        return file.read_text().strip()

    def branch(self, name: str) -> str | None:
        return self.ref(f"refs/heads/{name}")

    def set_ref(self, name: str, sha: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        scratch = file.with_name(f"{file.name}.lock")
        scratch.write_text(f"{sha}\n")
        scratch.replace(file)

    def delete_ref(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    def write(self, branch: str, commits: Sequence[Commit], parent: str | None, default_author: str) -> list[str]:
        """Write a whole history onto a branch in one process and return the commits' SHAs, oldest first."""
        stream = bytearray()
        for mark, commit in enumerate(commits, start=1):
            date = commit.date or self._next_second()
            stream += _fast_import_commit(mark, f"refs/heads/{branch}", commit, parent, default_author, date)
        stream += b"".join(f"get-mark :{mark}\n".encode() for mark in range(1, len(commits) + 1))
        done = self.run("fast-import", "--quiet", "--force", data=bytes(stream))
        return done.stdout.decode().split()

    def _next_second(self) -> datetime:
        """Now, but never twice: what is committed again in the same second would be the same commit."""
        self._committed = max(datetime.now(UTC), self._committed + timedelta(seconds=1))
        return self._committed

    def resolve(self, revision: str) -> str | None:
        """The SHA of the commit a branch, tag or SHA names; None when there is none."""
        if revision.startswith("-"):
            return None
        named = self.branch(revision) or self.ref(f"refs/tags/{revision}")
        if named is not None:
            return named
        if revision in self._commits:
            return revision
        done = self.run("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}", check=False)
        return done.stdout.decode().strip() or None

    def commit(self, sha: str) -> CommitInfo:
        if sha not in self._commits:
            self._read_commits(sha, "-1")
        return self._commits[sha]

    def commits_between(self, base: str, head: str) -> list[CommitInfo]:
        """Commits reachable from head and not from base, oldest first."""
        return self._read_commits(f"{base}..{head}", "--reverse", "--topo-order")

    def history(self, head: str, limit: int, path: str | None = None) -> list[CommitInfo]:
        return self._read_commits(head, f"-{limit}", paths=[path] if path else [])

    def _read_commits(self, revisions: str, *options: str, paths: Sequence[str] = ()) -> list[CommitInfo]:
        parts = "%H%x00%T%x00%P%x00%an%x00%ae%x00%at%x00%cn%x00%ce%x00%ct%x00%B%x00%x01"
        log = self.ask("log", f"--format={parts}", *options, of=[revisions], paths=paths)
        if log.code != 0:
            raise GitError(f"git log {revisions}: {log.error.decode(errors='replace').strip()}")
        found = [_commit_info(block.lstrip("\n")) for block in log.text.split("\x01") if block.strip("\n")]
        self._commits.update({commit.sha: commit for commit in found})
        return found

    def merge_base(self, one: str, other: str) -> str | None:
        return self.ask("merge-base", of=[one, other]).text.strip() or None

    def is_ancestor(self, ancestor: str, descendant: str) -> bool:
        return self.ask("merge-base", "--is-ancestor", of=[ancestor, descendant]).code == 0

    def diff(self, base: str, head: str) -> list[FileDiff]:
        """The changed files between two commits or trees, with patches of three context lines."""
        key = (base, head)
        if key not in self._diffs:
            options = ["diff", "--no-color", "--no-ext-diff", "--find-renames", base, head]
            raw = self.run(*options, "--raw", "--abbrev=40", "-z").stdout.decode(errors="replace")
            patch = self.run(*options, "-p", "-U3", "--full-index").stdout.decode(errors="replace")
            self._diffs[key] = parse_diff(raw, patch)
        return self._diffs[key]

    def read(self, revision: str, path: str) -> bytes | None:
        found = self.ask("cat-file", "blob", of=[f"{revision}:{path}"])
        return found.output if found.code == 0 else None

    def blob(self, sha: str) -> bytes | None:
        found = self.ask("cat-file", "blob", of=[sha])
        return found.output if found.code == 0 else None

    def entry(self, revision: str, path: str) -> TreeEntry | None:
        found = self._tree(revision, paths=[path.rstrip("/")]) if path else []
        return found[0] if found else None

    def entries(self, revision: str, path: str = "", recursive: bool = False) -> list[TreeEntry]:
        tree = f"{revision}:{path}" if path else revision
        prefix = f"{path}/" if path else ""
        found = self._tree(tree, *(("-r", "-t") if recursive else ()))
        return [TreeEntry(e.mode, e.type, e.sha, e.size, prefix + e.path) for e in found]

    def _tree(self, tree: str, *options: str, paths: Sequence[str] = ()) -> list[TreeEntry]:
        found = self.ask("ls-tree", "-l", "-z", *options, of=[tree], paths=paths)
        return [_tree_entry(line) for line in found.text.split("\0") if line]

    def merge_tree(self, base: str, head: str) -> MergeResult:
        if self.ask("merge-base", of=[base, head]).code == 1:
            return MergeResult("", False)  # branches that share no commit: GitHub merges them no more than git does
        merged = self.ask("merge-tree", "--write-tree", of=[base, head])
        if merged.code > 1:  # 1 is a conflict
            raise GitError(f"git 2.38 or newer is needed: {merged.error.decode(errors='replace').strip()}")
        lines = merged.text.splitlines()
        return MergeResult(lines[0] if lines else "", merged.code == 0)

    def write_blob(self, data: bytes) -> str:
        return self.run("hash-object", "-w", "--stdin", data=data).stdout.decode().strip()

    def write_tree(self, base: str | None, entries: str) -> str:
        """A tree with these lines of ``git update-index -z --index-info`` in place of what another one has there."""
        with tempfile.TemporaryDirectory() as folder:
            environment = {**_ENVIRONMENT, "GIT_INDEX_FILE": str(Path(folder, "index"))}
            git = ["git", "--git-dir", str(self.path)]
            for command, data in (
                (["read-tree", base or "--empty"], b""),
                (["update-index", "-z", "--index-info"], entries.encode()),
            ):
                subprocess.run([*git, *command], input=data, capture_output=True, env=environment, check=True)
            done = subprocess.run([*git, "write-tree"], capture_output=True, env=environment, check=True)
        return done.stdout.decode().strip()

    def is_signed(self, sha: str) -> bool:
        """Whether GitHub signed a commit."""
        kept = self.path / SIGNED
        return kept.is_file() and sha in kept.read_text().split()

    def _sign(self, sha: str) -> str:
        """The same commit with GitHub's signature, which is kept beside the objects."""
        head, _, message = self.run("cat-file", "commit", sha).stdout.partition(b"\n\n")
        signature = b"gpgsig -----BEGIN PGP SIGNATURE-----\n \n simulated\n -----END PGP SIGNATURE-----"
        signed = self.run(
            "hash-object", "-w", "-t", "commit", "--stdin", data=head + b"\n" + signature + b"\n\n" + message
        )
        with (self.path / SIGNED).open("a") as kept:
            kept.write(signed.stdout.decode())
        return signed.stdout.decode().strip()

    def commit_tree(
        self,
        tree: str,
        parents: Sequence[str],
        message: str,
        author: str,
        date: datetime,
        *,
        is_signed: bool = False,
    ) -> str:
        name, _, email = author.rstrip(">").partition(" <")
        stamp = f"{int(date.timestamp())} +0000"
        people = {
            f"GIT_{role}_{part}": value
            for role in ("AUTHOR", "COMMITTER")
            for part, value in (("NAME", name), ("EMAIL", email), ("DATE", stamp))
        }
        options = [option for parent in parents for option in ("-p", parent)]
        command = ["git", "--git-dir", str(self.path), "commit-tree", tree, *options]
        done = subprocess.run(
            command, input=message.encode(), capture_output=True, env={**_ENVIRONMENT, **people}, check=True
        )
        sha = done.stdout.decode().strip()
        return self._sign(sha) if is_signed else sha


@dataclass(eq=False)
class _PastStore(GitStore):
    """The refs of another moment, to be read only."""

    kept: dict[str, str] = field(default_factory=dict[str, str])

    def refs(self, prefix: str = "refs/heads/") -> dict[str, str]:
        return {name: sha for name, sha in self.kept.items() if name.startswith(prefix)}

    def ref(self, name: str) -> str | None:
        return self.kept.get(name)


def _fast_import_commit(
    mark: int, ref: str, commit: Commit, parent: str | None, default_author: str, date: datetime
) -> bytes:
    who = f"{commit.author or default_author} {int(date.timestamp())} +0000"
    lines = [f"commit {ref}\nmark :{mark}\nauthor {who}\ncommitter {who}\n".encode(), _data(commit.message.encode())]
    if mark == 1:
        # Without a parent the branch starts again.
        lines.insert(0, b"" if parent else f"reset {ref}\n\n".encode())
        lines.append(f"from {parent}\n".encode() if parent else b"")
    lines += [_fast_import_file(path, content) for path, content in commit.files.items()]
    return b"".join(lines) + b"\n"


def _fast_import_file(path: str, content: FileContent) -> bytes:
    quoted = '"' + path.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
    if content is None:
        return f"D {quoted}\n".encode()
    blob = content if isinstance(content, Blob) else Blob(content.encode() if isinstance(content, str) else content)
    if blob.mode == "160000":
        return f"M 160000 {blob.data.decode()} {quoted}\n".encode()
    return f"M {blob.mode} inline {quoted}\n".encode() + _data(blob.data)


def _data(content: bytes) -> bytes:
    return b"data %d\n%b\n" % (len(content), content)


def _commit_info(block: str) -> CommitInfo:
    sha, tree, parents, name, email, date, c_name, c_email, c_date, message, _ = block.split("\0")
    return CommitInfo(
        sha, tree, parents.split(), name, email, _date(date), c_name, c_email, _date(c_date), message.rstrip("\n")
    )


def _date(seconds: str) -> datetime:
    return datetime.fromtimestamp(int(seconds), UTC)


def _tree_entry(line: str) -> TreeEntry:
    meta, _, path = line.partition("\t")
    mode, kind, sha, size = meta.split()
    return TreeEntry(mode, kind, sha, 0 if size == "-" else int(size), path)
