"""Reads a change from a local repository, without writing to it and without running what it configures."""

import os
import shutil
import stat
import tempfile
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from domain.errors import CodeAccessError, Recovery
from domain.review.changes import Change
from workspace.diff import DEFAULT, DiffLimits, Skipped, to_printable
from workspace.file_selection import summarise
from workspace.git import Git
from workspace.objects import Objects

# Settings of the user that decide which blob a file in the working tree becomes. All others are ignored.
_MEANING = ("core.autocrlf", "core.eol", "core.filemode", "core.symlinks", "core.ignorecase")

# Overrides the repository's own: with a declared encoding, git would refuse files in another one.
_ATTRIBUTES = "* !working-tree-encoding\n"

HEAD = "HEAD"
DEFAULT_BASES = ("origin/HEAD", "main", "master")
"""The usual names of the default branch in a clone."""


class LocalError(CodeAccessError):
    """The local repository, or what was asked of it, cannot be used; a retry would not help."""

    recovery = Recovery.stop


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where a local repository keeps its parts. ``top`` is None for a bare one."""

    top: Path | None
    git_dir: Path
    objects: Path
    index: Path
    shallow: Path
    exclude: Path
    format: str


class LocalRepository(Objects):
    """A local repository, compared with the merge base of a revision.

    :param merge_base: the merge base of that revision and HEAD.
    :param head: HEAD, or a tree of the working tree or the index if that differs from it.
    :param top: the working tree's folder; None for a bare repository.
    :param title: what its author calls the change, as far as it is committed: the first line of the first commit.
    """

    def __init__(
        self,
        git: Git,
        merge_base: str,
        head: str,
        left_out: Collection[Skipped] = (),
        top: Path | None = None,
        title: str = "",
    ) -> None:
        super().__init__(git)
        self.top = top
        self.title = title
        self.merge_base_sha = merge_base
        self.head = head
        self._left_out = left_out

    async def change(self, merge_base: str, head: str, limits: DiffLimits = DEFAULT) -> Change:
        """The change; files of the working tree that were too large to be read are listed, too."""
        change = await super().change(merge_base, head, limits)
        named = (*summarise(self._left_out, limits), *change.not_looked_at)
        return change.model_copy(update={"not_looked_at": named})


@asynccontextmanager
async def open_local(path: Path, base: str | None, *, staged: bool = False) -> AsyncGenerator[LocalRepository]:
    """Open a local repository for reading.

    Everything is read through a repository of our own that borrows the objects, so the configuration of the user's
    repository never takes effect and nothing is written there.

    :param path: a folder in the repository.
    :param base: the revision to compare with; None for the first of :data:`DEFAULT_BASES` that exists.
    :param staged: of what is not committed, include only what is in the index; in a hook, in the one that
        ``GIT_INDEX_FILE`` names.
    :raises LocalError: no repository, no commit, an unknown revision, or no common history.
    """
    theirs = Git(None)
    place = await _find_layout(theirs, path)
    head = await _resolve_commit(theirs, path, "HEAD")
    if head is None:
        raise LocalError("The repository has no commit yet, so there is nothing to compare.", "Commit something first.")
    base_commit = await _resolve_base(theirs, path, base)
    with tempfile.TemporaryDirectory(prefix="forge-") as folder:
        git = await _borrow(place, Path(folder))
        merge_base = await Objects(git).merge_base(base_commit, head)
        shown = await git.run(
            "log", "--reverse", "--no-merges", "--format=%s", "--end-of-options", f"{merge_base}..{head}"
        )
        title = shown.stdout.decode(errors="replace").partition("\n")[0]
        left_out: list[Skipped] = []
        if place.top is not None:
            settings = await _read_settings(theirs, path)
            uncommitted = _WorkingTree(git, place, place.top, Path(folder), settings)
            if staged:
                tree = await uncommitted.index(head)
            else:
                tree, left_out = await uncommitted.tree(head)
            if tree != await Objects(git).tree_of(head):
                head = tree
        yield LocalRepository(git, merge_base, head, left_out, place.top, title)


async def _resolve_base(git: Git, path: Path, base: str | None) -> str:
    for revision in DEFAULT_BASES if base is None else (base,):
        if (commit := await _resolve_commit(git, path, revision)) is not None:
            return commit
    what = f"{base!r} names no commit" if base is not None else f"There is none of {', '.join(DEFAULT_BASES)}"
    raise LocalError(
        f"{what} in this repository.",
        "Give a branch, tag or commit as --base, for example origin/main; fetch it first if it is elsewhere.",
    )


async def _find_layout(git: Git, path: Path) -> _Layout:
    if path.is_file():
        raise LocalError(f"{str(path)!r} is a file.", "Give the folder of a git repository.")
    if not path.is_dir():
        raise LocalError(f"There is no folder {str(path)!r}.", "Give the path of a git repository.")
    asked = (
        "--absolute-git-dir",
        *(part for name in ("objects", "index", "shallow", "info/exclude") for part in ("--git-path", name)),
    )
    found = await git.run(
        *("rev-parse", "--path-format=absolute", *asked, "--show-object-format", "--is-inside-work-tree"),
        cwd=path,
        expect=(0, 128),
    )
    lines = os.fsdecode(found.stdout).splitlines()
    if found.code or len(lines) != 7:
        raise LocalError(f"{str(path)!r} is not in a git repository.", "Give the path of a git repository.")
    git_dir, objects, index, shallow, exclude = map(Path, lines[:5])
    top = await _find_top(git, path) if lines[6] == "true" else None
    return _Layout(top, git_dir, objects, index, shallow, exclude, lines[5])


async def _find_top(git: Git, path: Path) -> Path:
    """The working tree's folder. ``core.worktree`` must not name another one, or Forge would read anyone's files."""
    top = Path(os.fsdecode((await git.run("rev-parse", "--show-toplevel", cwd=path)).stdout).removesuffix("\n"))
    if not (top / ".git").exists():
        raise LocalError(
            "The repository's configuration says that its working tree is a folder that is not a git repository.",
            "Remove core.worktree from its configuration.",
        )
    return top


async def _resolve_commit(git: Git, path: Path, revision: str) -> str | None:
    if "\0" in revision:
        return None
    asked = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    found = await git.run(*asked, cwd=path, expect=(0, 1, 128))
    return found.stdout.decode().strip() or None


async def _borrow(place: _Layout, folder: Path) -> Git:
    """A repository of our own that borrows the objects of another."""
    ours = folder / "repository"
    await Git(None).run(
        *("init", "--quiet", "--bare", "--template=", f"--object-format={place.format}"),
        *("--initial-branch=none", "--", str(ours)),
        cwd=folder,
    )
    (ours / "objects" / "info" / "alternates").write_bytes(os.fsencode(place.objects) + b"\n")
    if place.shallow.is_file():
        shutil.copyfile(place.shallow, ours / "shallow")
    (ours / "info").mkdir(exist_ok=True)
    (ours / "info" / "attributes").write_text(_ATTRIBUTES)
    if place.exclude.is_file():
        shutil.copyfile(place.exclude, ours / "info" / "exclude")
    return Git(ours, hide=[str(folder)])


async def _read_settings(git: Git, path: Path) -> dict[str, str]:
    """The user's settings that say how files are stored and which are ignored; read as data."""
    home = {name: os.environ[name] for name in ("HOME", "XDG_CONFIG_HOME") if name in os.environ}
    folder = home.get("XDG_CONFIG_HOME") or f"{home.get('HOME', '/nonexistent')}/.config"
    listed = await git.run(
        *("config", "--includes", "--null", "--list"),
        cwd=path,
        environment={**home, "GIT_CONFIG_GLOBAL": "", "GIT_CONFIG_NOSYSTEM": "", "GIT_CONFIG_COUNT": "0"},
    )
    items = (os.fsdecode(item).partition("\n") for item in listed.stdout.split(b"\0"))
    given = {name: value for name, _, value in items}
    ignored = given.get("core.excludesfile") or f"{folder}/git/ignore"
    return {
        **{name: given[name] for name in _MEANING if name in given},
        "core.excludesFile": ignored.replace("~/", f"{home.get('HOME', '/nonexistent')}/", 1),
        "core.safecrlf": "false",
    }


class _WorkingTree:
    """Stores the working tree as a tree object, in our repository and through a copy of the index.

    ``git add`` is not used, because in submodules it starts git under their own configuration.
    """

    def __init__(self, git: Git, place: _Layout, top: Path, folder: Path, settings: dict[str, str]) -> None:
        self._git = git
        self._place = place
        self._top = top
        self._index = folder / "index"
        self._settings = settings

    async def tree(self, head: str) -> tuple[str, list[Skipped]]:
        """The tree, and what was left out of it."""
        changed = await self._list_changed(head)
        taken: list[bytes] = []
        left_out: list[Skipped] = []
        for path in changed:
            if reason := self._why_not(path):
                left_out.append(Skipped(to_printable(path), reason, matters=True))
            else:
                taken.append(path)
        names = b"".join(path + b"\0" for path in taken)
        await self._run("update-index", "--add", "--remove", "-z", "--stdin", stdin=names)
        return (await self._run("write-tree", "--missing-ok")).decode().strip(), left_out

    async def index(self, head: str) -> str:
        """The tree of what is staged."""
        try:
            # The index of the next commit; ``git commit -a`` and ``git commit FILE`` give another one to their hooks.
            if (staged := (self._top / (os.environ.get("GIT_INDEX_FILE") or self._place.index))).is_file():
                shutil.copy2(staged, self._index)
            return (await self._run("write-tree", "--missing-ok")).decode().strip()
        except CodeAccessError as error:
            raise LocalError(
                "What is staged cannot be read.", "Finish a merge that is under way, or leave out --staged."
            ) from error

    async def _list_changed(self, head: str) -> list[bytes]:
        """Tracked files that differ from the index, and files that are neither tracked nor ignored."""
        try:
            if self._place.index.is_file():
                shutil.copy2(self._place.index, self._index)  # with its time: git distrusts files as young as the index
            changed = await self._diff_files()
        except CodeAccessError:  # an index that only its own repository can read (a split one)
            self._index.unlink(missing_ok=True)
            await self._run("read-tree", "--end-of-options", head)
            changed = await self._diff_files()
        others = await self._run("ls-files", "-z", "--others", "--exclude-standard")
        return sorted({path for path in (*changed.split(b"\0"), *others.split(b"\0")) if path})

    async def _diff_files(self) -> bytes:
        return await self._run("diff-files", "-z", "--name-only", "--no-ext-diff", "--ignore-submodules=all")

    def _why_not(self, path: bytes) -> str | None:
        if path.endswith(b"/"):
            return "a repository of its own"
        try:
            status = (self._top / os.fsdecode(path)).lstat()
        except (FileNotFoundError, NotADirectoryError):
            return None  # deleted
        except OSError as error:
            return f"cannot be read ({error.strerror})"
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISLNK(status.st_mode)):
            return "not a file"
        if status.st_size > DEFAULT.content_bytes:
            return f"not committed, and larger than {DEFAULT.content_bytes:,} bytes"
        return None

    async def _run(self, *arguments: str, stdin: bytes = b"") -> bytes:
        environment = {"GIT_INDEX_FILE": str(self._index), "GIT_WORK_TREE": str(self._top)}
        done = await self._git.run(
            *arguments, stdin=stdin, cwd=self._top, environment=environment, settings=self._settings
        )
        return done.stdout
