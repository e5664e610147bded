"""Writes files into a folder that untrusted code changes at the same time, and asks git what it ignores there."""

import os
import tempfile
from collections.abc import AsyncGenerator, Collection, Iterable
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path

from domain.errors import ToolError
from domain.runs.patches import EXECUTABLE, REGULAR, ChangedFile
from workspace.checkout import make_repository, write_files
from workspace.git import Git
from workspace.patches import refusals
from workspace.safe_copy import open_folder, open_folders
from workspace.sandbox.privileges import UnixAccount
from workspace.temporary import remove_tree, temporary_folder

_MAKE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FRESH = "fresh"


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
    if file.mode not in {REGULAR, EXECUTABLE}:
        raise ToolError(f"{file.path} would not be a regular file ({file.mode}).", "Write regular files only.")


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


RULES = ".gitignore"
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
